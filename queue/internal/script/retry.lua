-- retry: dead -> ready, with all its attempts again.
-- KEYS  meta task ready line front shown place tenant ring fast dead wake
-- ARGV  id
-- Answers ok | ended id state | notfound | newer | corrupt.

local h, no = load(id)
if not h then return {no, id} end
if h.state ~= 'dead' then return {'state', id, h.state} end
call('ZREM', DEAD, id)
h.attempt, h.lost, h.ended = nil, nil, nil
enter(h)
save(h)
close()
return {'ok'}
