-- open: claims the shard for this queue, or says whose it is.
-- Writes nothing unless every key of the shard is absent or of its own type.
-- KEYS  meta task body open trig sched ready line front shown place tenant ring fast lease park wait done dead by wake cron gone
-- ARGV  version shards cap('': attach to what is there, write nothing)
-- Answers ok | foreign key type | newer version | shards stored | absent.
-- NOLIB

local call = redis.call
local want = {
  meta = 'hash', task = 'hash', body = 'hash', open = 'hash', trig = 'hash', front = 'hash',
  place = 'hash', tenant = 'hash', cron = 'hash', wake = 'list', gone = 'set',
}
local found = false
for i, key in ipairs(KEYS) do
  local t = call('TYPE', key)
  t = t.ok or t
  if t ~= 'none' then
    found = true
    if t ~= (want[string.match(key, '[^:]*$')] or 'zset') then return {'foreign', key, t} end
  end
end
local m = call('HMGET', META, 'app', 'v', 'shards', 'cap')
if not m[1] and found then return {'foreign', META, 'without the mark of this queue'} end
if m[1] and m[1] ~= 'bailiff-queue' then return {'foreign', META, m[1]} end
if m[2] and tonumber(m[2]) > tonumber(version) then return {'newer', '', m[2]} end
if m[3] and m[3] ~= shards then
  local open = 0
  for _, key in ipairs({SCHED, READY, LEASE, PARK}) do open = open + call('ZCARD', key) end
  if open > 0 then return {'shards', m[3], tostring(open)} end
end
if cap == '' then return {m[1] and 'ok' or 'absent'} end
call('HSET', META, 'app', 'bailiff-queue', 'v', version, 'shards', shards, 'cap', cap)
-- those whom the old cap kept out of the ring may start more now: sweep seats them
if m[4] and m[4] ~= cap then call('HSET', META, 'recap', 1) end
return {'ok'}
