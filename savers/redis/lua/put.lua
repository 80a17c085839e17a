-- Stores pending writes under the fence.
--
-- ARGV: flags (e ends, p progress), fence, status or '', lease in microseconds, ttl in milliseconds or '', wake for an
-- end; then the writes.

local flags, fence, status, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
local now = clock()
local open, first, last = thread()
if open == 0 then
	return { 'missing', last >= first and '1' or '' }
end
local v = int(open) .. ':'
local m = call('HMGET', key, v .. 'fence', v .. 'rev', v .. 'status')
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
if status ~= '' then
	put(v .. 'status', status)
end
if has(flags, 'e') then
	put(v .. 'ended', '1')
	put(v .. 'updated', int(now))
	put(v .. 'wake', wakeAt(ARGV[6], now))
	if (status ~= '' and status or m[3]) ~= FAILED then
		put(v .. 'attempts', '0')
	end
end
if has(flags, 'p') then
	put(v .. 'attempts', '0')
end
set(sets)
storeAll(v, 7)
if has(flags, 'e') or status ~= '' then
	local s = call('HMGET', key, v .. 'status', v .. 'ended')
	expire(ttl, s[1], s[2], now)
end
return { 'ok', m[3] == DONE and status ~= '' and status ~= DONE and '1' or '', has(flags, 'e') and call('HGET', key, 'stamp') or '' }
