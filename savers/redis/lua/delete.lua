-- Deletes the thread, all versions of it. With a time, only if its open version is Done or Cancelled, was updated before that
-- time, and no message waits.
--
-- ARGV: the time, or ''

local open = thread()
if open > 0 then
	local held = busy(int(open) .. ':', clock())
	if held then
		return held
	end
end
if ARGV[1] ~= '' then
	local v = int(open) .. ':'
	local m = call('HMGET', key, v .. 'status', v .. 'updated', 'inputs', 'others')
	local untaken = (tonumber(m[3]) or 0) + (tonumber(m[4]) or 0)
	if open == 0 or m[1] ~= DONE and m[1] ~= CANCELLED or untaken > 0 or tonumber(m[2] or '0') >= tonumber(ARGV[1]) then
		return { 'stays' }
	end
end
local stamp = call('HGET', key, 'stamp') or ''
call('UNLINK', key)
return { 'ok', stamp }
