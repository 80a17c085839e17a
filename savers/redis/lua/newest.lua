-- Lists a page of the threads by their creation time, newest first, each with its stamp, how many seconds old that is, and its
-- creation time. Threads of one time are in descending order of their ids, by bytes.
--
-- KEYS: the creation times, the stamps. ARGV: the time from which on threads are listed, or '-inf'; the one up to which, without
-- threads of that time, or '+inf'; the time and the id of the thread that the page follows, or '' and ''; how many.

local times = KEYS[1]
local function count(from, to) return redis.call('ZCOUNT', times, from, to) end

-- below reports whether a is before b, by bytes. The operator < would compare in the locale of the server.
local function below(a, b)
	for i = 1, math.min(#a, #b) do
		local x, y = string.byte(a, i), string.byte(b, i)
		if x ~= y then
			return x < y
		end
	end
	return #a < #b
end

-- following returns the rank of the first thread after one of a time and an id, which need not exist.
local function following(time, id)
	local newer = count('(' .. time, '+inf')
	local low, high = newer, newer + count(time, time)
	while low < high do
		local mid = math.floor((low + high) / 2)
		if below(redis.call('ZREVRANGE', times, mid, mid)[1], id) then
			high = mid
		else
			low = mid + 1
		end
	end
	return low
end

local first, last = 0, count(ARGV[1], '+inf')
if ARGV[2] ~= '+inf' then
	first = count(ARGV[2], '+inf')
end
if ARGV[3] ~= '' then
	first = math.max(first, following(ARGV[3], ARGV[4]))
end
last = math.min(last, first + tonumber(ARGV[5])) - 1
local all = { 'ok' }
if first > last then
	return all
end
local now = tonumber(redis.call('TIME')[1])
local found = redis.call('ZREVRANGE', times, first, last, 'WITHSCORES')
for i = 1, #found, 2 do
	local stamp = redis.call('HGET', KEYS[2], found[i]) or ''
	all[#all + 1] = found[i]
	all[#all + 1] = string.sub(stamp, 1, 16)
	all[#all + 1] = string.format('%.0f', now - (tonumber(string.sub(stamp, 17)) or 0))
	all[#all + 1] = string.format('%.0f', tonumber(found[i + 1]))
end
return all
