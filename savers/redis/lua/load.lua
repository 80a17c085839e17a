-- Reads what restoring a checkpoint takes, in one look: records, and whole packs of them.
--
-- ARGV: version, namespace, id of the record, or none for the head; its base, or none: of a record in a pack it is not known
-- here. Then the record is taken for its own base.

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
local e = l and find(v, id)
if id ~= NONE and (not e or e.k ~= l.k) then
	return { 'norecord' }
end

-- whole returns a pack as three values.
local function whole(p) return { int(p.first), int(p.last), call('HGET', key, packField(v, e.k, p.last)) } end

-- stretch returns the records with the seqs from first to last, those in packs with their whole pack.
local function stretch(first, last)
	local items, index, k = {}, packs(v), tonumber(e.k)
	local at, seq = reaching(index, k, first), first
	while seq <= last do
		local p = pack(index, at, k)
		local stop = p and p.first <= last and p.first - 1 or last
		while seq <= stop do
			local fields = {}
			for s = seq, math.min(stop, seq + PORTION - 1) do
				fields[#fields + 1] = v .. 'r:' .. e.k .. ':' .. int(s)
			end
			for _, r in ipairs(call('HMGET', key, unpack(fields))) do
				items[#items + 1] = r
			end
			seq = seq + #fields
		end
		if stop < last then
			items[#items + 1] = whole(p)
			seq, at = p.last + 1, at + 1
		end
	end
	return items
end

local items, due, committed, pending, base = {}, {}, '', {}, NONE
if e then
	items = stretch(e.snap, e.seq)
	base = e.base or (ARGV[4] ~= NONE and ARGV[4]) or id
	local b = find(v, base)
	if b and b.k == e.k then
		committed = b.committed and '1' or ''
		if b.seq < e.snap or b.seq > e.seq then
			due = stretch(b.seq, b.seq)
		end
	end
	pending = writes(v, { base })
end
return {
	'ok', int(n), head, e and int(e.snap) or '0', e and int(e.seq) or '0', items, base, due, committed, pending,
	describe(n, first, last, now),
}
