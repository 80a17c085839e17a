-- Reads what restoring a checkpoint takes, in one look.
--
-- ARGV: version, namespace, id of the record, or none for the head.

local now = clock()
local open, first, last = thread()
local n = version(tonumber(ARGV[1]), open, first, last)
if not n then
	return { 'absent' }
end
local v, id = int(n) .. ':', ARGV[3]
local l = log(call('HGET', key, v .. 'n:' .. ARGV[2]))
local head = l and l.id or NONE
if id == NONE then
	id = head
end
local e = l and entry(call('HGET', key, v .. 'i:' .. id))
if id ~= NONE and (not e or e.k ~= l.k) then
	return { 'norecord' }
end
local records, due, committed, pending = {}, '', '', {}
if e then
	for seq = e.snap, e.seq do
		records[#records + 1] = call('HGET', key, v .. 'r:' .. e.k .. ':' .. int(seq))
	end
	local b = entry(call('HGET', key, v .. 'i:' .. e.base))
	if b and b.k == e.k then
		committed = b.committed and '1' or ''
		if b.seq < e.snap or b.seq > e.seq then
			due = call('HGET', key, v .. 'r:' .. b.k .. ':' .. int(b.seq))
		end
	end
	pending = writes(v, { e.base })
end
return { 'ok', int(n), head, e and int(e.snap) or '0', records, due, committed, pending, describe(n, first, last, now) }
