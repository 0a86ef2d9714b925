-- expect: a running task names the events that it will wait for, before it does
-- what brings them about. One that comes before the task parks is remembered.
-- KEYS  meta task wait
-- ARGV  id token then the events
-- Answers ok | settled id state | lost.

local h, no = held(id, token)
if not h then return no end
local list = {}
for ev in string.gmatch(h.events or '', '%S+') do list[#list + 1] = ev end
for i = 3, #ARGV do
  if call('ZADD', WAIT, 0, ARGV[i] .. '|' .. id) == 1 then list[#list + 1] = ARGV[i] end
end
h.events = table.concat(list, ' ')
save(h)
return {'ok'}
