-- Corrects the index of wakes of a graph, and reads its first entries. An entry changes only if it has still the wake that
-- the caller read or wrote: another caller may have lowered it.
--
-- KEYS: the wakes. ARGV: how many entries to read after the first; then three for each to change: thread id, its wake in the
-- index, the right one or '' to remove it. With 'lower' the second is a wake to lower to; in the past it is now.

local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
for i = 2, #ARGV, 3 do
	local old = redis.call('ZSCORE', KEYS[1], ARGV[i])
	if ARGV[i + 2] == 'lower' then
		local wake = math.max(now, tonumber(ARGV[i + 1]))
		if not old or tonumber(old) > wake then
			redis.call('ZADD', KEYS[1], string.format('%.0f', wake), ARGV[i])
		end
	elseif old and tonumber(old) == tonumber(ARGV[i + 1]) then
		if ARGV[i + 2] == '' then
			redis.call('ZREM', KEYS[1], ARGV[i])
		else
			redis.call('ZADD', KEYS[1], ARGV[i + 2], ARGV[i])
		end
	end
end
local all = { 'ok' }
for i, value in ipairs(redis.call('ZRANGE', KEYS[1], '0', ARGV[1], 'WITHSCORES')) do
	all[i + 1] = i % 2 == 0 and string.format('%.0f', tonumber(value)) or value
end
return all
