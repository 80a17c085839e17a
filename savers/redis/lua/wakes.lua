-- Corrects the index of wakes of a graph, and reads its first entries. An entry changes only if it has still the wake that
-- the caller read or wrote, and the stamp that the caller read: another caller may have lowered it, or may be about to change the
-- thread.
--
-- KEYS: the wakes, the stamps. ARGV: how many entries to read after the first; then four for each to change: thread id, its wake in
-- the index, its stamp, the right wake or '' to remove it.

for i = 2, #ARGV, 4 do
	local old = redis.call('ZSCORE', KEYS[1], ARGV[i])
	local stamp = string.sub(redis.call('HGET', KEYS[2], ARGV[i]) or '', 1, 16)
	if old and tonumber(old) == tonumber(ARGV[i + 1]) and stamp == ARGV[i + 2] then
		if ARGV[i + 3] == '' then
			redis.call('ZREM', KEYS[1], ARGV[i])
		else
			redis.call('ZADD', KEYS[1], ARGV[i + 3], ARGV[i])
		end
	end
end
local all = { 'ok' }
for i, value in ipairs(redis.call('ZRANGE', KEYS[1], '0', ARGV[1], 'WITHSCORES')) do
	all[i + 1] = i % 2 == 0 and string.format('%.0f', tonumber(value)) or value
end
return all
