-- Corrects the index of wakes of a graph, and reads its first entries. An entry changes only if it has still the wake that
-- the caller read or wrote, and the stamp that the caller read: another caller may have lowered it, or may be about to change the
-- thread.
--
-- KEYS: the wakes of each priority, the stamps, the held wakes. ARGV: how many entries to read after the first of each priority; how many
-- threads the caller holds, and their ids; then five for each to change: priority, thread id, its wake in the index, its stamp, the right
-- wake or '' to remove it.

local NONE = string.rep('\0', 16) -- the stamp of a thread that the index does not have, as callers know it
local holds = tonumber(ARGV[2])
for i = 3, 2 + holds do
	redis.call('ZREM', KEYS[#KEYS], ARGV[i])
end
for i = 3 + holds, #ARGV, 5 do
	local wakes, id = KEYS[tonumber(ARGV[i])], ARGV[i + 1]
	local old = redis.call('ZSCORE', wakes, id)
	local stamp = string.sub(redis.call('HGET', KEYS[#KEYS - 1], id) or NONE, 1, 16)
	if old and tonumber(old) == tonumber(ARGV[i + 2]) and stamp == ARGV[i + 3] then
		if ARGV[i + 4] == '' then
			redis.call('ZREM', wakes, id)
		else
			redis.call('ZADD', wakes, ARGV[i + 4], id)
		end
	end
end
local all = { 'ok' }
for p = 1, #KEYS do
	local sorted = p ~= #KEYS - 1 -- all but the stamps
	for i, value in ipairs(sorted and redis.call('ZRANGE', KEYS[p], '0', ARGV[1], 'WITHSCORES') or {}) do
		all[#all + 1] = i % 2 == 0 and string.format('%.0f', tonumber(value)) or value
	end
end
return all
