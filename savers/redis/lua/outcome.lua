-- Stores the outcome of a task of the open version, without the fence.
--
-- ARGV: base; then the write, as storeAll takes it.

local open = thread()
local v = int(open) .. ':'
local e = open > 0 and find(v, ARGV[1])
if not e then
	return { 'norecord' }
end
if not e.committed then
	storeAll(v, 2)
	call('HINCRBY', key, v .. 'rev', 1)
end
return { 'ok' }
