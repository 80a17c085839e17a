-- Reads the nearest elements of a vector set.
--
-- ARGV: the vector index; the vector; the filter, '' for none; how many elements.
--
-- Returns 'ok', '1' if the index has a vector set, the number of elements, and for each whose item exists, the nearest first:
-- its place, the version of the item, and the score as VSIM has it.

local _, other = head()
if other then
	return other
end
local now = clock()
local key = vectorset(ARGV[1])
if not key then
	return { 'ok', '', '0' }
end
local found
if ARGV[3] == '' then
	found = call('VSIM', key, 'FP32', ARGV[2], 'WITHSCORES', 'COUNT', ARGV[4])
else
	local all = math.max(call('VCARD', key), 1) -- look at all of them, if need be
	found = call('VSIM', key, 'FP32', ARGV[2], 'WITHSCORES', 'COUNT', ARGV[4], 'FILTER', ARGV[3], 'FILTER-EF', int(all))
end
local all = { 'ok', '1', int(#found / 2) }
for i = 1, #found, 2 do
	local place = string.sub(found[i], 1, -2)
	local it = item(place)
	if live(it, now) then
		local n = #all
		all[n + 1], all[n + 2], all[n + 3] = place, it.version, tostring(found[i + 1])
	end
end
return all
