-- Reads records, in the order asked for, until they come to enough bytes. Of a record in a pack it returns the whole pack, once
-- for all records in a row that are in it.
--
-- ARGV: version, its uid, number of the namespace, 'h' for headers only, enough, seqs.

local v, k = ARGV[1] .. ':', tonumber(ARGV[3])
if call('HGET', key, v .. 'uid') ~= ARGV[2] then
	return { 'gone' }
end
local all, size, enough = { 'ok' }, 0, tonumber(ARGV[5])
local index, p
for i = 6, #ARGV do
	local seq = tonumber(ARGV[i])
	local r = not (p and p.first <= seq and seq <= p.last) and call('HGET', key, v .. 'r:' .. ARGV[3] .. ':' .. ARGV[i])
	if r then
		if ARGV[4] == 'h' then
			r = string.sub(r, 1, 4 + struct.unpack('>I4', r) % 16777216)
		end
		all[#all + 1] = r
		size = size + #r
	elseif not (p and p.first <= seq and seq <= p.last) then
		index = index or packs(v)
		p = pack(index, reaching(index, k, seq), k)
		if not p or p.first > seq then
			return { 'gone' }
		end
		local body = call('HGET', key, packField(v, k, p.last)) or ''
		all[#all + 1] = { int(p.first), int(p.last), body }
		size = size + #body
	end
	if size >= enough then
		break
	end
end
return all
