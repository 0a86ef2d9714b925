-- settle: the holder says what became of an input.
-- KEYS  meta task <in>
-- ARGV  id token key status(applied superseded rejected) note
-- Answers ok | conflict | notfound | lost.

local h, no = held(id, token)
if not h then return no end
local old = call('HGET', IN, key)
if not old then return {'notfound', id} end
local was, head, rest = string.match(old, '^(%a+)|(%d+|%d+|%x*)|[^|]*|(.*)$')
if not was then return {'corrupt', id} end
if was ~= 'open' and was ~= status then return {'conflict', id} end
if was == 'open' then call('HSET', IN, key, status .. '|' .. head .. '|' .. note .. '|' .. rest) end
return {'ok'}
