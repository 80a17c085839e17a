-- Appends records after the head of a namespace: the compare-and-append that everything rests on.
--
-- ARGV: flags (o opens, t takes over, a counts as an attempt, e ends, r releases, p progress), namespace, after, fence, status or '', lease in
-- microseconds, holder, uid for a version that starts and stamp for the index, ttl in milliseconds or '', thread id, number of the version that
-- is likely open, graph, title and labels for an opening, wake for an end, number of records, what was announced to the index (see announced of
-- common.lua), number of the newest message that the run knows, priority or '' for an opening, birth or none for an opening; six for each record: id, base, commits, '1' for a snapshot, step, bytes;
-- then the messages that are handled (see inbox.lua), and the writes.
--
-- A call of Redis costs more than all that a script does around it, so what is needed is read at once.

local flags, namespace, after, fence, status = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local opens, ends, releases = has(flags, 'o'), has(flags, 'e'), has(flags, 'r')
local ttl, count = ARGV[9], tonumber(ARGV[16])
local records, at = {}, 21
for i = 1, count do
	records[i] = {
		id = ARGV[at], base = ARGV[at + 1], commits = ARGV[at + 2], snapshot = ARGV[at + 3] == '1',
		step = ARGV[at + 4], bytes = ARGV[at + 5],
	}
	at = at + 6
end
local now = clock()

-- known returns what is stored of a record's id, of the base that it commits, and of that base's pending writes.
local function known(v, r) return v .. 'i:' .. r.id, v .. 'i:' .. r.commits, v .. 'p:' .. r.commits end

local function read(v)
	return call('HMGET', key, 'open', 'first', 'last', v .. 'fence', v .. 'until', v .. 'ended', v .. 'holder', v .. 'rev',
		v .. 'nk', v .. 'status', v .. 'n:' .. namespace, v .. 'packed', 'posted', 'graph', 'priority', known(v, records[1]))
end

local m = read(ARGV[11] .. ':')
local open, first, last = tonumber(m[1]) or 0, tonumber(m[2]) or 1, tonumber(m[3]) or 0

-- stands returns the seq of the last record when it stands in version n where it was to go, else nil. Of the records before it,
-- and of the one that they follow, a Prune may have removed some.
local function stands(n)
	local v = int(n) .. ':'
	local e, l = find(v, records[count].id), log(call('HGET', key, v .. 'n:' .. namespace))
	if not e or not l or e.k ~= l.k or e.seq < count or (e.seq == count) ~= (after == NONE) then
		return nil
	end
	for i = 0, count - 1 do
		local id = idAt(v, e.k, e.seq - count + i)
		if id and id ~= (i == 0 and after or records[i].id) then
			return nil
		end
	end
	return e.seq
end

local function stored(n, seq, revived)
	local v = int(n) .. ':'
	local attempts = opens and call('HGET', key, 'attempts') or '0'
	local stamp, wake = '', '0'
	if ends then
		local m = call('HMGET', key, 'stamp', 'wake')
		stamp, wake = m[1] or '', m[2] or '0'
	end
	return {
		'ok', int(n), int(seq), revived and '1' or '', stamp, opens and writes(v, bases(v)) or {}, call('HGET', key, v .. 'n:' .. namespace) or '',
		attempts, int(now), m[13] or '0', wake ~= '0' and '1' or '', opens and after == NONE and call('HGET', key, 'created') or '0',
		opens and call('HGET', key, 'birth') or '',
	}
end

local newest = open > 0 and open - 1 or last -- the newest released version
if releases and newest >= first then
	local seq = stands(newest)
	if seq then
		return stored(newest, seq)
	end
end
if open == 0 and not (opens and after == NONE) then
	return { 'missing', last >= first and '1' or '' }
end

local n = open > 0 and open or last + 1
local v = int(n) .. ':'
if v ~= ARGV[11] .. ':' then
	m = read(v)
end
local held, lease = m[4] or NONE, int(now + tonumber(ARGV[6]))
local found = { { m[16], m[17], m[18] } }
for i = 2, count do
	found[i] = call('HMGET', key, known(v, records[i]))
end
local function taken(i) return found[i][1] or m[12] and packedEntry(v, records[i].id, m[12]) end

if taken(count) and (not opens or held == records[1].id) then
	local seq = stands(n)
	if seq then
		if opens or fence == held then
			call('HSET', key, v .. 'until', lease)
		end
		return stored(n, seq)
	end
end
if opens then
	if m[6] ~= '1' and now < (tonumber(m[5]) or 0) and not has(flags, 't') then
		return { 'busy', m[7] or '', m[5] }
	end
elseif held ~= fence then
	return { 'conflict', 'fence', held }
end
local l = log(m[11])
if (l and l.id or NONE) ~= after then
	return { 'conflict', 'head', l and l.id or NONE }
end
if opens then
	local birth = call('HGET', key, 'birth')
	if not isBirth(ARGV[20], birth) then
		return { 'conflict', 'birth', birth or '' }
	end
end
if opens and not allUntaken(at) then
	return { 'conflict', 'mail', after }
end

local sets = {}
if opens then
	local described, labels = about(int(now), records[1].id, ARGV[12], ARGV[13], ARGV[14], ARGV[19])
	if not described then
		return { 'labels', int(labels) }
	end
	sets = described
end
local function changed(new, old) return opens and new ~= '' and new or old end
local name = queue(changed(ARGV[19], m[15]), changed(ARGV[12], m[14]))
local wake = opens and lease or nil
if ends then
	local late = (tonumber(m[13]) or 0) > tonumber(ARGV[18])
	if releases then
		late = inputsAfter(at) > 0
	end
	wake = late and int(now) or releases and '0' or wakeAt(ARGV[15], now)
	if not announced(ARGV[17], name, late and '' or wake) then
		return { 'announce', name }
	end
elseif opens and not announced(ARGV[17], name, wake) then
	return { 'announce', name }
end
-- From here on it is accepted.
local function put(field, value)
	sets[#sets + 1] = field
	sets[#sets + 1] = value
end
if open == 0 then
	open, last = n, n
	put('open', int(n))
	put('last', int(n))
	put('first', int(first))
	put('id', ARGV[10])
	put(v .. 'uid', ARGV[8])
end
local was = m[10]
if not m[9] then
	was = nil
	put(v .. 'status', status ~= '' and status or '1')
elseif status ~= '' then
	put(v .. 'status', status)
end
if not l then
	local k = int((tonumber(m[9]) or 0) + 1)
	l = { k = k, seq = 0, snap = 0, first = 1, count = 0 }
	put(v .. 'nk', k)
	put(v .. 'N:' .. k, namespace)
end
local over = {} -- bases whose pending writes go
local late = '' -- packed records that are committed now
local placed = {} -- where in sets the entries of these records stand
for i = 1, count do
	local r = records[i]
	l.seq, l.count, l.id, l.step = l.seq + 1, l.count + 1, r.id, r.step
	if r.snapshot then
		l.snap = l.seq
	end
	put(v .. 'r:' .. l.k .. ':' .. int(l.seq), r.bytes)
	put(v .. 'i:' .. r.id, r.base .. l.k .. ':' .. int(l.seq) .. ':' .. int(l.snap))
	placed[r.id] = #sets
	if r.commits ~= NONE then
		local here = placed[r.commits]
		local e = entry(found[i][2])
		if e and not e.committed then
			put(v .. 'i:' .. r.commits, found[i][2] .. ':c')
		elseif here and string.sub(sets[here], -2) ~= ':c' then
			sets[here] = sets[here] .. ':c'
		elseif not e and not here and m[12] then
			local p = packedEntry(v, r.commits, m[12])
			if p and not p.committed then
				late = late .. r.commits
			end
		end
		if found[i][3] then
			over[#over + 1] = r.commits
		end
	end
end
put(v .. 'n:' .. namespace, l.id .. l.k .. ':' .. int(l.seq) .. ':' .. int(l.snap) .. ':' .. int(l.first) .. ':' .. l.step .. ':' .. int(l.count))
if late ~= '' then
	put(v .. 'late', (call('HGET', key, v .. 'late') or '') .. late)
end
put(v .. 'rev', int((tonumber(m[8]) or 0) + 1))
put(v .. 'until', lease)
if ARGV[17] ~= '' then
	put('stamp', ARGV[8])
end
if opens then
	local attempts = tonumber(call('HGET', key, 'attempts')) or 0
	if not has(flags, 'a') then
		attempts = 0
	elseif m[9] and (m[6] ~= '1' or m[10] == FAILED) then
		attempts = attempts + 1
	end
	put('attempts', int(attempts))
	put(v .. 'fence', records[1].id)
	put(v .. 'holder', ARGV[7])
	put(v .. 'ended', ends and '1' or '')
	put(v .. 'updated', int(now))
elseif ends then
	put(v .. 'ended', '1')
	put(v .. 'updated', int(now))
end
if has(flags, 'p') or ends and (status ~= '' and status or was) ~= FAILED then
	put('attempts', '0')
end
if wake then
	put('wake', wake)
end
if releases then
	put('open', '0')
	put('attempts', '0')
	put(v .. 'released', int(now))
end
-- What adds comes first: a server that is out of memory refuses it, and would not refuse what removes.
set(sets)
for _, base in ipairs(over) do
	drop(v, base)
end
storeAll(v, handleAll(at))
if releases then
	refuseOthers()
	expire(ttl, DONE, '1', now)
elseif opens or ends or status ~= '' then
	expire(ttl, status ~= '' and status or was, (ends or not opens and m[6] == '1') and '1' or '', now)
end
return stored(n, l.seq, was == DONE and status ~= '' and status ~= DONE)
