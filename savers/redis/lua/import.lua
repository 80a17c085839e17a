-- Makes an imported version the thread's next. One of its messages keeps its number unless the thread has a newer one. Those whose
-- ids the thread has are left out.
--
-- KEYS: the thread, what was staged. ARGV: the version that the staged fields are of, uid, thread id, ttl in
-- milliseconds or '', when the thread was created or '', its graph, title and labels, the number of its newest message, what was announced to the index (see announced of common.lua),
-- its priority. A message
-- is staged as x:<number>, what m: holds, and y:<number>, what b: holds; xs has their numbers in order, six bytes each.

local staged, uid = KEYS[2], ARGV[2]
local open, first, last = thread()
if open > 0 then
	if call('HGET', key, int(open) .. ':uid') == uid then
		return { 'ok', call('HGET', key, 'created') or '0' } -- asked again
	end
	local l = log(call('HGET', key, int(open) .. ':n:'))
	return { 'conflict', 'exists', l and l.id or NONE }
end
if call('EXISTS', staged) == 0 then
	return { 'gone' }
end
local n = last + 1
local v = int(n) .. ':'
local m = call('HMGET', key, 'wake', 'graph', 'priority')
local name = queue(ARGV[11], ARGV[6] ~= '' and ARGV[6] or m[2])
if (m[1] or '0') ~= '0' and name ~= queue(m[3], m[2]) and not announced(ARGV[10], name, '') then
	return { 'announce', name }
end
local described, labels = about(ARGV[5] ~= '' and ARGV[5] or int(clock()), uid, ARGV[6], ARGV[7], ARGV[8], ARGV[11])
if not described then
	return { 'labels', int(labels) }
end
for _, value in ipairs({ 'open', int(n), 'last', int(n), 'first', int(first), 'id', ARGV[3], 'stamp', uid }) do
	described[#described + 1] = value
end

-- The messages leave what is staged.
local messages, gone = {}, {}
local chunks = call('HGET', staged, 'xs') or ''
for at = 1, #chunks, 6 do
	local n = int((struct.unpack('>I6', chunks, at)))
	local m = call('HMGET', staged, 'x:' .. n, 'y:' .. n)
	messages[#messages + 1] = { tonumber(n), m[1], m[2] or '' }
	gone[#gone + 1] = 'x:' .. n
	gone[#gone + 1] = 'y:' .. n
end
for i = 1, #gone, PORTION do
	call('HDEL', staged, unpack(gone, i, math.min(i + PORTION - 1, #gone)))
end
call('HDEL', staged, 'xs')
local posted = tonumber(call('HGET', key, 'posted')) or 0
if call('EXISTS', key) == 0 and v == ARGV[1] .. ':' then
	call('HSET', staged, unpack(described)) -- first, as what adds is: see append.lua
	call('RENAME', staged, key)
else
	local cursor, old = '0', #ARGV[1] + 2
	repeat
		local page = call('HSCAN', staged, cursor, 'COUNT', 500)
		cursor = page[1]
		for i = 1, #page[2], 2 do
			call('HSET', key, v .. string.sub(page[2][i], old), page[2][i + 1])
		end
	until cursor == '0'
	call('HSET', key, unpack(described))
	call('UNLINK', staged)
end
for _, m in ipairs(messages) do
	local message = parts(m[2])
	if not call('HGET', key, 'M:' .. message.id) then
		posted = math.max(posted + 1, m[1])
		deliver(posted, message, m[3])
	end
end
forget()
call('HSET', key, 'posted', int(math.max(posted, tonumber(ARGV[9]))))
expire(ARGV[4], call('HGET', key, v .. 'status'), '1', clock())
return { 'ok', call('HGET', key, 'created') or '0' }
