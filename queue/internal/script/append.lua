-- append: adds records to a task's journal. The journal is a list; its first
-- element is the fence "version|token|until|op": the newest lease that wrote or
-- read here, when it ends, and its last append. An older lease can write nothing
-- more, nor can one that ran out; the same append twice is written once.
-- KEYS  <journal>
-- ARGV  token ends(ms) op most channel then for each record: kind data
-- Answers ok length | lost | expired | toomany | newer | corrupt.
-- NOLIB

local call = redis.call
local clock = call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local old = call('LINDEX', JOURNAL, 0)
local v, fence, till, last = 1, 0, 0, 0
if old then
  v, fence, till, last = string.match(old, '^(%d+)|(%d+)|(%d+)|(%d+)$')
  if not v then return {'corrupt'} end
  v, fence, till, last = tonumber(v), tonumber(fence), tonumber(till), tonumber(last)
  if v > 1 then return {'newer', '', tostring(v)} end
end
local mine = tonumber(token)
if mine < fence then return {'lost'} end
if mine > fence then fence, till, last = mine, 0, 0 end
till = math.max(till, tonumber(ends))
local len = call('LLEN', JOURNAL)
if tonumber(op) <= last and #ARGV > 5 then return {'ok', len - 1} end
if now >= till then return {'expired'} end
if len + (#ARGV - 5) / 2 > tonumber(most) then return {'toomany'} end
local head = string.format('1|%.0f|%.0f|%.0f', fence, till, math.max(last, tonumber(op)))
if old then call('LSET', JOURNAL, 0, head) else call('RPUSH', JOURNAL, head) end
for i = 6, #ARGV, 2 do
  len = call('RPUSH', JOURNAL, string.format('1|%.0f|%.0f|', fence, now) .. ARGV[i] .. '|' .. ARGV[i + 1])
end
-- readers also look by themselves, so a user without channels costs them only speed
if #ARGV > 5 then redis.pcall('PUBLISH', channel, len - 1) end
return {'ok', call('LLEN', JOURNAL) - 1}
