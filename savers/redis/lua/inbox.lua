-- The inbox of the thread, for the scripts that read or change it.

-- KEPT is how many taken and refused messages the thread keeps.
local KEPT = 1000
local INPUT, CANCEL, WAKE = '1', '4', '5'

-- The numbers of the untaken messages are in fields mu:<chunk>, one for each 256 numbers, with a byte for each number that is there; and
-- the field mu has six bytes for each chunk. Both are in order.

-- part returns the i-th part of a string, from 0, as a number.
local function part(s, i, width)
	if width == 1 then
		return string.byte(s, i + 1)
	end
	return (struct.unpack('>I6', s, i * 6 + 1))
end

-- at returns where among the parts of a string a number is, or belongs, from 0; and whether it is there.
local function at(s, n, width)
	local low, high = 0, #s / width
	while low < high do
		local mid = math.floor((low + high) / 2)
		if part(s, mid, width) < n then
			low = mid + 1
		else
			high = mid
		end
	end
	return low, low < #s / width and part(s, low, width) == n
end

-- insert adds a number to a field. It reports whether it was not there, and whether the field was empty.
local function insert(field, n, width)
	local s = call('HGET', key, field) or ''
	local i, there = at(s, n, width)
	if there then
		return false, false
	end
	call('HSET', key, field, string.sub(s, 1, i * width) .. struct.pack(width == 1 and 'B' or '>I6', n) .. string.sub(s, i * width + 1))
	return true, s == ''
end

-- cut removes a number from a field. It reports whether it was there, and whether the field is empty now.
local function cut(field, n, width)
	local s = call('HGET', key, field) or ''
	local i, there = at(s, n, width)
	if not there then
		return false, false
	end
	if #s == width then
		call('HDEL', key, field)
		return true, true
	end
	call('HSET', key, field, string.sub(s, 1, i * width) .. string.sub(s, (i + 1) * width + 1))
	return true, false
end

-- include notes that a message is untaken, and exclude that it is not. They report whether that is new.
local function include(n)
	local chunk = math.floor(n / 256)
	local added, first = insert('mu:' .. int(chunk), n - chunk * 256, 1)
	if first then
		insert('mu', chunk, 6)
	end
	return added
end

local function exclude(n)
	local chunk = math.floor(n / 256)
	local there, last = cut('mu:' .. int(chunk), n - chunk * 256, 1)
	if last then
		cut('mu', chunk, 6)
	end
	return there
end

-- untaken calls f with the number of each untaken message after one, in order, until f returns true. f may take messages.
local function untaken(after, f)
	local chunks = call('HGET', key, 'mu') or ''
	for i = 0, #chunks / 6 - 1 do
		local chunk = part(chunks, i, 6)
		local s = chunk * 256 + 255 > after and call('HGET', key, 'mu:' .. int(chunk)) or ''
		for j = 0, #s - 1 do
			local n = chunk * 256 + part(s, j, 1)
			if n > after and f(n) then
				return
			end
		end
	end
end

-- count notes that the number of untaken messages of a kind has changed.
local function count(kind, by)
	call('HINCRBY', key, kind == INPUT and 'inputs' or 'others', by)
	if kind == CANCEL then
		call('HINCRBY', key, 'cancels', by)
	end
end

-- header joins what m:<number> holds. place is where the message is among those that were taken and refused, 0 for an untaken one.
local function header(state, kind, place, id, reason, rest)
	return state .. kind .. struct.pack('>I6I2c0I2c0', place, #id, id, #reason, reason) .. rest
end

-- parts returns what a header has.
local function parts(m)
	local place, id, reason, at = struct.unpack('>I6I2c0I2c0', m, 3)
	return { state = string.sub(m, 1, 1), kind = string.sub(m, 2, 2), place = place, id = id, reason = reason, rest = string.sub(m, at) }
end

local function message(n) return parts(call('HGET', key, 'm:' .. int(n))) end

-- keep notes that a message was taken or refused, as the last one.
local function keep(n, m)
	local place = call('HINCRBY', key, 'tlast', 1)
	call('HINCRBY', key, 'kept', 1)
	call('HSET', key, 'm:' .. int(n), header(m.state, m.kind, place, m.id, m.reason, m.rest), 't:' .. int(place), int(n))
end

-- handle takes a message, state t, or refuses it, state r.
local function handle(n, state, reason)
	if not exclude(n) then
		return
	end
	local m = message(n)
	m.state, m.reason = state, reason
	keep(n, m)
	if state == 't' then
		call('HDEL', key, 'b:' .. int(n))
	end
	count(m.kind, -1)
end

-- give returns a message to the inbox.
local function give(n, body)
	local s = call('HGET', key, 'm:' .. int(n))
	local m = s and parts(s)
	if not m or m.state == 'u' then
		return
	end
	call('HSET', key, 'm:' .. int(n), header('u', m.kind, 0, m.id, '', m.rest), 'b:' .. int(n), body)
	call('HDEL', key, 't:' .. int(m.place))
	call('HINCRBY', key, 'kept', -1)
	include(n)
	count(m.kind, 1)
end

-- forget removes those of the taken and refused messages that are too many, the first ones.
local function forget()
	local over, gone = (tonumber(call('HGET', key, 'kept')) or 0) - KEPT, {}
	if over <= 0 then
		return
	end
	call('HINCRBY', key, 'kept', -over)
	local place = tonumber(call('HGET', key, 'tfirst')) or 1
	while over > 0 do
		local field = 't:' .. int(place)
		local n = call('HGET', key, field)
		if n then -- not given back
			for _, name in ipairs({ field, 'm:' .. n, 'b:' .. n, 'M:' .. message(tonumber(n)).id }) do
				gone[#gone + 1] = name
			end
			over = over - 1
		end
		place = place + 1
	end
	call('HSET', key, 'tfirst', int(place))
	del(gone)
end

-- handled returns the numbers of the taken and refused messages, in order.
local function handled()
	local m = call('HMGET', key, 'tfirst', 'tlast')
	local all, last = {}, tonumber(m[2]) or 0
	for from = tonumber(m[1]) or 1, last, PORTION do
		local fields = {}
		for place = from, math.min(last, from + PORTION - 1) do
			fields[#fields + 1] = 't:' .. int(place)
		end
		for _, n in ipairs(call('HMGET', key, unpack(fields))) do
			all[#all + 1] = n and tonumber(n) or nil
		end
	end
	table.sort(all)
	return all
end

-- What a write does with messages is read from ARGV: '' for nothing, else '1' and three lists, each with its length before it: numbers
-- to give back and bodies; numbers to take; numbers to refuse and reasons.

-- actsOf returns what ARGV says from i on, and where the next argument is: number, act and body or reason of each.
local function actsOf(i)
	local acts = {}
	if ARGV[i] == '' then
		return acts, i + 1
	end
	i = i + 1
	for _, act in ipairs({ 'u', 't', 'r' }) do
		local length = tonumber(ARGV[i])
		for _ = 1, length do
			acts[#acts + 1] = { tonumber(ARGV[i + 1]), act, act ~= 't' and ARGV[i + 2] or '' }
			i = i + (act == 't' and 1 or 2)
		end
		i = i + 1
	end
	return acts, i
end

-- allUntaken reports whether each message that ARGV says to take or refuse, from i on, is untaken, or was given back by it.
local function allUntaken(i)
	local given = {}
	for _, a in ipairs((actsOf(i))) do
		if a[2] == 'u' then
			given[a[1]] = true
		else
			local m = call('HGET', key, 'm:' .. int(a[1]))
			if not m or string.sub(m, 1, 1) ~= 'u' and not given[a[1]] then
				return false
			end
		end
	end
	return true
end

-- inputsAfter returns how many inputs are untaken after what ARGV says from i on.
local function inputsAfter(i)
	local left, is = tonumber(call('HGET', key, 'inputs')) or 0, {}
	for _, a in ipairs((actsOf(i))) do
		local m = call('HGET', key, 'm:' .. int(a[1]))
		if m and string.sub(m, 2, 2) == INPUT then
			local was = is[a[1]] or string.sub(m, 1, 1)
			if was == 'u' and a[2] ~= 'u' then
				left = left - 1
				is[a[1]] = a[2]
			elseif was ~= 'u' and a[2] == 'u' then
				left = left + 1
				is[a[1]] = 'u'
			end
		end
	end
	return left
end

-- handleAll does what ARGV says from i on, and returns where the next argument is.
local function handleAll(i)
	local acts, next = actsOf(i)
	for _, a in ipairs(acts) do
		if a[2] == 'u' then
			give(a[1], a[3])
		else
			handle(a[1], a[2], a[3])
		end
	end
	if #acts > 0 then
		forget()
	end
	return next
end

-- refuseOthers refuses the messages that are not inputs: their version is released.
local function refuseOthers()
	if (tonumber(call('HGET', key, 'others')) or 0) == 0 then
		return
	end
	untaken(0, function(n)
		if string.sub(call('HGET', key, 'm:' .. int(n)), 2, 2) ~= INPUT then
			handle(n, 'r', 'the version of the thread was released')
		end
	end)
	forget()
end

-- deliver adds a message under a number that none has.
local function deliver(n, m, body)
	call('HSET', key, 'M:' .. m.id, int(n))
	if body ~= '' then
		call('HSET', key, 'b:' .. int(n), body)
	end
	if m.state ~= 'u' then
		return keep(n, m)
	end
	call('HSET', key, 'm:' .. int(n), header('u', m.kind, 0, m.id, '', m.rest))
	include(n)
	count(m.kind, 1)
end
