-- cancel: scheduled | ready | parked -> done. A running task is asked to stop, and
-- whatever it answers, or if it never does, it ends cancelled.
-- KEYS  meta task body open sched ready line front shown place tenant ring fast park wait done dead wake
-- ARGV  id reason keep(ms)
-- Answers ok state(done running) | ended id state | notfound.

local h, no = load(id)
if not h then return {no, id} end
if h.state == 'done' or h.state == 'dead' then
  if h.cancel then return {'ok', 'done'} end
  return {'ended', id, h.state}
end
call('ZREM', WAIT, '') -- a removal first: a full Redis must not stop a cancellation
if not h.cancel then h.cancel = reason end
if h.state == 'running' then
  h.woken = 1
  save(h)
  return {'ok', 'running'}
end
if h.state == 'ready' then leave(h) end
call('ZREM', SCHED, id)
call('ZREM', PARK, id)
unkey(h)
finish(h, 'done', tonumber(keep))
close()
return {'ok', 'done'}
