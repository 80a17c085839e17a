-- Reads the index of wakes of a graph: threads that may be due, each with its wake. It moves these to the end of a
-- reservation, so that no other caller looks at them meanwhile. The index is a hint: who finds a thread looks at it.
--
-- KEYS: the wakes. ARGV: a reservation in microseconds, 0 for none; from which wake on; how many.

local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local function int(n) return string.format('%.0f', n) end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[2], int(now), 'WITHSCORES', 'LIMIT', '0', ARGV[3])
local to = int(now + tonumber(ARGV[1]))
if ARGV[1] ~= '0' then
	for i = 1, #found, 2 do
		redis.call('ZADD', KEYS[1], to, found[i])
	end
end
local all = { 'ok', int(now), to }
for i = 1, #found, 2 do
	all[#all + 1] = found[i]
	all[#all + 1] = int(tonumber(found[i + 1]))
end
return all
