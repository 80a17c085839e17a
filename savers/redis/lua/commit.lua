-- Stores a plain commit: one record of a run that knows the log's head as it is stored, without writes, with no
-- pending writes to drop and no lease to renew. All names and values come from the saver, since what a script does
-- itself is most of what it costs. Whatever is different is left, untouched, to append.lua.
--
-- ARGV: the fields of fence, head, new entry and the base's pending writes; what open, fence and head are; then fields
-- and values to store.

local m = redis.call('HMGET', KEYS[1], 'open', ARGV[1], ARGV[2], ARGV[4], 'posted')
if m[1] == ARGV[5] and m[2] == ARGV[6] and m[3] == ARGV[7] and not m[4] then
	redis.call('HSET', KEYS[1], ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[2], ARGV[12], ARGV[3], ARGV[13])
	return { 'ok', m[5] or '0' }
end
return { 'other' }
