-- Reads items in order, until there are enough, or until it has looked at so many that the server should do other work.
--
-- ARGV: '' for places that follow, or the number of bytes before the place in each member of items, values or words; from and
-- to as ZRANGEBYLEX has them; the largest number of items; how many items to look at; instead of values, v to read the vectors
-- of items that have some, or w to read the 8 bytes after each place in words; how many conditions. For each condition:
-- the number of ranges, and for each range the least form and the least form above it, '' for the first form alone. Then the
-- places.
--
-- Returns 'ok', '1' if it has looked at all, how many places it has looked at, the last of them with what follows it, and for
-- each item: place, version, created, updated, expires, and the value or what it reads instead.

local _, other = head()
if other then
	return other
end
local now = clock()
local BYTES = 16777216 -- of values in an answer, more or less
local source, from, to, limit, budget = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local reads = ARGV[6]
local at = 8
local where = {}
for i = 1, tonumber(ARGV[7]) do
	where[i] = {}
	for j = 1, tonumber(ARGV[at]) do
		where[i][j] = { from = ARGV[at + 2 * j - 1], to = ARGV[at + 2 * j] }
	end
	at = at + 1 + 2 * #where[i]
end

-- below compares bytes. The operator of Lua depends on the locale of the server.
local function below(a, b)
	for i = 1, math.min(#a, #b) do
		local x, y = string.byte(a, i), string.byte(b, i)
		if x ~= y then
			return x < y
		end
	end
	return #a < #b
end

local function within(form, range)
	if range.to == '' then
		return form == range.from
	end
	return not below(form, range.from) and below(form, range.to)
end

local function any(all, ranges)
	for _, form in ipairs(all) do
		for _, range in ipairs(ranges) do
			if within(form, range) then
				return true
			end
		end
	end
	return false
end

local function holds(it)
	if #where == 0 then
		return true
	end
	local all = forms(it.entries)
	for _, ranges in ipairs(where) do
		if not any(all, ranges) then
			return false
		end
	end
	return true
end

local all, found, looked, bytes, place = { 'ok', '', '', '' }, 0, 0, 0, ''

-- content returns what to read of an item; nil or false for nothing. tail is what follows its place.
local function content(it, p, tail)
	if reads == 'w' then
		return tail
	elseif reads == 'v' then
		return it.v == 'v' and call('HGET', VECTORS, p)
	end
	return call('HGET', VALUE, p) or ''
end

-- look adds the item at a place. It returns true if the answer is full.
local function look(p)
	local tail
	place, looked = p, looked + 1
	if reads == 'w' then
		p, tail = string.sub(p, 1, -9), string.sub(p, -8)
	end
	local it = item(p)
	local value = live(it, now) and holds(it) and content(it, p, tail)
	if value then
		local n = #all
		all[n + 1], all[n + 2], all[n + 3], all[n + 4] = p, it.version, it.created, it.updated
		all[n + 5], all[n + 6] = it.expires, value
		found, bytes = found + 1, bytes + #value
	end
	return found == limit or looked >= budget or bytes >= BYTES
end

local function places()
	for i = at, #ARGV do
		if look(ARGV[i]) then
			return i == #ARGV
		end
	end
	return true
end

local function members()
	local set = reads == 'w' and WORDS or source == '0' and ITEMS or VALUES
	while true do
		local n = math.min(limit - found, 1000)
		local page = call('ZRANGEBYLEX', set, from, to, 'LIMIT', '0', int(n))
		for i, member in ipairs(page) do
			if look(string.sub(member, tonumber(source) + 1)) then
				return i == #page and #page < n
			end
		end
		if #page < n then
			return true
		end
		from = '(' .. page[#page]
	end
end

local done
if source == '' then
	done = places()
else
	done = members()
end
all[2], all[3], all[4] = done and '1' or '', int(looked), place
return all
