-- finish: running -> done | dead, of several tasks.
-- KEYS  meta task body ready line front shown place tenant ring fast lease wait done dead wake
-- ARGV  then for each task: id token state reason result keep(ms)
-- Answers ok, then for each task: state, or '' and why not (lost notfound newer corrupt).

local out = {'ok'}
ends(out, 1)
close()
return out
