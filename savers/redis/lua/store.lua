-- What the scripts of the store share. All keys of a store have one tag, so a batch on any of its items is atomic, and a
-- store is in one slot of a cluster. The keys, with prefix{prefix store}: before each:
--
--   head     hash: format, and last, a number that no later version of an item which is not there now is below
--   items    sorted set by bytes: the places of all items. A place is Namespace.Append, 00 00 and the key, so places sort
--            as Find does, and the first 00 00 of a place ends its namespace
--   meta     hash by place: "version created updated expires ttl " and the index entries, each as two bytes of length and
--            its form. Times in microseconds; expires 0 is never, ttl 0 is an end that a read does not move, and a v follows
--            ttl if the item has vectors, and a t if it has words
--   value    hash by place: the value and a checksum of place and value
--   index    sorted set by bytes: namespace, 00 00, form and key of each index entry
--   values   sorted set by bytes: form and place of each index entry
--   expires  sorted set by time: the places of items that expire
--   once     hash of the uses of Once: the version that the first use returned
--   used     sorted set by time: the fields of once
--   vectors  hash by place: the vectors of the item. For each, the hash of its text, the index with a byte of length before
--            it, two bytes of dimensions and the numbers, of 4 bytes, little-endian
--   specs    hash by vector index: v if it has a vector set, its dimensions, a space and its model
--   near:    and the name of a vector index: a vector set, if the server had them when the index was declared. An element
--            is a place and the number of the vector in the item, from 1, as a byte. Its attributes have the bytes in hex of
--            the namespace (x), of all that contain it (n), and of the forms of index entries (e)
--   words    sorted set by bytes: form and place of each word of an item, and 8 bytes: how often the item has the word, and
--            how many words it has in the index, of 4 bytes, big-endian. The form of a word is that of an index entry
--   texts    hash by place: the words of the item. For each, two bytes of length, its form and the 8 bytes
--   changes  not a key, but the channel of notifications: a message is the namespace of all items that a batch has changed,
--            or empty if there are several
--
-- The form of an index entry is AppendPart of the index and AppendPart of the value.

local HEAD, ITEMS, META, VALUE, INDEX, VALUES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local EXPIRES, ONCE, USED, VECTORS, SPECS = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local WORDS, TEXTS = KEYS[13], KEYS[14]
local NEAR = string.sub(HEAD, 1, -5) .. 'near:' -- HEAD ends with head
local FORMAT = '2'
local call = redis.call

local function int(n) return string.format('%.0f', n) end

local function clock()
	local t = call('TIME')
	return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- head returns last, and an answer if the store has another format.
local function head()
	local h = call('HMGET', HEAD, 'format', 'last')
	if h[1] and h[1] ~= FORMAT then
		return 0, { 'format', h[1], FORMAT }
	end
	return tonumber(h[2]) or 0
end

-- item reads the item at a place; nil for none.
local function item(place)
	local m = call('HGET', META, place)
	if not m then
		return nil
	end
	local version, created, updated, expires, ttl, v, t, at = string.match(m, '^(%d+) (%d+) (%d+) (%d+) (%d+)(v?)(t?) ()')
	if not version then
		error('damaged: the head of an item of the store')
	end
	return {
		version = version, created = created, updated = updated, expires = expires, ttl = ttl, v = v, t = t,
		entries = string.sub(m, at),
	}
end

local function live(it, now) return it and (it.expires == '0' or tonumber(it.expires) > now) end

-- forms returns the forms of index entries.
local function forms(entries)
	local all, at = {}, 1
	while at <= #entries do
		if at == #entries then
			error('damaged: the index entries of an item of the store')
		end
		local n = struct.unpack('>I2', entries, at)
		all[#all + 1] = string.sub(entries, at + 2, at + 1 + n)
		at = at + 2 + n
	end
	return all
end

-- replace makes the index entries of the item at a place those of after instead of those of before.
local function replace(place, before, after)
	if before == after then
		return
	end
	local cut = string.find(place, '\0\0', 1, true) + 1
	local base, key = string.sub(place, 1, cut), string.sub(place, cut + 1)
	local kept = {}
	for _, form in ipairs(forms(before)) do
		kept[form] = false
	end
	for _, form in ipairs(forms(after)) do
		if kept[form] == nil then
			call('ZADD', INDEX, '0', base .. form .. key)
			call('ZADD', VALUES, '0', form .. place)
		end
		kept[form] = true
	end
	for form, keep in pairs(kept) do
		if not keep then
			call('ZREM', INDEX, base .. form .. key)
			call('ZREM', VALUES, form .. place)
		end
	end
end

-- sets has the keys of the vector sets of indexes; false for none.
local sets = {}
local function vectorset(index)
	if sets[index] == nil then
		local spec = call('HGET', SPECS, index)
		sets[index] = spec and string.sub(spec, 1, 1) == 'v' and NEAR .. index
	end
	return sets[index]
end

local function hex(s)
	return '"' .. string.gsub(s, '.', function(c) return string.format('%02x', string.byte(c)) end) .. '"'
end

-- attributes returns those of an element, as JSON.
local function attributes(place, entries)
	local namespace = string.sub(place, 1, string.find(place, '\0\0', 1, true) - 1)
	local above, all, at = {}, {}, 0
	while at < #namespace do
		at = select(2, string.find(namespace, '\0\1', at + 1, true))
		above[#above + 1] = hex(string.sub(namespace, 1, at))
	end
	for i, form in ipairs(forms(entries)) do
		all[i] = hex(form)
	end
	return '{"x":' .. hex(namespace) .. ',"n":[' .. table.concat(above, ',') .. '],"e":[' .. table.concat(all, ',') .. ']}'
end

-- elements calls f for each vector that has a vector set.
local function elements(place, vectors, f)
	local at, number = 1, 0
	while at <= #vectors do
		local n = string.byte(vectors, at + 16)
		local key = vectorset(string.sub(vectors, at + 17, at + 16 + n))
		local from = at + 19 + n
		at, number = from + 4 * struct.unpack('<I2', vectors, from - 2), number + 1
		if key then
			f(key, place .. string.char(number), string.sub(vectors, from, at - 1))
		end
	end
end

-- move makes the elements of an item those of after instead of those of before.
local function move(place, before, after, entries)
	local json = after ~= '' and attributes(place, entries)
	if before == after then
		elements(place, after, function(key, element) call('VSETATTR', key, element, json) end)
		return
	end
	elements(place, before, function(key, element) call('VREM', key, element) end)
	elements(place, after, function(key, element, values)
		call('VADD', key, 'FP32', values, element, 'NOQUANT', 'SETATTR', json)
	end)
end

-- spell makes the words of an item those of after instead of those of before.
local function spell(place, before, after)
	local kept = {}
	local function each(texts, f)
		local at = 1
		while at <= #texts do
			if #texts < at + 9 then
				error('damaged: the words of an item of the store')
			end
			local n = struct.unpack('>I2', texts, at)
			f(string.sub(texts, at + 2, at + 1 + n) .. place .. string.sub(texts, at + 2 + n, at + 9 + n))
			at = at + 10 + n
		end
	end
	each(before, function(member) kept[member] = false end)
	each(after, function(member)
		if kept[member] == nil then
			call('ZADD', WORDS, '0', member)
		end
		kept[member] = true
	end)
	for member, keep in pairs(kept) do
		if not keep then
			call('ZREM', WORDS, member)
		end
	end
end

-- remove removes a stored item.
local function remove(place, it)
	call('HDEL', META, place)
	call('HDEL', VALUE, place)
	if it.v == 'v' then
		move(place, call('HGET', VECTORS, place) or '', '')
		call('HDEL', VECTORS, place)
	end
	if it.t == 't' then
		spell(place, call('HGET', TEXTS, place) or '', '')
		call('HDEL', TEXTS, place)
	end
	call('ZREM', ITEMS, place)
	call('ZREM', EXPIRES, place)
	replace(place, it.entries, '')
end
