-- sweep: what time does. scheduled -> ready when due, parked -> ready at its
-- deadline, running -> ready when its lease ran out (done if cancelled, dead if
-- that happened too often). Names the finished tasks that are due to go.
-- If nobody swept for half a lease, Redis or every worker was away: leases then
-- live half a one longer, so that an end that waits for Redis is not lost.
-- KEYS  meta task body sched ready line front shown place tenant ring fast lease park wait done dead wake
-- ARGV  lease(ms) most mostlost keep(ms, done) keepdead(ms)
-- Answers ok next(ms until something is due, -1: nothing) moved expired unreadable, then the ids that are due to go.

local lease_ms, most = tonumber(lease), tonumber(most)
local swept = call('HMGET', META, 'sweep', 'recap')
local last = tonumber(swept[1] or now)
-- a removal first, so that a full Redis lets the rest through
call('ZREMRANGEBYSCORE', RING, '(0', '(0')
call('HSET', META, 'sweep', now)
if now - last > lease_ms / 2 then
  for _, id in ipairs(call('ZRANGEBYSCORE', LEASE, '-inf', now + lease_ms / 2)) do
    call('ZADD', LEASE, now + math.floor(lease_ms / 2), id)
  end
end
if swept[2] then -- the cap was changed
  for _, field in ipairs(call('HKEYS', TENANT)) do
    local tenant = string.match(field, '^run|(.*)$')
    if tenant then seat(tenant, room(tenant)) end
  end
  call('HDEL', META, 'recap')
end
-- a clock that was set back must not make a dead worker's lease last
for _, id in ipairs(call('ZRANGEBYSCORE', LEASE, now + 2 * lease_ms, '+inf', 'LIMIT', 0, most)) do
  call('ZADD', LEASE, now + lease_ms, id)
end

local moved, expired, bad = 0, 0, 0
local function due(key, f)
  for _, id in ipairs(call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, most)) do
    local h = load(id)
    if h then
      f(h)
      moved = moved + 1
    else
      aside(id, tonumber(keepdead))
      bad = bad + 1
    end
  end
end
due(LEASE, function(h)
  free(h)
  expired = expired + 1
  h.lost = (h.lost or 0) + 1
  if h.cancel then
    finish(h, 'done', tonumber(keep))
  elseif h.lost >= tonumber(mostlost) then
    h.reason = 'lost its worker ' .. h.lost .. ' times'
    finish(h, 'dead', tonumber(keepdead))
  else
    unwait(h)
    enter(h)
    save(h)
  end
end)
due(SCHED, function(h)
  call('ZREM', SCHED, h.id)
  enter(h)
  save(h)
end)
due(PARK, function(h)
  call('ZREM', PARK, h.id)
  unwait(h)
  h.reason = 'deadline'
  enter(h)
  save(h)
end)

local after = -1
for _, key in ipairs({SCHED, PARK, LEASE}) do
  local f = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  local at = tonumber(f[2])
  if at and at < 1e15 and (after < 0 or at - now < after) then after = math.max(0, at - now) end
end
-- a token may have gone to a worker that died with it
if made == 0 and call('LLEN', WAKE) == 0 and call('EXISTS', RING) == 1 then made = 1 end
close()

local out = {'ok', after, moved, expired, bad}
for _, key in ipairs({DONE, DEAD}) do
  for _, id in ipairs(call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, most)) do out[#out + 1] = id end
end
return out
