-- limit: pauses or resumes a tenant or everything, or sets a tenant's cap. What
-- runs goes on; what waits keeps its turn.
-- KEYS  meta shown tenant ring fast wake
-- ARGV  tenant('': all) what(pause cap) value('': none)
-- Answers ok.

local key, field = TENANT, what .. '|' .. tenant
if tenant == '' then key, field = META, what end
if what == 'cap' then call('HSET', META, 'caps', 1) end
if value == '' then call('HDEL', key, field) else call('HSET', key, field, value) end
if tenant ~= '' then
  seat(tenant, room(tenant))
elseif value == '' and call('EXISTS', RING) == 1 then
  made = 1
end
close()
return {'ok'}
