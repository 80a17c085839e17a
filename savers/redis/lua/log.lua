-- Says what records a log has: the seqs below the one named, or all.
--
-- ARGV: version, namespace, id of the record, or none.

local open, first, last = thread()
local n = version(tonumber(ARGV[1]), open, first, last)
if not n then
	return { 'absent' }
end
local v = int(n) .. ':'
local l = log(call('HGET', key, v .. 'n:' .. ARGV[2]))
local before = l and l.seq + 1 or 1
if ARGV[3] ~= NONE then
	local e = l and find(v, ARGV[3])
	if not e or e.k ~= l.k then
		return { 'norecord' }
	end
	before = e.seq
end
return {
	'ok', int(n), call('HGET', key, v .. 'uid') or '', l and l.k or '0', l and int(l.first) or '1', int(before),
	l and call('HGET', key, v .. 'g:' .. l.k) or '',
}
