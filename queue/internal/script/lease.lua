-- lease: ready -> running, for up to n tasks, in turn. Before that, a worker's runs
-- that are over end, as by finish: one call does what two would.
-- Every other lease looks first at tenants with urgent work: a person waits for
-- one task at most, and urgent work can take half of the workers' turns, never all.
-- KEYS  meta task body open ready line front shown place tenant ring fast lease sched park wait done dead wake
-- ARGV  worker lease(ms) n keep(ms, dead letters) then for each run that is over: id token state reason result keep(ms)
-- Answers ok, then for each run what finish answers, then for each task: id until(ms) head payload; an unreadable task is set aside and answered as id 0 why ''.

local out = {'ok'}
ends(out, 5)
if meta[3] then n = 0 end

-- pair gives the first two members that start with prefix, without it.
local function pair(key, prefix)
  local m = call('ZRANGEBYLEX', key, '[' .. prefix, '(' .. prefix .. '\255', 'LIMIT', '0', '2')
  return m[1] and string.sub(m[1], #prefix + 1), m[2] and string.sub(m[2], #prefix + 1)
end

local till = string.format('%.0f', now + tonumber(lease))
local urgent = tonumber(n) > 0 and call('ZRANGE', FAST, '0', '0')[1]
local ids, heads, leases = {}, {}, {}
for _ = 1, tonumber(n) do
  local tenant = token_now % 2 == 0 and urgent or call('ZRANGE', RING, '0', '0')[1]
  if not tenant then break end
  local shown, after = pair(SHOWN, tenant .. '|')
  if not shown then -- nothing to start after all
    seat(tenant, 0)
    break
  end
  local id = in_front(shown)
  local h, why = load(id)
  call('ZREM', SHOWN, tenant .. '|' .. shown)
  if not h then
    aside(id, tonumber(keep))
    seat(tenant, room(tenant), true)
    for _, v in ipairs({id, '0', why, ''}) do out[#out + 1] = v end
  else
    token_now = token_now + 1
    -- removals came first: a full Redis must still be able to work off what it has
    call('HSET', PLACE, tenant .. '|' .. h.pri, string.sub(shown, 3, 17))
    if h.serial ~= id then call('HSET', FRONT, line_of(h), '*' .. id) end
    -- the tenant goes to the end of the ring
    if count(tenant, '1') > 0 and after then
      turn = turn + 1
      call('ZADD', RING, turn, tenant)
    else
      call('ZREM', RING, tenant)
      after = ''
    end
    if string.sub(after, 1, 1) == '0' then
      call('ZADD', FAST, turn, tenant)
    elseif urgent then
      call('ZREM', FAST, tenant)
    end
    if not h.token then unkey(h) end
    h.state, h.token, h.worker, h.started = 'running', string.format('%.0f', token_now), worker, stamp
    h.woken, h.at, h.settled = nil, nil, nil
    local s = cjson.encode(h)
    ids[#ids + 1] = id
    leases[#leases + 1], leases[#leases + 2] = till, id
    heads[#heads + 1], heads[#heads + 2] = id, s
  end
  if urgent then urgent = call('ZRANGE', FAST, '0', '0')[1] end
end
each('ZREM', READY, ids)
each('ZADD', LEASE, leases)
each('HSET', TASK, heads)
for i, body in ipairs(each('HMGET', BODY, ids) or {}) do
  for _, v in ipairs({ids[i], till, heads[2 * i], body or ''}) do out[#out + 1] = v end
end
if #out > 1 then close() end
return out
