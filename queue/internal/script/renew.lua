-- renew: running stays running. The heartbeat of all tasks of a worker.
-- A lease that ran out but that nobody has taken back is renewed like any other.
-- KEYS  meta task lease
-- ARGV  lease(ms) then for each task: id token
-- Answers ok, then for each task: until(ms), 0 if lost; cancel reason or ''; number of inputs.

local out = {'ok'}
for i = 2, #ARGV, 2 do
  local h = held(ARGV[i], ARGV[i + 1])
  if h then
    local till = now + tonumber(lease)
    -- ZREM first: it is allowed on a full Redis, and so is then what follows
    call('ZREM', LEASE, h.id)
    call('ZADD', LEASE, till, h.id)
    out[#out + 1] = tostring(till)
    out[#out + 1] = h.cancel or ''
    out[#out + 1] = tostring(h.inputs or 0)
  else
    for _, v in ipairs({'0', '', '0'}) do out[#out + 1] = v end
  end
end
return out
