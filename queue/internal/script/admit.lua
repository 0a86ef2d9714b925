-- admit: -> scheduled | ready. One delivery and every task it asks for.
-- A delivery seen before, or a slot not later than the last, changes nothing.
-- A trigger with the key of a task that never started joins that task.
-- KEYS  meta task body open trig sched ready line front shown place tenant ring fast by wake cron <seen>
-- ARGV  tenant once nonce keep(ms) slot at(ms) most
--       then for each task: id(random part) group serial kind pri key quiet(ms) ceiling(ms) attempts payload
-- Answers ok how list: how is new, again (the answer to this very call was lost) or seen; list is "c:id" (created) and "j:id" (joined).

local old = call('GET', SEEN)
if old then
  local n, list = string.match(old, '^([^|]*)|(.*)$')
  return {'ok', n == nonce and 'again' or 'seen', list or ''}
end
if slot ~= '' then
  local last = tonumber(call('HGET', CRON, tenant .. '|' .. slot) or 0)
  if last >= tonumber(at) then return {'ok', 'seen', ''} end
end

-- base32 gives n in Crockford's digits, as a ULID is written.
local function base32(n, width)
  local s = ''
  for _ = 1, width do
    local d = n % 32
    s = string.sub('0123456789abcdefghjkmnpqrstvwxyz', d + 1, d + 1) .. s
    n = math.floor(n / 32)
  end
  return s
end

-- new_id counts within a millisecond, so that IDs are in the order of admission.
local function new_id(random)
  id_seq = now == id_ms and id_seq + 1 or 1
  id_ms = now
  return 't_' .. base32(now, 10) .. base32(id_seq, 3) .. random
end

-- Whatever write comes first takes memory: a full Redis refuses it, and with it
-- all the rest.
if slot ~= '' then call('HSET', CRON, tenant .. '|' .. slot, at) end

local list = {}
for i = 8, #ARGV, 10 do
  local random, group, serial, kind, pri, key = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local quiet, ceiling, attempts, payload = tonumber(ARGV[i + 6]), tonumber(ARGV[i + 7]), tonumber(ARGV[i + 8]), ARGV[i + 9]
  local h
  if key ~= '' then
    local id = call('HGET', OPEN, tenant .. '|' .. key)
    h = id and load(id)
    if h and (h.token or (h.n or 1) >= tonumber(most) or (h.state ~= 'ready' and h.state ~= 'scheduled')) then h = nil end
  end
  if h then
    h.n = (h.n or 1) + 1
    call('HSET', TRIG, h.id .. '|' .. h.n, now .. '|' .. once .. '|' .. payload)
    if h.state == 'scheduled' then
      if pri < h.pri then h.pri = pri end
      h.due = math.min(now + quiet, h.ceil)
      if h.due <= now then
        call('ZREM', SCHED, h.id)
        enter(h)
      else
        call('ZADD', SCHED, h.due, h.id)
      end
    elseif pri < h.pri then
      leave(h)
      h.pri = pri
      local since = h.ready
      enter(h)
      h.ready = since
      call('ZADD', READY, since, h.id)
    end
    save(h)
    list[#list + 1] = 'j:' .. h.id
  else
    local id = new_id(random)
    h = {
      v = VERSION, id = id, tenant = tenant, group = group, serial = serial ~= '' and serial or id, kind = kind,
      pri = pri, max = attempts, once = once, created = stamp,
    }
    if key ~= '' then
      h.key = key
      call('HSET', OPEN, tenant .. '|' .. key, id)
    end
    call('HSET', BODY, id, payload)
    call('ZADD', BY, 0, '*|' .. id, 0, 'g' .. group .. '|' .. id, 0, 'k' .. kind .. '|' .. id)
    if quiet > 0 then
      h.state, h.due, h.ceil = 'scheduled', now + math.min(quiet, ceiling), now + ceiling
      call('ZADD', SCHED, h.due, id)
    else
      enter(h)
    end
    save(h)
    list[#list + 1] = 'c:' .. id
  end
end
local answer = table.concat(list, ' ')
call('SET', SEEN, nonce .. '|' .. answer, 'PX', keep)
close()
return {'ok', 'new', answer}
