-- Reads the index of wakes of a graph: threads that may be due, each with its priority, its wake, its stamp and how many seconds
-- old that is. It moves these to the end of a reservation, so that no other caller looks at them meanwhile. The index is a hint:
-- who finds a thread looks at it.
--
-- The member '' is not a thread. Its score says when the index was last repaired: then it was complete. Without it, the key has
-- been lost. Who is answered '1', and nothing else, is to repair it; others are not for the time of a claim.
--
-- A call moves more threads than it returns, and gives the others their wakes back by wakes.lua. Until then the held wakes say
-- when they are due, so that nobody else believes that they are not.
--
-- KEYS: the wakes of each priority, the stamps, the held wakes. ARGV: a reservation in microseconds, 0 for none; how long a repair and a claim last, in
-- microseconds; then for each priority from which wake on, and how many.

local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local function int(n) return string.format('%.0f', n) end
local FAR = 4e15 -- no wake, but still exact
local lost = ''
for i = 1, #KEYS - 2 do
	local repaired = tonumber(redis.call('ZSCORE', KEYS[i], '') or 0) - FAR
	if now - repaired > tonumber(ARGV[2]) then
		lost = '1'
		redis.call('ZADD', KEYS[i], int(FAR + now - tonumber(ARGV[2]) + tonumber(ARGV[3])), '')
	end
end
if lost ~= '' then
	return { 'ok', int(now), lost, '0' }
end
local to = int(now + tonumber(ARGV[1]))
local all = { 'ok', int(now), lost, to }
for p = 1, #KEYS - 2 do
	local found = redis.call('ZRANGEBYSCORE', KEYS[p], ARGV[2 + 2 * p], int(now), 'WITHSCORES', 'LIMIT', '0', ARGV[3 + 2 * p])
	for i = 1, #found, 2 do
		if ARGV[1] ~= '0' then
			redis.call('ZADD', KEYS[p], to, found[i])
			redis.call('ZADD', KEYS[#KEYS], found[i + 1], found[i])
			if redis.call('ZCARD', KEYS[#KEYS]) == 1 then
				redis.call('PEXPIRE', KEYS[#KEYS], '60000') -- for a call that does not end
			end
		end
		local stamp = redis.call('HGET', KEYS[#KEYS - 1], found[i]) or ''
		all[#all + 1] = int(p)
		all[#all + 1] = found[i]
		all[#all + 1] = int(tonumber(found[i + 1]))
		all[#all + 1] = string.sub(stamp, 1, 16)
		all[#all + 1] = int(tonumber(t[1]) - (tonumber(string.sub(stamp, 17)) or 0))
	end
end
return all
