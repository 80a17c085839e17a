-- Replaces records by packs, if they are still the records that were packed. Otherwise it does nothing.
--
-- Only a Prune and another packer change a stored record, and an Append or a pending write what is known of it: the token of
-- the last Prune, the index of packs, the entries and the pending writes are compared.
--
-- ARGV: version, its uid, token of the last Prune, index of packs as it was, and as it becomes; the largest time of an
-- id; the number of the log, and the seq up to which packing has looked at it; how many packs, and for each its field and
-- bytes; then for each record its seq with its log's number, its id, its entry.

local open = thread()
local v = ARGV[1] .. ':'
local m = call('HMGET', key, v .. 'uid', 'pruner', v .. 'packs', v .. 'packed')
if int(open) ~= ARGV[1] or m[1] ~= ARGV[2] or (m[2] or '') ~= ARGV[3] or (m[3] or '') ~= ARGV[4] then
	return { 'changed' }
end
local sets = { v .. 'packs', ARGV[5], v .. 'packed', int(math.max(tonumber(ARGV[6]), tonumber(m[4]) or 0)) }
local settled = v .. 'z:' .. ARGV[7]
if ARGV[9] == '0' then
	call('HSET', key, settled, ARGV[8])
	return { 'ok' }
end
sets[#sets + 1] = settled
sets[#sets + 1] = ARGV[8]
local at = 10
for _ = 1, tonumber(ARGV[9]) do
	sets[#sets + 1] = v .. ARGV[at]
	sets[#sets + 1] = ARGV[at + 1]
	at = at + 2
end
local gone = {}
for i = at, #ARGV, 3 do
	local e = call('HMGET', key, v .. 'i:' .. ARGV[i + 1], v .. 'p:' .. ARGV[i + 1])
	if e[1] ~= ARGV[i + 2] or e[2] then
		return { 'changed' }
	end
	gone[#gone + 1] = v .. 'r:' .. ARGV[i]
	gone[#gone + 1] = v .. 'i:' .. ARGV[i + 1]
end
sets[#sets + 1] = v .. 'rev'
sets[#sets + 1] = int((tonumber(call('HGET', key, v .. 'rev')) or 0) + 1)
set(sets) -- first, as what adds is: see append.lua
del(gone)
return { 'ok' }
