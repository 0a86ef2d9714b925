-- What every script of a shard starts with: the clock, the guard against a
-- foreign or newer queue, and the moves between the fair ring's four levels.
--
-- A ready task stands in its line (tenant|group|serial). The first task of a
-- line that runs nothing is shown. A group with a shown task has a place among
-- its tenant's groups, and a tenant with a place, below its cap and not paused,
-- sits in the ring; in "fast" too if its first group shows an urgent task.
-- So a lease looks only at what can start, and costs a logarithm.
--
-- Several tenants share each sorted set: its members carry the owner as prefix
-- and are read in the order of their bytes, so that no key is ever computed
-- here and all of them can be declared. Names come escaped: none holds a "|".

local VERSION = 1
local call = redis.call

local clock = call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local meta = call('HMGET', META, 'v', 'turn', 'pause', 'cap')
if not meta[1] then return {'gone'} end
if tonumber(meta[1]) > VERSION then return {'newer', '', meta[1]} end
local turn = tonumber(meta[2] or 0)
local made = 0 -- tasks that became startable: as many idle workers are woken

-- first gives the first member that starts with prefix, without the prefix.
local function first(key, prefix)
  local m = call('ZRANGEBYLEX', key, '[' .. prefix, '(' .. prefix .. '\255', 'LIMIT', 0, 1)[1]
  return m and string.sub(m, #prefix + 1)
end

-- load gives a task's head, or nil and why not: notfound, newer, corrupt.
local function load(id)
  local s = call('HGET', TASK, id)
  if not s then return nil, 'notfound' end
  local ok, h = pcall(cjson.decode, s)
  if not ok or type(h) ~= 'table' or type(h.v) ~= 'number' then return nil, 'corrupt' end
  if h.v > VERSION then return nil, 'newer' end
  return h
end

local function save(h)
  call('HSET', TASK, h.id, cjson.encode(h))
end

local function group_of(h) return h.tenant .. '|' .. h.group end
local function line_of(h) return h.tenant .. '|' .. h.group .. '|' .. h.serial end

-- seat puts a tenant into the ring, or takes it out. A tenant that sits
-- already keeps its turn, unless it was just served (again).
local function seat(tenant, again)
  local g = first(GROUP, tenant .. '|')
  if g then
    local t = call('HMGET', TENANT, 'run|' .. tenant, 'cap|' .. tenant, 'pause|' .. tenant)
    if not t[3] and tonumber(t[1] or 0) < tonumber(t[2] or meta[4]) then
      turn = turn + 1
      local new = 0
      if again then call('ZADD', RING, turn, tenant) else new = call('ZADD', RING, 'NX', turn, tenant) end
      if string.sub(g, 1, 1) ~= '0' then
        call('ZREM', FAST, tenant)
      elseif again then
        call('ZADD', FAST, turn, tenant)
      else
        call('ZADD', FAST, 'NX', turn, tenant)
      end
      made = made + new
      return true
    end
  end
  call('ZREM', RING, tenant)
  call('ZREM', FAST, tenant)
  return false
end

-- place gives a group its place among its tenant's groups: urgent ones before,
-- then in turn. A group that was just served goes to the end (again).
local function place(tenant, group, again)
  local tg = tenant .. '|' .. group
  local shown = first(SHOWN, tg .. '|')
  local at = call('HGET', PLACE, tg)
  if not shown then
    if at then
      call('ZREM', GROUP, tenant .. '|' .. at .. '|' .. group)
      call('HDEL', PLACE, tg)
    end
    return
  end
  local pri, keep = string.sub(shown, 1, 1), at and string.sub(at, 3)
  if not keep or again then
    turn = turn + 1
    keep = string.format('%015d', turn)
  end
  local to = pri .. '|' .. keep
  if to == at then return end
  if at then call('ZREM', GROUP, tenant .. '|' .. at .. '|' .. group) end
  call('ZADD', GROUP, 0, tenant .. '|' .. to .. '|' .. group)
  call('HSET', PLACE, tg, to)
end

-- show brings the first task of a line forward, if the line runs nothing.
local function show(tenant, group, serial)
  local tg = tenant .. '|' .. group
  local line = tg .. '|' .. serial
  local front = call('HGET', FRONT, line)
  if front and string.sub(front, 1, 1) == '*' then return end
  local head = first(LINE, line .. '|')
  if (head or '') == (front or '') then return end
  if front then call('ZREM', SHOWN, tg .. '|' .. front) end
  if head then
    call('ZADD', SHOWN, 0, tg .. '|' .. head)
    call('HSET', FRONT, line, head)
  else
    call('HDEL', FRONT, line)
  end
  place(tenant, group)
end

-- enter makes a task ready. The caller saves the head.
local function enter(h)
  h.state, h.ready, h.due = 'ready', now, nil
  call('ZADD', READY, now, h.id)
  call('ZADD', LINE, 0, line_of(h) .. '|' .. h.pri .. '|' .. h.id)
  show(h.tenant, h.group, h.serial)
  local before = made
  if seat(h.tenant) and made == before then made = made + 1 end
end

-- leave takes a ready task out of its line.
local function leave(h)
  call('ZREM', READY, h.id)
  call('ZREM', LINE, line_of(h) .. '|' .. h.pri .. '|' .. h.id)
  show(h.tenant, h.group, h.serial)
  seat(h.tenant)
end

-- free ends a run: the lease goes, the line shows its next task.
local function free(h)
  call('ZREM', LEASE, h.id)
  call('HINCRBY', TENANT, 'run|' .. h.tenant, -1)
  call('HDEL', FRONT, line_of(h))
  show(h.tenant, h.group, h.serial)
  seat(h.tenant)
end

-- unwait drops what a task waits for.
local function unwait(h)
  for ev in string.gmatch(h.events or '', '%S+') do
    call('ZREM', WAIT, ev .. '|' .. h.id)
  end
  h.events = nil
end

-- unkey stops further triggers from joining a task.
local function unkey(h)
  if h.key and call('HGET', OPEN, h.tenant .. '|' .. h.key) == h.id then
    call('HDEL', OPEN, h.tenant .. '|' .. h.key)
  end
end

-- finish ends a task for good; a dead one keeps its payload for a retry.
local function finish(h, state, keep)
  unwait(h)
  h.state, h.ended, h.woken, h.due = state, now, nil, nil
  call('ZADD', state == 'dead' and DEAD or DONE, now + keep, h.id)
  if state == 'done' then call('HDEL', BODY, h.id) end
  save(h)
end

-- held gives the head of a running task if token is its lease, or nil and the
-- answer: lost, or settled when this very lease has ended the run before (the
-- answer to the first call was lost).
local function held(id, token)
  local h, why = load(id)
  if not h then return nil, {why, id} end
  if h.token ~= tonumber(token) then return nil, {'lost', id} end
  if h.state ~= 'running' then return nil, {'settled', id, h.state} end
  return h
end

-- aside moves a task whose head cannot be read to the dead letters as it is,
-- so that it holds up nobody. It is rare, and may look through its group.
local function aside(id, keep)
  local owner
  for _, key in ipairs({SCHED, PARK, READY}) do call('ZREM', key, id) end
  if call('ZREM', LEASE, id) == 1 then
    local f = call('HGETALL', FRONT)
    for i = 1, #f, 2 do
      if f[i + 1] == '*' .. id then owner = f[i] end
    end
    if owner then
      call('HDEL', FRONT, owner)
      call('HINCRBY', TENANT, 'run|' .. string.match(owner, '^[^|]*'), -1)
    end
  else
    for _, m in ipairs(call('ZRANGE', LINE, 0, -1)) do
      if string.sub(m, -#id - 1) == '|' .. id then
        call('ZREM', LINE, m)
        owner = string.sub(m, 1, #m - #id - 3)
      end
    end
  end
  call('ZADD', DEAD, now + keep, id)
  if owner then
    local t, g, s = string.match(owner, '^([^|]*)|([^|]*)|([^|]*)$')
    show(t, g, s)
    seat(t)
  end
end

-- close writes the counters and wakes as many idle workers as there are tasks
-- that can start. The bound keeps a list that nobody reads short: a worker
-- leases until nothing is left before it waits, so tokens only add hands.
local function close()
  if turn ~= tonumber(meta[2] or 0) then call('HSET', META, 'turn', turn) end
  if made > 0 then
    local len = call('LLEN', WAKE)
    for _ = len + 1, math.min(64, len + made) do call('RPUSH', WAKE, 1) end
  end
end
