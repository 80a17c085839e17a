-- Releases the open version.
--
-- ARGV: head id or none, ttl in milliseconds or '', a token of this call: when its answer got lost it is asked again.

local now = clock()
local open, first, last = thread()
local function released(n)
	local v = int(n) .. ':'
	local m = call('HMGET', key, v .. 'released', v .. 'n:', v .. 'status', 'stamp')
	return { 'ok', int(n), m[1], m[2] or '', m[3] or '0', m[4] or '' }
end
if open == 0 then
	if last >= first and call('HGET', key, int(last) .. ':releaser') == ARGV[3] then
		return released(last)
	end
	return { 'absent' }
end
local v = int(open) .. ':'
local held = busy(v, now)
if held then
	return held
end
local l = log(call('HGET', key, v .. 'n:'))
local head = l and l.id or NONE
if ARGV[1] ~= NONE and ARGV[1] ~= head then
	return { 'conflict', 'head', head }
end
call('HSET', key, 'open', '0', v .. 'released', int(now), v .. 'releaser', ARGV[3], v .. 'wake', '0', v .. 'attempts', '0',
	v .. 'rev', int((tonumber(call('HGET', key, v .. 'rev')) or 0) + 1))
expire(ARGV[2], DONE, '1', now)
return released(open)
