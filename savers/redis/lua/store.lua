-- What the scripts of the store share. All keys of a store have one tag, so a batch on any of its items is atomic, and a
-- store is in one slot of a cluster. The keys, with prefix{prefix store}: before each:
--
--   head     hash: format, and last, a number that no later version of an item which is not there now is below
--   items    sorted set by bytes: the places of all items. A place is Namespace.Append, 00 00 and the key, so places sort
--            as Find does, and the first 00 00 of a place ends its namespace
--   meta     hash by place: "version created updated expires ttl " and the index entries, each as two bytes of length and
--            its form. Times in microseconds; expires 0 is never, ttl 0 is an end that a read does not move
--   value    hash by place: the value and a checksum of place and value
--   index    sorted set by bytes: namespace, 00 00, form and key of each index entry
--   values   sorted set by bytes: form and place of each index entry
--   expires  sorted set by time: the places of items that expire
--   once     hash of the uses of Once: the version that the first use returned
--   used     sorted set by time: the fields of once
--   vectors  hash by place: the vectors of the item. For each, the hash of its text, the index with a byte of length before
--            it, two bytes of dimensions and the numbers, of 4 bytes, little-endian
--   specs    hash by vector index: its dimensions, a space and its model
--   changes  not a key, but the channel of notifications: a message is the namespace of all items that a batch has changed,
--            or empty if there are several
--
-- The form of an index entry is AppendPart of the index and AppendPart of the value.

local HEAD, ITEMS, META, VALUE, INDEX, VALUES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local EXPIRES, ONCE, USED, VECTORS = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local FORMAT = '1'
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
	local version, created, updated, expires, ttl, at = string.match(m, '^(%d+) (%d+) (%d+) (%d+) (%d+) ()')
	if not version then
		error('damaged: the head of an item of the store')
	end
	return {
		version = version, created = created, updated = updated, expires = expires, ttl = ttl, entries = string.sub(m, at),
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

-- remove removes a stored item.
local function remove(place, it)
	call('HDEL', META, place)
	call('HDEL', VALUE, place)
	call('HDEL', VECTORS, place)
	call('ZREM', ITEMS, place)
	call('ZREM', EXPIRES, place)
	replace(place, it.entries, '')
end
