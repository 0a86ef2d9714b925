-- delay: running -> scheduled | ready | dead. Retry uses an attempt, and the last
-- one makes the task dead; snooze and release use none.
-- KEYS  meta task body sched ready line front shown place tenant ring fast lease wait done dead wake
-- ARGV  id token mode(retry snooze release) delay(ms) reason keep(ms, done) keepdead(ms)
-- Answers ok state | settled id state | lost.

local h, no = held(id, token)
if not h then return no end
free(h, true)
if mode ~= 'release' then h.reason, h.lost = reason, nil end
if mode == 'retry' and not h.cancel then h.attempt = (h.attempt or 0) + 1 end
if h.cancel then
  finish(h, 'done', tonumber(keep))
elseif mode == 'retry' and (h.attempt or 0) >= h.max then
  finish(h, 'dead', tonumber(keepdead))
else
  unwait(h)
  if tonumber(delay) > 0 then
    h.state, h.due, h.woken = 'scheduled', now + tonumber(delay), nil
    call('ZADD', SCHED, h.due, id)
  else
    enter(h)
  end
  save(h)
end
close()
return {'ok', h.state}
