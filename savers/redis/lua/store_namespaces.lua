-- Reads the namespaces of live items in order, with one seek for each.
--
-- ARGV: from and to as ZRANGEBYLEX has them; the most parts of a namespace, after which it is cut, 0 for all; the largest
-- number of namespaces; how many items to look at.
--
-- Returns 'ok', where to continue or '' at the end, and the namespaces.

local _, other = head()
if other then
	return other
end
local now = clock()
local from, to, depth, limit, budget = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

-- cut returns the first parts of a namespace, and what sorts after all places that it cuts to them.
local function cut(namespace)
	local at = 0
	for _ = 1, depth do
		local _, stop = string.find(namespace, '\0\1', at + 1, true)
		if not stop then
			return namespace, '[' .. namespace .. '\0\1'
		end
		at = stop
	end
	if depth == 0 then
		return namespace, '[' .. namespace .. '\0\1'
	end
	local first = string.sub(namespace, 1, at)
	return first, '[' .. string.sub(first, 1, -2) .. '\2'
end

local all = { 'ok', '' }
for _ = 1, budget do
	local place = call('ZRANGEBYLEX', ITEMS, from, to, 'LIMIT', '0', '1')[1]
	if not place then
		return all
	end
	from = '(' .. place
	if live(item(place), now) then
		local namespace
		namespace, from = cut(string.sub(place, 1, string.find(place, '\0\0', 1, true) - 1))
		all[#all + 1] = namespace
		if #all == limit + 2 then
			break
		end
	end
end
all[2] = from
return all
