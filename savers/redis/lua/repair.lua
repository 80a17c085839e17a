-- Adds to the index what a thread says of itself. It removes and raises nothing. It lowers a wake only if that is neither the end
-- of a lease nor of a reservation.
--
-- KEYS: all threads, those that are not done, the stamps, the creation times, the unplaced threads, and further sets: those of the graph and the labels of the thread, and last the
-- wakes of the graph. ARGV: thread id; '1' if it is not done; its stamp; its wake, or 0; the end of its lease, or 0; how long a
-- reservation lasts, in microseconds.

local t = redis.call('TIME')
redis.call('ZADD', KEYS[1], 0, ARGV[1])
if ARGV[2] == '1' then
	redis.call('ZADD', KEYS[2], 0, ARGV[1])
end
for i = 6, #KEYS - 1 do
	redis.call('ZADD', KEYS[i], 0, ARGV[1])
end
if not redis.call('ZSCORE', KEYS[4], ARGV[1]) then
	redis.call('ZADD', KEYS[5], 0, ARGV[1]) -- a listing places it
end
if not redis.call('HGET', KEYS[3], ARGV[1]) then
	redis.call('HSET', KEYS[3], ARGV[1], ARGV[3] .. t[1])
end
local old = redis.call('ZSCORE', KEYS[#KEYS], ARGV[1])
local most = math.max(tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(t[1]) * 1000000 + tonumber(t[2]) + tonumber(ARGV[6]))
if ARGV[4] ~= '0' and (not old or tonumber(old) > most) then
	redis.call('ZADD', KEYS[#KEYS], ARGV[4], ARGV[1])
end
return { 'ok' }
