-- Runs the operations of a batch, all of them or none.
--
-- ARGV, for each operation: kind, place, the field of once or '', and the condition: '' for none, 'a' for an absent item,
-- or a version. The kinds are g (get), v (get vectors), r (get and refresh), p (put), d (delete) and i (index). A put has
-- more: value, expiry ('' for never, k to keep it, or t and microseconds from now, or e and a time), the index entries as
-- meta has them, the vectors, and the words as texts has them. An index has the entries, the vectors and the words.
--
-- Returns 'ok' and for each operation: '1' if it was found, '1' if it is repeated, version, created, updated, expires, value. Or
-- 'conflict', the number of the operation from 0, and the version that was found.

local last, other = head()
if other then
	return other
end
local now = clock()
local slots, order = {}, {} -- what the batch has made of the items so far
local uses, fields = {}, {}
local puts = false

local function slot(place)
	local s = slots[place]
	if not s then
		local it = item(place)
		s = { place = place, stored = it, it = it }
		slots[place] = s
		order[#order + 1] = s
	end
	return s
end

local function changed(it, expires, entries)
	return {
		version = it.version, created = it.created, updated = it.updated, ttl = it.ttl, v = it.v, t = it.t,
		expires = expires or it.expires, entries = entries or it.entries,
	}
end

local function put(s, value, expiry, entries)
	local old = live(s.it, now) and s.it
	local it = { created = int(now), updated = int(now), expires = '0', ttl = '0', entries = entries }
	if old then
		it.version, it.created = int(tonumber(old.version) + 1), old.created
		it.updated = int(math.max(now, tonumber(old.updated)))
	else
		last = math.max(now, last + 1, s.it and tonumber(s.it.version) + 1 or 0)
		it.version = int(last)
	end
	local how, time = string.sub(expiry, 1, 1), string.sub(expiry, 2)
	if how == 't' then
		it.ttl, it.expires = time, int(tonumber(it.updated) + tonumber(time))
	elseif how == 'e' then
		it.expires = time
	elseif how == 'k' and old then
		it.ttl, it.expires = old.ttl, old.expires
	end
	s.it, s.value, s.dirty, puts = it, value, true, true
end

-- contents gives an item vectors and words.
local function contents(s, vectors, texts)
	s.vectors, s.texts = vectors, texts
	s.it.v, s.it.t = vectors ~= '' and 'v' or '', texts ~= '' and 't' or ''
end

local function reply(all, found, repeated, it, value)
	it = it or { version = '0', created = '0', updated = '0', expires = '0' }
	local n = #all
	all[n + 1], all[n + 2] = found and '1' or '', repeated and '1' or ''
	all[n + 3], all[n + 4], all[n + 5], all[n + 6] = it.version, it.created, it.updated, it.expires
	all[n + 7] = value or ''
end

local all, at, count = { 'ok' }, 1, 0
while at <= #ARGV do
	local kind, place, once, condition = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
	at = at + 4
	local value, expiry, entries, vectors, texts
	if kind == 'p' then
		value, expiry = ARGV[at], ARGV[at + 1]
		at = at + 2
	end
	if kind == 'p' or kind == 'i' then
		entries, vectors, texts = ARGV[at], ARGV[at + 1], ARGV[at + 2]
		at = at + 3
	end
	local s = slot(place)
	local found = live(s.it, now)
	local use = once ~= '' and (uses[once] or call('HGET', ONCE, once))
	if use then
		reply(all, false, true, { version = use, created = '0', updated = '0', expires = '0' })
	elseif kind == 'g' or kind == 'r' then
		if found and kind == 'r' and s.it.ttl ~= '0' then
			s.it, s.dirty = changed(s.it, int(now + tonumber(s.it.ttl))), true
		end
		reply(all, found, false, found and s.it, found and (s.value or call('HGET', VALUE, place)))
	elseif kind == 'v' then
		reply(all, found, false, found and s.it, found and s.it.v == 'v' and (s.vectors or call('HGET', VECTORS, place)))
	else
		local version = found and s.it.version or '0'
		local missing = kind == 'i' and not found
		if condition == 'a' and found or condition ~= '' and condition ~= 'a' and condition ~= version and not missing then
			return { 'conflict', int(count), version }
		end
		local it = found and s.it
		if kind == 'p' then
			put(s, value, expiry, entries)
			it = s.it
			contents(s, vectors, texts)
		elseif found and kind == 'd' then
			last = math.max(last, tonumber(version))
			s.it, s.dirty = nil, true
		elseif found then
			s.it, s.dirty = changed(s.it, nil, entries), true
			it = s.it
			contents(s, vectors, texts)
		end
		reply(all, found, false, it)
		if once ~= '' then
			uses[once] = kind == 'p' and it.version or '0'
			fields[#fields + 1] = once
		end
	end
	count = count + 1
end

-- Without memory for more, the first command that needs some fails, and what was written before stays. So a batch with a put
-- begins with such a command. One that only removes does not need any.
if puts or #fields > 0 then
	call('HSET', HEAD, 'format', FORMAT, 'last', int(last))
end
for _, field in ipairs(fields) do
	call('HSET', ONCE, field, uses[field])
	call('ZADD', USED, int(now), field)
end
local removed, namespace = false, nil -- of all changes, '' for several
for _, s in ipairs(order) do
	local it, stored = s.it, s.stored
	if s.dirty then
		local at = string.sub(s.place, 1, string.find(s.place, '\0\0', 1, true) - 1)
		namespace = (namespace == nil or namespace == at) and at or ''
	end
	if s.dirty and it then
		call('HSET', META, s.place, table.concat({ it.version, it.created, it.updated, it.expires, it.ttl .. it.v .. it.t, it.entries }, ' '))
		if s.value then
			call('HSET', VALUE, s.place, s.value)
		end
		if s.vectors then
			local before = stored and stored.v == 'v' and call('HGET', VECTORS, s.place) or ''
			if s.vectors ~= '' then
				call('HSET', VECTORS, s.place, s.vectors)
			elseif before ~= '' then
				call('HDEL', VECTORS, s.place)
			end
			if before ~= '' or s.vectors ~= '' then
				move(s.place, before, s.vectors, it.entries)
			end
		end
		if s.texts then
			local before = stored and stored.t == 't' and call('HGET', TEXTS, s.place) or ''
			if s.texts ~= '' then
				call('HSET', TEXTS, s.place, s.texts)
			elseif before ~= '' then
				call('HDEL', TEXTS, s.place)
			end
			spell(s.place, before, s.texts)
		end
		if not stored then
			call('ZADD', ITEMS, '0', s.place)
		end
		if it.expires ~= '0' then
			call('ZADD', EXPIRES, it.expires, s.place)
		elseif stored and stored.expires ~= '0' then
			call('ZREM', EXPIRES, s.place)
		end
		replace(s.place, stored and stored.entries or '', it.entries)
	elseif s.dirty and stored then
		remove(s.place, stored)
		removed = true
	end
end
if removed and not puts then
	call('HSET', HEAD, 'format', FORMAT, 'last', int(last))
end
if namespace then
	call('PUBLISH', KEYS[12], namespace)
end
return all
