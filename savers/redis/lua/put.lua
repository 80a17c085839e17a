-- Stores pending writes under the fence.
--
-- ARGV: flags (e ends, p progress), fence, status or '', lease in microseconds, ttl in milliseconds or '', wake for an
-- end, what was announced to the index (see announced of common.lua) and the stamp of that, number of the newest message that the run knows; then
-- the messages that are handled (see inbox.lua), and the writes.

local flags, fence, status, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
local now = clock()
local open, first, last = thread()
if open == 0 then
	return { 'missing', last >= first and '1' or '' }
end
local v = int(open) .. ':'
local m = call('HMGET', key, v .. 'fence', v .. 'rev', v .. 'status', 'posted', 'graph', 'priority')
local held = m[1] or NONE
if held == NONE or held ~= fence then
	return { 'conflict', 'fence', held }
end
local lease = now + tonumber(ARGV[4])
local sets = { v .. 'until', int(lease), v .. 'rev', int((tonumber(m[2]) or 0) + 1) }
local function put(field, value)
	sets[#sets + 1] = field
	sets[#sets + 1] = value
end
local wake = '0'
if has(flags, 'e') then
	local late = (tonumber(m[4]) or 0) > tonumber(ARGV[9])
	wake = late and int(now) or wakeAt(ARGV[6], now)
	if not announced(ARGV[7], queue(m[6], m[5]), late and '' or wake) then
		return { 'announce', queue(m[6], m[5]) }
	end
end
if ARGV[7] ~= '' then
	put('stamp', ARGV[8])
end
if status ~= '' then
	put(v .. 'status', status)
end
if has(flags, 'e') then
	put(v .. 'ended', '1')
	put(v .. 'updated', int(now))
	put('wake', wake)
	if (status ~= '' and status or m[3]) ~= FAILED then
		put('attempts', '0')
	end
end
if has(flags, 'p') then
	put('attempts', '0')
end
set(sets)
storeAll(v, handleAll(10))
if has(flags, 'e') or status ~= '' then
	local s = call('HMGET', key, v .. 'status', v .. 'ended')
	expire(ttl, s[1], s[2], now)
end
return {
	'ok', m[3] == DONE and status ~= '' and status ~= DONE and '1' or '', has(flags, 'e') and call('HGET', key, 'stamp') or '',
	m[4] or '0', wake ~= '0' and '1' or '',
}
