-- Releases the open version.
--
-- ARGV: head id or none, ttl in milliseconds or '', a token of this call: when its answer got lost it is asked again; what was
-- announced to the index (see announced of common.lua), and the stamp of that.

local now = clock()
local open, first, last = thread()
local function released(n)
	local v = int(n) .. ':'
	local m = call('HMGET', key, v .. 'released', v .. 'n:', v .. 'status', 'stamp', 'wake')
	return { 'ok', int(n), m[1], m[2] or '', m[3] or '0', m[4] or '', (m[5] or '0') ~= '0' and '1' or '' }
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
local m = call('HMGET', key, 'inputs', 'graph', v .. 'rev', 'priority')
local wake = (tonumber(m[1]) or 0) > 0 and int(now) or '0'
if wake ~= '0' and not announced(ARGV[4], queue(m[4], m[2]), '') then
	return { 'announce', queue(m[4], m[2]) }
end
if ARGV[4] ~= '' then
	call('HSET', key, 'stamp', ARGV[5])
end
call('HSET', key, 'open', '0', v .. 'released', int(now), v .. 'releaser', ARGV[3], 'wake', wake, 'attempts', '0',
	v .. 'rev', int((tonumber(m[3]) or 0) + 1))
refuseOthers()
expire(ARGV[2], DONE, '1', now)
return released(open)
