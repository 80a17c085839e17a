-- Reads records of the open version's log that may be packed: the oldest that follow each other and that packing has not looked
-- at yet, but not the newest of the log.
--
-- ARGV: namespace, how many of the newest to leave, how many at most, the largest size of a record. Of a larger one nothing
-- comes.

local open = thread()
local v = int(open) .. ':'
local l = open > 0 and log(call('HGET', key, v .. 'n:' .. ARGV[1]))
if not l then
	return { 'none' }
end
local index, k = packs(v), tonumber(l.k)
local m = call('HMGET', key, v .. 'uid', 'pruner', v .. 'z:' .. l.k)
local from = math.max(l.first, (tonumber(m[3]) or 0) + 1)
local at = reaching(index, k, from)
local p = pack(index, at, k)
while p and p.first <= from do
	from, at = p.last + 1, at + 1
	p = pack(index, at, k)
end
local to = math.min(l.seq - tonumber(ARGV[2]), from + tonumber(ARGV[3]) - 1, p and p.first - 1 or l.seq)
local records, size = {}, 0
for seq = from, to do
	local field = v .. 'r:' .. l.k .. ':' .. int(seq)
	local length = call('HSTRLEN', key, field)
	if length == 0 then
		error('damaged: a record has gone')
	end
	local id, entry, pending, r = '', '', '', ''
	if length <= tonumber(ARGV[4]) then
		r = call('HGET', key, field)
		id = string.sub(r, 7, 22)
		local m = call('HMGET', key, v .. 'i:' .. id, v .. 'p:' .. id)
		entry, pending = m[1] or '', m[2] and '1' or ''
	end
	for _, value in ipairs({ id, entry, pending, r }) do
		records[#records + 1] = value
	end
	size = size + #r
	if size > 4194304 then
		to = seq
		break
	end
end
return { 'ok', int(open), m[1] or '', m[2] or '', index, l.k, int(from), p and to == p.first - 1 and '1' or '', records }
