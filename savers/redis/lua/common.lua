-- What every script shares. A thread is one hash, KEYS[1], so that each script is one atomic step on one key, wherever
-- that key lives, and a thread expires whole or not at all. Its fields:
--
--   id                   the thread's id
--   open first last      numbers: the open version, 0 for none; the oldest and the newest that there are
--   created graph title  of the thread: when its first version began, what opened its newest run, its title
--   birth                of the thread: the id that the call which created it gave it; none for a thread from before there were births
--   labels               of the thread: for each label the length of its name in two bytes, the name, and the same of
--                        its value
--   stamp                of the newest call that announced the thread to the index; no other call made the same
--   priority             1 urgent, 2 high, 3 or none normal, 4 low
--   wake                 when the thread is due, 0 or none for never; the index of wakes is a hint of it
--   attempts             openings in a row that followed a crash or a failure
--   posted               the number of the newest message
--   inputs others        how many messages are untaken: inputs, and those of other kinds
--   cancels              how many of the others are cancels
--   m:<number>           a message: its state, which is u untaken, t taken or r refused; its kind; in six bytes its place among those
--                        that were taken and refused; the id, and the reason of a refusal, each after its length in two bytes; a
--                        token of the call that posted it; the time, and a colon; its name and key with a checksum
--   b:<number>           its payload, with a checksum; none for a taken one
--   M:<id>               its number
--   mu mu:<chunk>        the numbers of the untaken messages, see inbox.lua
--   kept                 how many taken and refused messages there are
--   tfirst tlast         the places of the first and the last of them, in the order in which that happened
--   t:<place>            the number of the one at a place; none if it was given back
--
-- and those of version <v>, each with <v>: before it:
--
--   uid                  of the version: no other has it, of whatever thread, ever
--   fence holder until ended status updated released    as the contract says; times in microseconds; until is not moved
--                        by each commit, but by one after a quarter of the lease
--   rev                  counts the changes, but for plain commits
--   nk                   how many namespaces; they are numbered from 1
--   n:<namespace>        head id, then number:seq:snapshot:first:step:count of its log. Records first to seq are all
--                        there, snapshot is where the head's chain starts
--   N:<number>           the namespace
--   g:<number>           seqs of records before first that a Prune left, ascending, with commas between
--   r:<number>:<seq>     a record: its format, three bytes of header length, header, body, checksum
--   i:<id>               of a record: base id, then number:seq:snapshot, and :c when its tasks are committed
--   k:<number>:<last>    a pack, in the format of package pack: consecutive records up to the seq last. They have no
--                        fields r: and i:
--   packs                the index of the packs, in the order of log and seq: 36 bytes for each, see PACK below
--   z:<number>           the seq up to which packing has looked at the log: records up to it that are in no pack stay so
--   packed               the largest time of an id in a pack
--   late                 ids of packed records whose tasks were committed after they were packed
--   ws                   counts the pending writes ever stored, for their order
--   bases                ids of the bases that have pending writes, one after the other. The zero id stands for the version,
--                        whose writes describe schemas
--   p:<base>             how many slots the base has used for its pending writes
--   s:<base><slot>       what names the write in the slot
--   w:<base><name>       the write: order:slot:, then what it holds and a checksum
--
-- Ids are 16 bytes; the zero id is none.

local key = KEYS[1]
local NONE = string.rep('\0', 16)
local DONE = '5'
local call = redis.call

local function int(n) return string.format('%.0f', n) end

local function clock()
	local t = call('TIME')
	return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

local function has(flags, flag) return string.find(flags, flag, 1, true) ~= nil end

-- thread returns the numbers of the open, the oldest and the newest version.
local function thread()
	local t = call('HMGET', key, 'open', 'first', 'last')
	return tonumber(t[1]) or 0, tonumber(t[2]) or 1, tonumber(t[3]) or 0
end

-- version returns the number of the version that is asked for, 0 for the open one; nil when it does not exist.
local function version(number, open, first, last)
	if number == 0 then
		number = open
	end
	if number == 0 or number < first or number > last then
		return nil
	end
	return number
end

-- log reads what n:<namespace> holds; nil for none.
local function log(s)
	if not s then
		return nil
	end
	local k, seq, snap, first, step, count = string.match(s, '^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$', 17)
	if not k then
		error('damaged: the head of a log')
	end
	return {
		id = string.sub(s, 1, 16), k = k, seq = tonumber(seq), snap = tonumber(snap), first = tonumber(first),
		step = step, count = tonumber(count),
	}
end

-- entry reads what i:<id> holds; nil for none.
local function entry(s)
	if not s then
		return nil
	end
	local k, seq, snap, c = string.match(s, '^(%d+):(%d+):(%d+)(:?c?)$', 17)
	if not k then
		error('damaged: the entry of a record')
	end
	return { base = string.sub(s, 1, 16), k = k, seq = tonumber(seq), snap = tonumber(snap), committed = c == ':c' }
end

-- Calls with many arguments go in portions: a script's stack is limited.
local PORTION = 2000

-- The index has for each pack: number of the log, first and last seq, where the chain of the first record starts, the
-- smallest and the largest time of its ids.
local PACK, PACKED = 36, '>I6I6I6I6I6I6'

-- time returns the first six bytes of an id as a number. Of an id made by NewID that is the time.
local function time(id) return (struct.unpack('>I6', id)) end

-- packs returns the index of a version's packs.
local function packs(v)
	local s = call('HGET', key, v .. 'packs') or ''
	if #s % PACK ~= 0 then
		error('damaged: the index of packs')
	end
	return s
end

-- reaching returns the place in an index of the first pack of log k that ends at seq or later: its number, from 0.
local function reaching(s, k, seq)
	local low, high = 0, #s / PACK
	while low < high do
		local mid = math.floor((low + high) / 2)
		local log, _, last = struct.unpack(PACKED, s, mid * PACK + 1)
		if log < k or log == k and last < seq then
			low = mid + 1
		else
			high = mid
		end
	end
	return low
end

-- pack returns the pack at a place in an index, if it is one of log k; else nil.
local function pack(s, at, k)
	if at < 0 or at >= #s / PACK then
		return nil
	end
	local log, first, last, snap = struct.unpack(PACKED, s, at * PACK + 1)
	if log ~= k then
		return nil
	end
	return { first = first, last = last, snap = snap }
end

-- packField returns the field of a pack.
local function packField(v, k, last) return v .. 'k:' .. int(k) .. ':' .. int(last) end

-- search returns where an id stands among ids that follow each other from a byte on, counted from 0; else nil.
local function search(s, from, count, id)
	local at = from
	while true do
		at = string.find(s, id, at, true)
		if not at or at >= from + 16 * count then
			return nil
		end
		if (at - from) % 16 == 0 then
			return (at - from) / 16
		end
		at = at + 1
	end
end

-- packedEntry returns of a record that is in a pack what entry does, but the base; else nil. newest is what packed holds.
local function packedEntry(v, id, newest)
	newest = tonumber(newest or call('HGET', key, v .. 'packed'))
	if not newest or id == NONE or time(id) > newest then
		return nil
	end
	local s, t = packs(v), time(id)
	for at = 0, #s / PACK - 1 do
		local k, first, last, snap, from, to = struct.unpack(PACKED, s, at * PACK + 1)
		local body = from <= t and t <= to and call('HGET', key, packField(v, k, last))
		local count = body and #body > 4 and struct.unpack('>I2', body, 3) or 0
		local i = count > 0 and search(body, 5, count, id)
		if i then
			local late = call('HGET', key, v .. 'late') or ''
			return {
				k = int(k), seq = first + i, snap = snap,
				committed = string.byte(body, 5 + 16 * count + i) == 1 or search(late, 1, #late / 16, id) ~= nil,
			}
		end
	end
	return nil
end

-- find returns the entry of a record, wherever it is; nil for none. That of a packed one has no base.
local function find(v, id) return entry(call('HGET', key, v .. 'i:' .. id)) or packedEntry(v, id) end

-- idAt returns the id of the record of log k with a seq; nil for none.
local function idAt(v, k, seq)
	local r = call('HGET', key, v .. 'r:' .. k .. ':' .. int(seq))
	if r then
		return string.sub(r, 7, 22)
	end
	local s = packs(v)
	local p = pack(s, reaching(s, tonumber(k), seq), tonumber(k))
	local body = p and p.first <= seq and call('HGET', key, packField(v, k, p.last))
	return body and string.sub(body, 5 + 16 * (seq - p.first), 20 + 16 * (seq - p.first)) or nil
end

-- MAXLABELS is how many labels a thread has at most.
local MAXLABELS = 32

-- relabel returns labels after changes, which have the same form; an empty value removes a label. The second result is the
-- number of labels.
local function relabel(labels, changes)
	local values, names, at = {}, {}, 1
	for _, s in ipairs({ labels, changes }) do
		at = 1
		while at <= #s do
			local name, value
			name, value, at = struct.unpack('>I2c0I2c0', s, at)
			if values[name] == nil then
				names[#names + 1] = name
			end
			values[name] = value
		end
	end
	local all = {}
	for _, name in ipairs(names) do
		if values[name] ~= '' then
			all[#all + 1] = struct.pack('>I2c0I2c0', #name, name, #values[name], values[name])
		end
	end
	return table.concat(all), #all
end

-- about returns the fields that describe a thread after a change, and their values; nil and the number of labels if it
-- would have too many. An empty value of a change leaves what is there. birth is that of a thread that the change creates.
local function about(created, birth, graph, title, labels, priority)
	local m, sets = call('HMGET', key, 'created', 'labels'), {}
	local function put(field, value)
		if value ~= '' then
			sets[#sets + 1] = field
			sets[#sets + 1] = value
		end
	end
	if not m[1] then
		put('created', created)
		put('birth', birth)
	end
	put('graph', graph)
	put('title', title)
	put('priority', priority)
	if labels ~= '' then
		local all, count = relabel(m[2] or '', labels)
		if count > MAXLABELS then
			return nil, count
		end
		sets[#sets + 1] = 'labels'
		sets[#sets + 1] = all
	end
	return sets
end

-- isBirth reports whether a call that names a birth, NONE for any, is meant for the thread.
local function isBirth(named, birth) return named == NONE or named == birth end

local FAILED, CANCELLED = '4', '7'

-- wakeAt returns when a thread is due after a run that ended now: a wake in the past is now.
local function wakeAt(wake, now)
	if wake == '0' then
		return '0'
	end
	return tonumber(wake) > now and wake or int(now) -- a number of Lua lacks microseconds after 2255
end

-- queue returns the name of the wakes of threads with a priority and a graph: each priority has its own.
local function queue(priority, graph) return (priority or '3') .. ':' .. (graph or '') end

-- announced reports whether the index has a wake for a change of the thread that makes it due: whoever lowers a wake announces
-- it first. arg is 'n=' and a queue if the wake was announced as now, 'w=' and a queue if it was announced as the wake of the call, or ''. wake is
-- '' for a wake that the call did not know.
local function announced(arg, name, wake)
	return wake == '0' or arg == 'n=' .. name or wake ~= '' and arg == 'w=' .. name
end

local function set(pairs)
	for i = 1, #pairs, PORTION do
		call('HSET', key, unpack(pairs, i, math.min(i + PORTION - 1, #pairs)))
	end
end

local function del(fields)
	for i = 1, #fields, PORTION do
		call('HDEL', key, unpack(fields, i, math.min(i + PORTION - 1, #fields)))
	end
end

-- busy returns the answer of a thread whose lease lives, else nil.
local function busy(v, now)
	local l = call('HMGET', key, v .. 'until', v .. 'ended', v .. 'holder')
	if l[2] ~= '1' and now < (tonumber(l[1]) or 0) then
		return { 'busy', l[3] or '', l[1] }
	end
	return nil
end

-- expire sets when the thread expires: ttl milliseconds after it was done and its lease given up, else never. A thread with
-- untaken messages or a wake does not expire.
local function expire(ttl, status, ended, now)
	local m = ttl ~= '' and status == DONE and ended == '1' and call('HMGET', key, 'wake', 'inputs', 'others')
	if not m or (m[1] or '0') ~= '0' or (m[2] or '0') ~= '0' or (m[3] or '0') ~= '0' then
		call('PERSIST', key)
	else
		call('PEXPIREAT', key, int(math.floor(now / 1000) + tonumber(ttl)))
	end
end

-- each calls f with the name of every pending write of a base, in the order of the slots.
local function each(v, base, f)
	local slots = tonumber(call('HGET', key, v .. 'p:' .. base)) or 0
	for slot = 1, slots do
		local name = call('HGET', key, v .. 's:' .. base .. int(slot))
		if name then
			f(name, slot)
		end
	end
end

-- split returns the bases of what bases holds; whole says that the version, whose writes describe schemas, is among them.
local function split(all, whole)
	local list = {}
	for at = 1, #(all or ''), 16 do
		local base = string.sub(all, at, at + 15)
		if whole or base ~= NONE then
			list[#list + 1] = base
		end
	end
	return list
end

-- bases returns the bases that have pending writes; whole is as for split.
local function bases(v, whole) return split(call('HGET', key, v .. 'bases'), whole) end

-- drop removes the pending writes of a base.
local function drop(v, base)
	local gone = { v .. 'p:' .. base }
	each(v, base, function(name, slot)
		gone[#gone + 1] = v .. 's:' .. base .. int(slot)
		gone[#gone + 1] = v .. 'w:' .. base .. name
	end)
	del(gone)
	local left = {}
	for _, other in ipairs(bases(v, true)) do
		if other ~= base then
			left[#left + 1] = other
		end
	end
	call('HSET', key, v .. 'bases', table.concat(left))
end

-- store keeps a pending write, or removes one. mode: f the first wins, r it replaces, d it goes.
local function store(v, base, name, mode, value)
	local field = v .. 'w:' .. base .. name
	local old = call('HGET', key, field)
	if mode == 'd' then
		if old then
			call('HDEL', key, field, v .. 's:' .. base .. string.match(old, '^%d+:(%d+):'))
		end
		return
	end
	if old then
		if mode == 'r' then
			call('HSET', key, field, string.match(old, '^%d+:%d+:') .. value)
		end
		return
	end
	local order = call('HINCRBY', key, v .. 'ws', 1)
	local slot = call('HINCRBY', key, v .. 'p:' .. base, 1)
	if slot == 1 then
		call('HSET', key, v .. 'bases', (call('HGET', key, v .. 'bases') or '') .. base)
	end
	call('HSET', key, field, int(order) .. ':' .. int(slot) .. ':' .. value, v .. 's:' .. base .. int(slot), name)
end

-- storeAll takes the writes that start at ARGV[at], four arguments each. Those of a committed base count for nothing.
local function storeAll(v, at)
	local over = {}
	for i = at, #ARGV, 4 do
		local base = ARGV[i]
		if over[base] == nil then
			local e = find(v, base)
			over[base] = e ~= nil and e.committed
		end
		if not over[base] then
			store(v, base, ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
		end
	end
end

-- writes returns pending writes, three values each: base, name and what w: holds.
local function writes(v, list)
	local all = {}
	for _, base in ipairs(list) do
		each(v, base, function(name)
			all[#all + 1] = base
			all[#all + 1] = name
			all[#all + 1] = call('HGET', key, v .. 'w:' .. base .. name)
		end)
	end
	return all
end

-- describe returns a version as a thread, or with 0 a thread that has none open: its questions, and its answers without what they say, come as writes do.
local function describe(n, first, last, now)
	local v = int(n) .. ':'
	local m = call('HMGET', key, v .. 'status', v .. 'holder', v .. 'until', v .. 'ended', (n > 0 and v or int(last) .. ':') .. 'updated',
		v .. 'released', v .. 'n:', v .. 'bases', 'stamp', v .. 'rev', 'created', 'graph', 'title', 'labels',
		v .. 'fence', 'wake', 'attempts', 'posted', 'inputs', 'others', 'open', 'priority', 'cancels',
		'birth')
	local asked, current = {}, n == (tonumber(m[21]) or 0) -- the wake, the attempts and the messages are not of a released one
	for _, base in ipairs(split(m[8])) do
		each(v, base, function(name)
			local kind = string.byte(name)
			if kind == 2 or kind == 3 then
				asked[#asked + 1] = base
				asked[#asked + 1] = name
				asked[#asked + 1] = kind == 2 and call('HGET', key, v .. 'w:' .. base .. name) or '0:0:'
			end
		end)
	end
	return {
		int(n), int(last - first + 1), m[1] or '0', m[2] or '', m[3] or '0', m[4] or '', m[5] or '0', m[6] or '0',
		m[7] or '', int(now), m[9] or '', m[10] or '0', asked,
		m[11] or '0', m[12] or '', m[13] or '', m[14] or '', m[15] or '', current and m[16] or '0', current and m[17] or '0',
		current and m[18] or '0', current and m[19] or '0', current and m[20] or '0', m[22] or '3',
		current and m[23] or '0', m[24] or '',
	}
end
