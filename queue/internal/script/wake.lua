-- wake: parked -> ready, of one task or of all that wait for an event. A running
-- task that expects the event, or is named, is made ready as soon as it parks.
-- KEYS  meta task ready line front shown place tenant ring fast park wait wake
-- ARGV  id event why most
-- Answers ok woken more(0 1) | notfound | newer | corrupt.

local ids = {id}
if id == '' then
  ids = call('ZRANGEBYLEX', WAIT, '[' .. event .. '|', '(' .. event .. '|\255', 'LIMIT', 0, most)
  for i, m in ipairs(ids) do ids[i] = string.sub(m, #event + 2) end
end
local n = 0
for _, one in ipairs(ids) do
  local h, no = load(one)
  if not h then
    if id ~= '' then return {no, id} end
    call('ZREM', WAIT, event .. '|' .. one)
  elseif h.state == 'parked' then
    call('ZREM', PARK, one)
    unwait(h)
    h.reason = why
    enter(h)
    save(h)
    n = n + 1
  else
    unwait(h)
    if h.state == 'running' then
      h.woken = 1
      n = n + 1
    end
    save(h)
  end
end
close()
return {'ok', n, id == '' and #ids == tonumber(most) and 1 or 0}
