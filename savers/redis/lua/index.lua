-- Keeps the index of threads, which is a hint: a thread is in it before its run opens, and leaves it only when what it
-- left behind is known, or is old. It is not common.lua's hash.
--
-- The creation times are those of the threads, except for the unplaced ones: these were perhaps created since, or created again.
-- A thread becomes unplaced before any call that can create it. Who has read the creation time afterwards places it.
--
-- KEYS: all threads, those that are not done, the stamps, the creation times, the unplaced threads, and further sets: those of the
-- graph and the labels of the thread to add, and last the wakes of the graph if there is one to lower. ARGV: thread id and stamp to
-- add, or '' and ''; the wake to lower to, or '': 'in' and microseconds from now, or 'at' and a time, in the past for now; '1' if the
-- call can create the thread; then three for each thread to change: its id, the stamp that it must have still, and what to do: 'a' to
-- remove it whole, 'l' from those not done, 's' from the sixth set, 'c' and a creation time to place it, 'p' and one to set the time
-- only. It returns how many threads to place had another stamp.

local function call(...) return redis.call(...) end
local NONE = string.rep('\0', 16)
local t = call('TIME')
if ARGV[1] ~= '' then
	call('ZADD', KEYS[1], 0, ARGV[1])
	call('ZADD', KEYS[2], 0, ARGV[1])
	call('HSET', KEYS[3], ARGV[1], ARGV[2] .. t[1])
	if ARGV[4] == '1' or not call('ZSCORE', KEYS[4], ARGV[1]) then
		call('ZADD', KEYS[5], 0, ARGV[1])
	end
	for i = 6, ARGV[3] == '' and #KEYS or #KEYS - 1 do
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
local missed = 0
for i = 5, #ARGV, 3 do
	local id, stamp, act = ARGV[i], call('HGET', KEYS[3], ARGV[i]), string.sub(ARGV[i + 2], 1, 1)
	local same = string.sub(stamp or NONE, 1, 16) == ARGV[i + 1]
	if act == 'c' or act == 'p' then
		if same then
			call('ZADD', KEYS[4], string.sub(ARGV[i + 2], 2), id)
		else
			missed = missed + 1
		end
		if same and act == 'c' then
			call('ZREM', KEYS[5], id)
		end
	elseif act == 's' then
		if same then
			call('ZREM', KEYS[6], id)
		end
	elseif same then
		call('ZREM', KEYS[2], id)
		if act == 'a' then
			call('ZREM', KEYS[1], id)
			call('HDEL', KEYS[3], id)
			call('ZREM', KEYS[4], id)
			call('ZREM', KEYS[5], id)
		end
	end
end
return { 'ok', string.format('%.0f', missed) }
