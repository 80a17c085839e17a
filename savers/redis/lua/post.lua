-- Stores messages in the inbox. It needs no fence.
--
-- ARGV: what was announced to the index and the stamp of that (see announced of common.lua), a token of the call, thread id, 'i' for an idle
-- thread only, how many untaken inputs and others there may be, graph, title and labels of a thread that does not exist, priority or ''; then
-- four for each message: kind, id, what is known of it, body.

local now = clock()
local m = call('HMGET', key, 'id', 'open', 'posted', 'inputs', 'others', 'wake', 'graph', 'priority')
local open, posted = tonumber(m[2]) or 0, tonumber(m[3]) or 0
local graph = (m[7] or '') ~= '' and m[7] or ARGV[8]
local priority = ARGV[11] ~= '' and ARGV[11] or m[8] or '3'

local results, new = {}, {}
local inputs, others, wakes = 0, 0, false
for i = 12, #ARGV, 4 do
	local kind = ARGV[i]
	local n = kind ~= WAKE and call('HGET', key, 'M:' .. ARGV[i + 1])
	if n then
		-- A message with the token of this call was stored when the call was first sent.
		local own = string.sub(message(tonumber(n)).rest, 1, 16) == ARGV[3]
		results[#results + 1] = n
		results[#results + 1] = own and '' or '1'
	else
		new[#new + 1] = i
		results[#results + 1] = ''
		results[#results + 1] = ''
		if kind == WAKE then
			wakes = true
		elseif kind == INPUT then
			inputs = inputs + 1
		elseif kind ~= CANCEL then
			others = others + 1
		end
	end
end

local function answer(outcome, woken)
	if m[1] and ARGV[1] ~= '' then
		call('HSET', key, 'stamp', ARGV[2])
	end
	return { outcome, woken and '1' or '', results, call('HGET', key, 'created') or '0' }
end

if #new == 0 then
	return answer('ok')
end
local lease = open > 0 and busy(int(open) .. ':', now)
local status = open > 0 and call('HGET', key, int(open) .. ':status') or DONE
if ARGV[5] == 'i' and ((tonumber(m[4]) or 0) > 0 or lease or status ~= DONE and status ~= CANCELLED) then
	return answer('idle')
end
if inputs > 0 and (tonumber(m[4]) or 0) + inputs > tonumber(ARGV[6]) then
	return answer('inputs')
elseif others > 0 and (tonumber(m[5]) or 0) + others > tonumber(ARGV[7]) then
	return answer('others')
end
local wake = tonumber(m[6]) or 0
local wanted = not lease and (open > 0 or inputs > 0 or wakes)
local due = wanted and not (wake > 0 and wake <= now)
-- The index must know it even if the wake has come already, because the index may have a reservation.
-- A wake moves to the queue of the new priority, or of the graph of a thread that had none.
if (wanted or wake > 0 and queue(priority, graph) ~= queue(m[8], m[7])) and not announced(ARGV[1], queue(priority, graph), '') then
	return { 'announce', queue(priority, graph) }
end

-- From here on it is accepted.
if not m[1] then
	local sets = about(int(now), ARGV[3], ARGV[8], ARGV[9], ARGV[10], ARGV[11])
	sets[#sets + 1] = 'id'
	sets[#sets + 1] = ARGV[4]
	set(sets)
	m[1] = ARGV[4]
else
	if (m[7] or '') == '' and graph ~= '' then
		call('HSET', key, 'graph', graph)
	end
	if priority ~= (m[8] or '3') then
		call('HSET', key, 'priority', priority)
	end
end
for _, i in ipairs(new) do
	posted = posted + 1
	if ARGV[i] ~= WAKE then
		local rest = ARGV[3] .. int(now) .. ':' .. ARGV[i + 2]
		deliver(posted, { state = 'u', kind = ARGV[i], id = ARGV[i + 1], rest = rest }, ARGV[i + 3])
	end
	results[(i - 12) / 2 + 1] = int(posted)
end
call('HSET', key, 'posted', int(posted))
if due then
	call('HSET', key, 'wake', int(now))
end
if wakes then
	call('HSET', key, 'attempts', '0')
end
call('PERSIST', key)
return answer('ok', due)
