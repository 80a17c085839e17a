-- Makes a Prune happen that was worked out on what stood, if that still stands.
--
-- ARGV: version, 0 when none is open, its uid, its rev, how many released versions to keep or '', a token of this
-- call; the fence of the run that prunes, or ''; how many logs there are and for each namespace and head; then, if records
-- go, the index of packs and the packed records that were committed late, as they become; then for each log that changes:
-- namespace, number, first, snapshot, count, seqs before first, and six lists, each with its length before it: of records
-- that go, seq and id; of records with a new snapshot, seq and bytes; of records in another chain than before, id and where
-- that chain starts; of packs that go, their fields; of packs that come, fields and bytes; of records that were in a pack
-- that goes, seq, id, entry and bytes.

local now = clock()
local open, first, last = thread()
local done = call('HGET', key, 'pruner') or ''
if ARGV[5] ~= '' and string.sub(done, 1, #ARGV[5]) == ARGV[5] then
	return { 'ok', string.sub(done, #ARGV[5] + 1) }
end
if ARGV[6] ~= '' then
	local fence = open > 0 and call('HGET', key, int(open) .. ':fence') or NONE
	if fence ~= ARGV[6] then
		return { 'conflict', fence }
	end
elseif open > 0 then
	local held = busy(int(open) .. ':', now)
	if held then
		return held
	end
end
local v = ARGV[1] .. ':'
if tonumber(ARGV[1]) ~= open or call('EXISTS', key) == 0 then
	return { 'changed' }
end
if open > 0 then
	local m = call('HMGET', key, v .. 'uid', v .. 'rev')
	if m[1] ~= ARGV[2] or (m[2] or '0') ~= ARGV[3] then
		return { 'changed' }
	end
end

local at = 7
local function take()
	at = at + 1
	return ARGV[at - 1]
end
for _ = 1, tonumber(take()) do
	local namespace, head = take(), take()
	if call('HGET', key, v .. 'n:' .. namespace) ~= head then
		return { 'changed' }
	end
end
if at <= #ARGV then
	local index, late = take(), take()
	if packs(v) ~= '' then
		set({ v .. 'packs', index, v .. 'late', late })
	end
end
while at <= #ARGV do
	local namespace, k = take(), take()
	local head = call('HGET', key, v .. 'n:' .. namespace)
	local l = log(head)
	local first, snap, count = take(), take(), take()
	local sets = {
		v .. 'n:' .. namespace, l.id .. k .. ':' .. int(l.seq) .. ':' .. snap .. ':' .. first .. ':' .. l.step .. ':' .. count,
		v .. 'g:' .. k, take(),
	}
	local gone = {}
	for _ = 1, tonumber(take()) do
		gone[#gone + 1] = v .. 'r:' .. k .. ':' .. take()
		gone[#gone + 1] = v .. 'i:' .. take()
	end
	for _ = 1, tonumber(take()) do
		sets[#sets + 1] = v .. 'r:' .. k .. ':' .. take()
		sets[#sets + 1] = take()
	end
	for _ = 1, tonumber(take()) do
		local field = v .. 'i:' .. take()
		local e = entry(call('HGET', key, field))
		sets[#sets + 1] = field
		sets[#sets + 1] = e.base .. e.k .. ':' .. int(e.seq) .. ':' .. take() .. (e.committed and ':c' or '')
	end
	for _ = 1, tonumber(take()) do
		gone[#gone + 1] = v .. take()
	end
	for _ = 1, tonumber(take()) do
		sets[#sets + 1] = v .. take()
		sets[#sets + 1] = take()
	end
	local settled = tonumber(call('HGET', key, v .. 'z:' .. k))
	for _ = 1, tonumber(take()) do
		local seq = take()
		local record, id = v .. 'r:' .. k .. ':' .. seq, v .. 'i:' .. take()
		settled = settled and math.min(settled, tonumber(seq) - 1)
		sets[#sets + 1] = id
		sets[#sets + 1] = take()
		sets[#sets + 1] = record
		sets[#sets + 1] = take()
	end
	if settled then
		sets[#sets + 1] = v .. 'z:' .. k
		sets[#sets + 1] = int(settled)
	end
	set(sets)
	del(gone)
end
if open > 0 then
	call('HINCRBY', key, v .. 'rev', 1)
end

-- forget removes a released version.
local function forget(n)
	local v = int(n) .. ':'
	local gone = {}
	for _, name in ipairs({ 'uid', 'fence', 'holder', 'until', 'ended', 'status', 'updated', 'released', 'releaser', 'rev', 'nk', 'ws', 'bases', 'packs', 'packed',
		'late' }) do
		gone[#gone + 1] = v .. name
	end
	for _, base in ipairs(bases(v, true)) do
		drop(v, base)
	end
	local index = packs(v)
	for at = 0, #index / PACK - 1 do
		local log, _, last = struct.unpack(PACKED, index, at * PACK + 1)
		gone[#gone + 1] = packField(v, log, last)
	end
	for k = 1, tonumber(call('HGET', key, v .. 'nk')) or 0 do
		k = int(k)
		local namespace = call('HGET', key, v .. 'N:' .. k)
		local l = log(call('HGET', key, v .. 'n:' .. namespace))
		local function remove(seq)
			local field = v .. 'r:' .. k .. ':' .. seq
			local r = call('HGET', key, field)
			if r then
				gone[#gone + 1] = field
				gone[#gone + 1] = v .. 'i:' .. string.sub(r, 7, 22)
			end
		end
		for seq in string.gmatch(call('HGET', key, v .. 'g:' .. k) or '', '%d+') do
			remove(seq)
		end
		for seq = l.first, l.seq do
			remove(int(seq))
		end
		gone[#gone + 1] = v .. 'n:' .. namespace
		gone[#gone + 1] = v .. 'N:' .. k
		gone[#gone + 1] = v .. 'g:' .. k
		gone[#gone + 1] = v .. 'z:' .. k
	end
	del(gone)
end
local forgotten = 0
if ARGV[4] ~= '' then
	local newest = open > 0 and open - 1 or last
	forgotten = math.max(newest - tonumber(ARGV[4]) - first + 1, 0)
	call('HSET', key, 'first', int(first + forgotten)) -- first, as what adds is: see append.lua
	for n = first, first + forgotten - 1 do
		forget(n)
	end
end
call('HSET', key, 'pruner', ARGV[5] .. int(forgotten))
return { 'ok', int(forgotten) }
