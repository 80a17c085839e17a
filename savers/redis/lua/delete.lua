-- Deletes the thread, all versions of it. With a time, only if its open version is Done or Cancelled or none is open, it was
-- updated before that time, no input waits, and all other messages that wait were posted before that time. It returns the stamp of
-- the thread, and the queue that may have its wake.
--
-- ARGV: the time, or ''

local open, first, last = thread()
if open > 0 then
	local held = busy(int(open) .. ':', clock())
	if held then
		return held
	end
end
if ARGV[1] ~= '' then
	local v = int(open > 0 and open or last) .. ':'
	local m = call('HMGET', key, v .. 'status', v .. 'updated', 'inputs', 'others', 'created')
	local over = open == 0 or m[1] == DONE or m[1] == CANCELLED
	local updated = m[2] or m[5] -- neither if there is no such thread
	if not over or (tonumber(m[3]) or 0) > 0 or not updated or tonumber(updated) >= tonumber(ARGV[1]) then
		return { 'stays' }
	end
	local young = false
	if (tonumber(m[4]) or 0) > 0 then
		untaken(0, function(n)
			young = tonumber(string.match(message(n).rest, '^(%d+):', 17)) >= tonumber(ARGV[1]) -- after the id of the call that posted it
			return young
		end)
	end
	if young then
		return { 'stays' }
	end
end
local m = call('HMGET', key, 'stamp', 'priority', 'graph')
call('UNLINK', key)
return { 'ok', m[1] or '', queue(m[2], m[3]) }
