-- lease: ready -> running, for up to n tasks, in turn.
-- Every other lease looks first at tenants with urgent work: a person waits for
-- one task at most, and urgent work can take half of the workers' turns, never all.
-- KEYS  meta task body open trig ready line front shown group place tenant ring fast lease sched park dead wake
-- ARGV  worker lease(ms) n keep(ms, dead letters)
-- Answers ok, then for each task: id until(ms) head payload; an unreadable task is set aside and answered as id 0 why ''.

local out = {'ok'}
if meta[3] then return out end
local token = tonumber(call('HGET', META, 'token') or 0)
for _ = 1, tonumber(n) do
  local tenant
  if token % 2 == 0 then tenant = call('ZRANGE', FAST, 0, 0)[1] end
  tenant = tenant or call('ZRANGE', RING, 0, 0)[1]
  if not tenant then break end
  local group = string.match(first(GROUP, tenant .. '|') or '', '^%d|%d+|(.*)$')
  if not group then
    seat(tenant, true)
    break
  end
  local tg = tenant .. '|' .. group
  local shown = first(SHOWN, tg .. '|')
  local id = string.sub(shown, 3)
  local h, why = load(id)
  if not h then
    call('ZREM', SHOWN, tg .. '|' .. shown)
    aside(id, tonumber(keep))
    place(tenant, group, true)
    seat(tenant, true)
    for _, v in ipairs({id, '0', why, ''}) do out[#out + 1] = v end
  else
    token = token + 1
    local line = line_of(h)
    -- removals first: a full Redis must still be able to work off what it has
    call('ZREM', SHOWN, tg .. '|' .. shown)
    call('ZREM', LINE, line .. '|' .. shown)
    call('ZREM', READY, id)
    call('HSET', FRONT, line, '*' .. id)
    call('HINCRBY', TENANT, 'run|' .. tenant, 1)
    place(tenant, group, true)
    seat(tenant, true)
    if not h.token then unkey(h) end
    h.state, h.token, h.worker, h.started, h.woken = 'running', token, worker, now, nil
    local till = now + tonumber(lease)
    call('ZADD', LEASE, till, id)
    local s = cjson.encode(h)
    call('HSET', TASK, id, s)
    for _, v in ipairs({id, tostring(till), s, call('HGET', BODY, id) or ''}) do out[#out + 1] = v end
  end
end
if #out > 1 then
  call('HSET', META, 'token', token)
  -- a worker that finds work and leaves some wakes the next
  if call('LLEN', WAKE) == 0 and call('EXISTS', RING) == 1 then made = made + 1 end
  close()
end
return out
