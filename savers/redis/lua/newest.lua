-- Lists a page of the threads by their creation time, newest first, each with its stamp, how many seconds old that is, and its
-- creation time. Threads of one time are in descending order of their ids, by bytes.
--
-- KEYS: the creation times, the stamps, and the set that the threads are in, if it is not that of all. ARGV: the time from which on
-- threads are listed, or '-inf'; the one up to which, without threads of that time, or '+inf'; the time and the id of the thread that
-- the page follows, or '' and ''; how many; how many to look at; the prefix of their ids. The last thread of the answer says where
-- the next page begins, '' if there is none.

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
last = math.min(last, first + tonumber(ARGV[6])) - 1
local all, want, prefix, at = { 'ok' }, tonumber(ARGV[5]), ARGV[7], 1
local now = tonumber(redis.call('TIME')[1])
local found = first <= last and redis.call('ZREVRANGE', times, first, last, 'WITHSCORES') or {}
while at < #found and want > 0 do
	local id = found[at]
	if string.sub(id, 1, #prefix) == prefix and (not KEYS[3] or redis.call('ZSCORE', KEYS[3], id)) then
		local stamp = redis.call('HGET', KEYS[2], id) or ''
		all[#all + 1] = id
		all[#all + 1] = string.sub(stamp, 1, 16)
		all[#all + 1] = string.format('%.0f', now - (tonumber(string.sub(stamp, 17)) or 0))
		all[#all + 1] = string.format('%.0f', tonumber(found[at + 1]))
		want = want - 1
	end
	at = at + 2
end
local more = at > 1 and (want == 0 or #found == 2 * tonumber(ARGV[6]))
all[#all + 1] = more and found[at - 2] or ''
all[#all + 1] = ''
all[#all + 1] = '0'
all[#all + 1] = more and string.format('%.0f', tonumber(found[at - 1])) or '0'
return all
