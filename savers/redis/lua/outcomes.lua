-- Reads outcomes of tasks of one base in the open version.
--
-- ARGV: base; then the names of the outcomes.

local open = thread()
local v, base, all = int(open) .. ':', ARGV[1], {}
local e = open > 0 and find(v, base)
if e and not e.committed then
	for i = 2, #ARGV do
		local value = call('HGET', key, v .. 'w:' .. base .. ARGV[i])
		if value then
			all[#all + 1] = base
			all[#all + 1] = ARGV[i]
			all[#all + 1] = value
		end
	end
end
return { 'ok', all }
