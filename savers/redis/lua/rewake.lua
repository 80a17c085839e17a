-- Sets when a thread is due, if the fence is that of its newest run, no message has come, and no run holds it.
--
-- ARGV: fence, number of the newest message, wake: 0 for never, a time in the past for now; ttl in milliseconds or '', what was
-- announced to the index (see announced of common.lua), and the stamp of that; birth or none.

local now = clock()
local open, first, last = thread()
local m = call('HMGET', key, 'id', 'posted', 'graph', 'priority', 'birth')
if not m[1] or open == 0 and (m[2] or '0') == '0' then
	return { 'missing', last >= first and '1' or '' }
end
local v = int(open) .. ':'
local held = open > 0 and call('HGET', key, v .. 'fence') or NONE
if held ~= ARGV[1] then
	return { 'conflict', 'fence', held }
end
local other = open > 0 and busy(v, now)
if other then
	return other
end
if (m[2] or '0') ~= ARGV[2] then
	return { 'posted' }
end
if not isBirth(ARGV[7], m[5]) then
	return { 'conflict', 'birth', m[5] or '' }
end
local wake = wakeAt(ARGV[3], now)
if not announced(ARGV[5], queue(m[4], m[3]), wake) then
	return { 'announce', queue(m[4], m[3]) }
end
if ARGV[5] ~= '' then
	call('HSET', key, 'stamp', ARGV[6])
end
call('HSET', key, 'wake', wake)
local s = open > 0 and call('HMGET', key, v .. 'status', v .. 'ended') or { DONE, '1' }
expire(ARGV[4], s[1], s[2], now)
return { 'ok' }
