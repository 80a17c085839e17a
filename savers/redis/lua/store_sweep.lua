-- Removes expired items, and forgets old uses of Once.
--
-- ARGV: the largest number of each; how long uses are remembered, in microseconds.
--
-- Returns 'ok' and the number of removed items.

local last, other = head()
if other then
	return other
end
local now = clock()
local removed = 0
for _, place in ipairs(call('ZRANGEBYSCORE', EXPIRES, '-inf', int(now), 'LIMIT', '0', ARGV[1])) do
	local it = item(place)
	if it and not live(it, now) then
		last = math.max(last, tonumber(it.version))
		remove(place, it)
		removed = removed + 1
	end
end
if removed > 0 then
	call('HSET', HEAD, 'format', FORMAT, 'last', int(last))
end
local old = int(now - tonumber(ARGV[2]))
for _, field in ipairs(call('ZRANGEBYSCORE', USED, '-inf', '(' .. old, 'LIMIT', '0', ARGV[1])) do
	call('HDEL', ONCE, field)
	call('ZREM', USED, field)
end
return { 'ok', int(removed) }
