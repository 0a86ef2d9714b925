-- finish: running -> done | dead. A cancelled task is done, whatever the worker says.
-- KEYS  meta task body ready line front shown group place tenant ring fast lease wait done dead wake
-- ARGV  id token state reason result keep(ms)
-- Answers ok state | settled id state | lost.

local h, no = held(id, token)
if not h then return no end
free(h)
if h.cancel then state = 'done' end
h.reason = reason ~= '' and reason or nil
h.result = result ~= '' and result or nil
h.lost = 0
finish(h, state, tonumber(keep))
close()
return {'ok', state}
