-- Makes a vector index, unless there is one of that name.
--
-- ARGV: the name; its dimensions, a space and its model.
--
-- Returns 'ok' and the index as specs has it.

local last, other = head()
if other then
	return other
end
local has = redis.pcall('VCARD', NEAR .. ARGV[1])
local sets = type(has) ~= 'table' or not has.err -- the server has vector sets
if call('HSETNX', SPECS, ARGV[1], (sets and 'v' or '') .. ARGV[2]) == 1 then
	call('HSET', HEAD, 'format', FORMAT, 'last', int(last))
end
return { 'ok', call('HGET', SPECS, ARGV[1]) }
