-- finish: running -> done | dead, of as many tasks of a worker as end together.
-- A cancelled task is done, whatever the worker says.
-- KEYS  meta task body ready line front shown place tenant ring fast lease wait done dead wake
-- ARGV  then for each task: id token state reason result keep(ms)
-- Answers ok, then for each task: state, or '' and why not (lost notfound newer corrupt).

local out = {'ok'}
for i = 1, #ARGV, 6 do
  local id, state, reason, result = ARGV[i], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local h, no = held(id, ARGV[i + 1])
  if h then
    free(h, true)
    if h.cancel then state = 'done' end
    h.reason = reason ~= '' and reason or nil
    h.result = result ~= '' and result or nil
    h.lost = nil
    finish(h, state, tonumber(ARGV[i + 5]))
    out[#out + 1], out[#out + 2] = state, ''
  elseif no[1] == 'settled' then
    out[#out + 1], out[#out + 2] = no[3], ''
  else
    out[#out + 1], out[#out + 2] = '', no[1]
  end
end
close()
return out
