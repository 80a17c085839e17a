-- Ends a lease, if it is still the one of this fence: its saver closes.
--
-- ARGV: fence.

local open = thread()
local v = int(open) .. ':'
if open > 0 and call('HGET', key, v .. 'fence') == ARGV[1] then
	call('HSET', key, v .. 'until', '0')
end
return { 'ok' }
