-- input: admits an input from outside to the task's ledger, under its key, and
-- wakes the task. The same key with the same payload converges.
-- KEYS  meta task ready line front shown place tenant ring fast park wait wake <in>
-- ARGV  id key digest payload most
-- Answers ok status seq new(0 1) | conflict | ended | full | notfound.

local h, no = load(id)
if not h then return {no, id} end
local old = call('HGET', IN, key)
if old then
  local status, seq, _, d = string.match(old, '^(%a+)|(%d+)|(%d+)|(%x*)|')
  if not status then return {'corrupt', id} end
  if d ~= digest then return {'conflict', id} end
  return {'ok', status, tonumber(seq), 0}
end
if h.state == 'done' or h.state == 'dead' then return {'ended', id, h.state} end
local seq = call('HLEN', IN) + 1
if seq > tonumber(most) then return {'toomany', id} end
call('HSET', IN, key, 'open|' .. seq .. '|' .. now .. '|' .. digest .. '||' .. payload)
h.inputs = seq
if h.state == 'parked' then
  call('ZREM', PARK, id)
  unwait(h)
  h.reason = 'input'
  enter(h)
elseif h.state == 'running' then
  h.woken = 1
end
save(h)
close()
return {'ok', 'open', seq, 1}
