-- Sets when a thread is due, if the fence is that of its newest run and no run holds it.
--
-- ARGV: fence, wake: 0 for never, a time in the past for now.

local now = clock()
local open, first, last = thread()
if open == 0 then
	return { 'missing', last >= first and '1' or '' }
end
local v = int(open) .. ':'
local held = call('HGET', key, v .. 'fence') or NONE
if held ~= ARGV[1] then
	return { 'conflict', 'fence', held }
end
local other = busy(v, now)
if other then
	return other
end
call('HSET', key, v .. 'wake', wakeAt(ARGV[2], now))
return { 'ok' }
