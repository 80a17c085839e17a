-- Reads records, in the order asked for, until they come to enough bytes.
--
-- ARGV: version, its uid, number of the namespace, 'h' for headers only, enough, seqs.

local v = ARGV[1] .. ':'
if call('HGET', key, v .. 'uid') ~= ARGV[2] then
	return { 'gone' }
end
local all, size, enough = { 'ok' }, 0, tonumber(ARGV[5])
for i = 6, #ARGV do
	local r = call('HGET', key, v .. 'r:' .. ARGV[3] .. ':' .. ARGV[i])
	if not r then
		return { 'gone' }
	end
	if ARGV[4] == 'h' then
		r = string.sub(r, 1, 4 + struct.unpack('>I4', r) % 16777216)
	end
	all[#all + 1] = r
	size = size + #r
	if size >= enough then
		break
	end
end
return all
