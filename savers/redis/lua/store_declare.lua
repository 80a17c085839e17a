-- Makes a vector index, unless there is one of that name.
--
-- ARGV: the name; the index as specs has it.
--
-- Returns 'ok' and the index that is stored.

local last, other = head()
if other then
	return other
end
if call('HSETNX', KEYS[11], ARGV[1], ARGV[2]) == 1 then
	call('HSET', HEAD, 'format', FORMAT, 'last', int(last))
end
return { 'ok', call('HGET', KEYS[11], ARGV[1]) }
