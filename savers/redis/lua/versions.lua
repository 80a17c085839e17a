-- Lists the versions, oldest first, four values each.

local _, first, last = thread()
local all = { 'ok' }
for n = first, last do
	local v = int(n) .. ':'
	local m = call('HMGET', key, v .. 'released', v .. 'n:', v .. 'status')
	all[#all + 1] = int(n)
	all[#all + 1] = m[1] or '0'
	all[#all + 1] = m[2] or ''
	all[#all + 1] = m[3] or '0'
end
return all
