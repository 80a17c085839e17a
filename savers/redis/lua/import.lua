-- Makes an imported version the thread's next.
--
-- KEYS: the thread, what was staged. ARGV: the version that the staged fields are of, uid, thread id, ttl in
-- milliseconds or '', when the thread was created or '', its graph, title and labels.

local staged, uid = KEYS[2], ARGV[2]
local open, first, last = thread()
if open > 0 then
	if call('HGET', key, int(open) .. ':uid') == uid then
		return { 'ok' } -- asked again
	end
	local l = log(call('HGET', key, int(open) .. ':n:'))
	return { 'conflict', 'exists', l and l.id or NONE }
end
if call('EXISTS', staged) == 0 then
	return { 'gone' }
end
local n = last + 1
local v = int(n) .. ':'
local numbers, labels = about(ARGV[5] ~= '' and ARGV[5] or int(clock()), ARGV[6], ARGV[7], ARGV[8])
if not numbers then
	return { 'labels', int(labels) }
end
for _, value in ipairs({ 'open', int(n), 'last', int(n), 'first', int(first), 'id', ARGV[3], 'stamp', uid }) do
	numbers[#numbers + 1] = value
end
if call('EXISTS', key) == 0 and v == ARGV[1] .. ':' then
	call('HSET', staged, unpack(numbers)) -- first, as what adds is: see append.lua
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
	call('HSET', key, unpack(numbers))
	call('UNLINK', staged)
end
expire(ARGV[4], call('HGET', key, v .. 'status'), '1', clock())
return { 'ok' }
