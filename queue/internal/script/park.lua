-- park: running -> parked, or ready if it was woken meanwhile.
-- KEYS  meta task body ready line front shown place tenant ring fast lease park wait done dead wake
-- ARGV  id token delay(ms, 0: no deadline) reason keep(ms) then the events
-- Answers ok state | settled id state | lost.

local h, no = held(id, token)
if not h then return no end
free(h, true)
h.reason, h.lost = reason, nil
if h.cancel then
  finish(h, 'done', tonumber(keep))
elseif h.woken then
  unwait(h)
  enter(h)
  save(h)
else
  local list = {}
  for ev in string.gmatch(h.events or '', '%S+') do list[#list + 1] = ev end
  for i = 6, #ARGV do
    if call('ZADD', WAIT, 0, ARGV[i] .. '|' .. id) == 1 then list[#list + 1] = ARGV[i] end
  end
  h.state, h.events = 'parked', table.concat(list, ' ')
  h.due = tonumber(delay) > 0 and now + tonumber(delay) or nil
  call('ZADD', PARK, h.due or '+inf', id)
  save(h)
end
close()
return {'ok', h.state}
