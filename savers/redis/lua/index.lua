-- Keeps the index of threads, which is a hint: a thread is in it before its run opens, and leaves it only when what it
-- left behind is known, or is old. It is not common.lua's hash.
--
-- KEYS: all threads, those that are not done, the stamps, and further sets: those of the graph and the labels of the thread
-- to add, and last the wakes of the graph if there is one to lower. ARGV: thread id and stamp to add, or '' and ''; the wake
-- to lower to, or '': 'in' and microseconds from now, or 'at' and a time, in the past for now; then three for each to remove: thread id, the stamp that it must
-- have still, and 'a' to remove it whole, 'l' from those not done, 's' from the fourth set.

local function call(...) return redis.call(...) end
local t = call('TIME')
if ARGV[1] ~= '' then
	call('ZADD', KEYS[1], 0, ARGV[1])
	call('ZADD', KEYS[2], 0, ARGV[1])
	call('HSET', KEYS[3], ARGV[1], ARGV[2] .. t[1])
	for i = 4, ARGV[3] == '' and #KEYS or #KEYS - 1 do
		call('ZADD', KEYS[i], 0, ARGV[1])
	end
end
if ARGV[3] ~= '' then
	local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
	local wake = tonumber(string.sub(ARGV[3], 3))
	wake = string.sub(ARGV[3], 1, 2) == 'in' and now + wake or math.max(now, wake)
	local old = call('ZSCORE', KEYS[#KEYS], ARGV[1])
	if not old or tonumber(old) > wake then
		call('ZADD', KEYS[#KEYS], string.format('%.0f', wake), ARGV[1])
	end
end
for i = 4, #ARGV, 3 do
	local stamp = call('HGET', KEYS[3], ARGV[i])
	if ARGV[i + 2] == 's' then
		if string.sub(stamp or '', 1, 16) == (stamp and ARGV[i + 1] or '') then
			call('ZREM', KEYS[4], ARGV[i])
		end
	elseif stamp and string.sub(stamp, 1, 16) == ARGV[i + 1] then
		call('ZREM', KEYS[2], ARGV[i])
		if ARGV[i + 2] == 'a' then
			call('ZREM', KEYS[1], ARGV[i])
			call('HDEL', KEYS[3], ARGV[i])
		end
	end
end
return { 'ok' }
