-- purge: done | dead -> nothing, once its time to keep is over. What lies in other
-- slots (the journal) is noted in gone, and crossed out when it is removed too.
-- KEYS  meta task body trig done dead by place gone <in...>
-- ARGV  then the ids, as many as <in...>
-- Answers ok, then the ids to remove elsewhere.

local out = {'ok'}
for i, id in ipairs(ARGV) do
  local e = tonumber(call('ZSCORE', DONE, id) or call('ZSCORE', DEAD, id) or '+inf')
  if e <= now then
    local h = load(id)
    call('ZREM', DONE, id)
    call('ZREM', DEAD, id)
    call('SADD', GONE, id)
    call('HDEL', TASK, id)
    call('HDEL', BODY, id)
    call('DEL', KEYS[9 + i])
    call('ZREM', BY, '*|' .. id)
    if h then
      call('ZREM', BY, 'g' .. h.group .. '|' .. id, 'k' .. h.kind .. '|' .. id)
      -- a group that is owed nothing need not be remembered
      local served, g = h.tenant .. '|' .. h.pri, group_of(h) .. '|' .. h.pri
      local p = call('HMGET', PLACE, served, g)
      if p[2] and tonumber(p[2]) <= tonumber(p[1] or 0) then call('HDEL', PLACE, g) end
      for n = 2, h.n or 1 do call('HDEL', TRIG, id .. '|' .. n) end
    end
  end
end
for _, id in ipairs(call('SRANDMEMBER', GONE, 200)) do out[#out + 1] = id end
return out
