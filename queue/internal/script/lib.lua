-- What every script of a shard starts with: the clock, the guard against a
-- foreign or newer queue, and the moves between the fair ring's four levels.
--
-- A ready task that may start is shown; one whose line (tenant|group|serial)
-- runs another, or shows one before it, waits in its line. A shown task has a tag:
-- one more than its group's last, and than the tag that its tenant was last
-- served at, so that groups take turns however much each of them shows. A tenant
-- that shows tasks, is below its cap and not paused, sits in the ring; in "fast"
-- too if its first task is urgent. So a lease looks only at what can start, and
-- costs a logarithm.
--
-- Several tenants share each sorted set: its members carry the owner as prefix
-- and are read in the order of their bytes, so that no key is ever computed
-- here and all of them can be declared. Names come escaped: none holds a "|".

local VERSION = 1
local call = redis.call

local clock = call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- A number costs cjson and redis.call twenty times what a string does: what is only
-- kept is kept as a string, what is zero is left out, and a command's constants are
-- strings.
local stamp = string.format('%.0f', now)

local meta = call('HMGET', META, 'v', 'turn', 'pause', 'cap', 'token', 'caps', 'ms', 'seq')
if not meta[1] then return {'gone'} end
if tonumber(meta[1]) > VERSION then return {'newer', '', meta[1]} end
local turn, token_now = tonumber(meta[2] or 0), tonumber(meta[5] or 0)
local id_ms, id_seq = tonumber(meta[7] or 0), tonumber(meta[8] or 0)
local made = 0 -- tasks that became startable: as many idle workers are woken

-- first gives the first member that starts with prefix, without the prefix.
local function first(key, prefix)
  local m = call('ZRANGEBYLEX', key, '[' .. prefix, '(' .. prefix .. '\255', 'LIMIT', '0', '1')[1]
  return m and string.sub(m, #prefix + 1)
end

-- read gives a task's head, or nil and why not: notfound, newer, corrupt.
local function read(s)
  if not s then return nil, 'notfound' end
  local ok, h = pcall(cjson.decode, s)
  if not ok or type(h) ~= 'table' or type(h.v) ~= 'number' then return nil, 'corrupt' end
  if h.v > VERSION then return nil, 'newer' end
  return h
end

local function load(id) return read(call('HGET', TASK, id)) end

local function save(h)
  call('HSET', TASK, h.id, cjson.encode(h))
end

local function group_of(h) return h.tenant .. '|' .. h.group end
local function line_of(h) return h.tenant .. '|' .. h.group .. '|' .. h.serial end

-- room tells how many more tasks a tenant may start: none while it is paused.
local function room(tenant)
  local t = call('HMGET', TENANT, 'run|' .. tenant, 'cap|' .. tenant, 'pause|' .. tenant)
  return t[3] and 0 or tonumber(t[2] or meta[4]) - tonumber(t[1] or 0)
end

-- seat puts a tenant into the ring, or takes it out. A tenant that sits
-- already keeps its turn, unless it was just served (again).
local function seat(tenant, left, again)
  local top = left > 0 and first(SHOWN, tenant .. '|')
  if not top then
    call('ZREM', RING, tenant)
    call('ZREM', FAST, tenant)
    return
  end
  turn = turn + 1
  if again then
    call('ZADD', RING, turn, tenant)
  else
    made = made + call('ZADD', RING, 'NX', turn, tenant)
  end
  if string.sub(top, 1, 1) ~= '0' then
    call('ZREM', FAST, tenant)
  elseif again then
    call('ZADD', FAST, turn, tenant)
  else
    call('ZADD', FAST, 'NX', turn, tenant)
  end
end

-- bring shows a task, and gives its priority and tag: "p|000000000000042".
local function bring(tenant, group, pri, id)
  local g = tenant .. '|' .. group .. '|' .. pri
  local p = call('HMGET', PLACE, tenant .. '|' .. pri, g)
  local tag = math.max(tonumber(p[1] or 0), tonumber(p[2] or 0)) + 1
  call('HSET', PLACE, g, tag)
  local at = string.format('%s|%015d', pri, tag)
  call('ZADD', SHOWN, 0, tenant .. '|' .. at .. '|' .. id)
  return at
end

-- in_front gives the ID of the task that a line shows; front is "p|tag|id".
local function in_front(front) return string.sub(front, 19) end

-- forward shows the next task of a line that shows and runs nothing now.
local function forward(tenant, group, serial)
  local line = tenant .. '|' .. group .. '|' .. serial
  local m = first(LINE, line .. '|')
  if not m then
    call('HDEL', FRONT, line)
    return false
  end
  local pri, id = string.sub(m, 1, 1), string.sub(m, 3)
  call('ZREM', LINE, line .. '|' .. m)
  call('HSET', FRONT, line, bring(tenant, group, pri, id) .. '|' .. id)
  return true
end

-- line_up shows a ready task or lets it wait in its line, and tells which. One
-- without a serial has no line, and keeps its place in its own head.
local function line_up(h)
  if h.serial == h.id then
    h.at = bring(h.tenant, h.group, h.pri, h.id)
    return true
  end
  local line, mine = line_of(h), h.pri .. '|' .. h.id
  local front = call('HGET', FRONT, line)
  if front then
    local theirs = string.sub(front, 1, 2) .. in_front(front)
    if string.sub(front, 1, 1) == '*' or string.sub(front, 1, 1) <= h.pri then
      call('ZADD', LINE, 0, line .. '|' .. mine)
      return false
    end
    call('ZREM', SHOWN, h.tenant .. '|' .. front)
    call('ZADD', LINE, 0, line .. '|' .. theirs)
  end
  call('HSET', FRONT, line, bring(h.tenant, h.group, h.pri, h.id) .. '|' .. h.id)
  return true
end

-- enter makes a task ready. The caller saves the head.
local function enter(h)
  h.state, h.ready, h.due, h.ceil = 'ready', stamp, nil, nil
  call('ZADD', READY, now, h.id)
  if not line_up(h) then return end
  -- a tenant that sits already has nothing to gain but from an urgent task
  if h.pri ~= '0' and call('ZSCORE', RING, h.tenant) then
    made = made + 1
    return
  end
  local before, left = made, room(h.tenant)
  seat(h.tenant, left)
  if left > 0 and made == before then made = made + 1 end
end

-- leave takes a ready task back.
local function leave(h)
  call('ZREM', READY, h.id)
  if h.serial == h.id then
    call('ZREM', SHOWN, h.tenant .. '|' .. h.at .. '|' .. h.id)
  else
    local line = line_of(h)
    local front = call('HGET', FRONT, line)
    if not front or in_front(front) ~= h.id then
      call('ZREM', LINE, line .. '|' .. h.pri .. '|' .. h.id)
      return
    end
    call('ZREM', SHOWN, h.tenant .. '|' .. front)
    forward(h.tenant, h.group, h.serial)
  end
  seat(h.tenant, room(h.tenant))
end

-- count changes how many tasks a tenant runs, and gives how many more its cap
-- allows. meta's caps says whether any tenant has a cap of its own.
local function count(tenant, by)
  local run = call('HINCRBY', TENANT, 'run|' .. tenant, by)
  local cap = meta[6] and call('HGET', TENANT, 'cap|' .. tenant) or meta[4]
  return tonumber(cap) - run
end

-- vacate gives a run's place to the next: its line shows its next task.
local function vacate(h)
  local left = count(h.tenant, '-1')
  local came = h.serial ~= h.id and forward(h.tenant, h.group, h.serial)
  -- an end changes who sits only if a task came forward or the cap was reached
  if came or left == 1 then seat(h.tenant, room(h.tenant)) end
end

-- free ends a run. by_holder tells whether its holder ends it, or it was taken
-- from its holder.
local function free(h, by_holder)
  h.settled = by_holder
  call('ZREM', LEASE, h.id)
  vacate(h)
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

-- over brings a task's head to its end.
local function over(h, state)
  unwait(h)
  h.state, h.ended, h.woken, h.due = state, stamp, nil, nil
end

-- finish ends a task for good; a dead one keeps its payload for a retry.
local function finish(h, state, keep)
  over(h, state)
  call('ZADD', state == 'dead' and DEAD or DONE, now + keep, h.id)
  if state == 'done' then call('HDEL', BODY, h.id) end
  save(h)
end

-- held gives the head of a running task if token is its lease, or nil and the
-- answer: lost, or settled when this very lease has ended the run before (the
-- answer to the first call was lost).
local function held(id, token, s)
  local h, why = read(s or call('HGET', TASK, id))
  if not h then return nil, {why, id} end
  if h.token ~= token then return nil, {'lost', id} end
  if h.state ~= 'running' then return nil, {h.settled and 'settled' or 'lost', id, h.state} end
  return h
end

-- each calls a command on a key with a whole list of arguments, if there are any.
local function each(cmd, key, list)
  return list[1] and call(cmd, key, unpack(list))
end

-- ends brings runs to their end, which ARGV tells of from i on: id token state
-- reason result keep(ms). Answers for each: state, or '' and why not (lost notfound
-- newer corrupt). A cancelled task is done, whatever its worker says. One command
-- for each key reads and writes them all.
local function ends(out, i)
  local ids, runs, leases = {}, {}, {}
  for j = i, #ARGV, 6 do ids[#ids + 1] = ARGV[j] end
  for n, s in ipairs(each('HMGET', TASK, ids) or {}) do
    local at = i + 6 * (n - 1)
    local h, no = held(ids[n], ARGV[at + 1], s)
    if h then
      local state = h.cancel and 'done' or ARGV[at + 2]
      leases[#leases + 1], runs[#runs + 1] = h.id, {h, state, at}
      out[#out + 1], out[#out + 2] = state, ''
    elseif no[1] == 'settled' then
      out[#out + 1], out[#out + 2] = no[3], ''
    else
      out[#out + 1], out[#out + 2] = '', no[1]
    end
  end
  each('ZREM', LEASE, leases)
  local heads, bodies, sets = {}, {}, {done = {}, dead = {}}
  for _, run in ipairs(runs) do
    local h, state, at = run[1], run[2], run[3]
    vacate(h)
    over(h, state)
    h.settled, h.lost = true, nil
    h.reason = ARGV[at + 3] ~= '' and ARGV[at + 3] or nil
    h.result = ARGV[at + 4] ~= '' and ARGV[at + 4] or nil
    heads[#heads + 1], heads[#heads + 2] = h.id, cjson.encode(h)
    local set = sets[state]
    set[#set + 1], set[#set + 2] = now + tonumber(ARGV[at + 5]), h.id
    if state == 'done' then bodies[#bodies + 1] = h.id end
  end
  each('ZADD', DONE, sets.done)
  each('ZADD', DEAD, sets.dead)
  each('HDEL', BODY, bodies) -- a dead task keeps its payload for a retry
  each('HSET', TASK, heads)
end

-- aside moves a task whose head cannot be read to the dead letters as it is,
-- so that it holds up nobody. It is rare, and may look through all lines.
local function aside(id, keep)
  local ran = call('ZREM', LEASE, id) == 1
  for _, key in ipairs({SCHED, PARK, READY}) do call('ZREM', key, id) end
  call('ZADD', DEAD, now + keep, id)
  local tenant = string.match(call('HGET', TASK, id) or '', '"tenant":"([^"]*)"')
  local f = call('HGETALL', FRONT)
  for i = 1, #f, 2 do
    if f[i + 1] == '*' .. id or in_front(f[i + 1]) == id then
      local t, g, s = string.match(f[i], '^([^|]*)|([^|]*)|([^|]*)$')
      forward(t, g, s)
      tenant = t
    end
  end
  if tenant then
    tenant = string.gsub(tenant, '\\/', '/')
    if ran then count(tenant, '-1') end
    seat(tenant, room(tenant))
  end
end

-- close writes the counters and wakes as many idle workers as there are tasks
-- that can start. The bound keeps a list that nobody reads short: a worker
-- leases until nothing is left before it waits, so tokens only add hands.
local function close()
  if turn ~= tonumber(meta[2] or 0) or token_now ~= tonumber(meta[5] or 0) or id_ms ~= tonumber(meta[7] or 0)
    or id_seq ~= tonumber(meta[8] or 0) then
    call('HSET', META, 'turn', turn, 'token', token_now, 'ms', id_ms, 'seq', id_seq)
  end
  if made > 0 then
    local len = call('LLEN', WAKE)
    for _ = len + 1, math.min(64, len + made) do call('RPUSH', WAKE, 1) end
  end
end
