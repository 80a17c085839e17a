-- Says all of a version but its records: for Export and Prune.
--
-- ARGV: version, '1' when a living lease is in the way, '1' when the writes are to come whole.

local now = clock()
local open, first, last = thread()
if ARGV[2] == '1' and open > 0 then
	local held = busy(int(open) .. ':', now)
	if held then
		return held
	end
end
local n = version(tonumber(ARGV[1]), open, first, last)
if not n then
	return { 'absent', call('EXISTS', key) == 1 and '1' or '' }
end
local v, logs = int(n) .. ':', {}
for k = 1, tonumber(call('HGET', key, v .. 'nk')) or 0 do
	local name = call('HGET', key, v .. 'N:' .. int(k))
	logs[#logs + 1] = name
	logs[#logs + 1] = call('HGET', key, v .. 'n:' .. name)
	logs[#logs + 1] = call('HGET', key, v .. 'g:' .. int(k)) or ''
end
local pending = {}
if ARGV[3] == '1' then
	pending = writes(v, bases(v, true))
else
	for _, base in ipairs(bases(v)) do
		each(v, base, function(name)
			pending[#pending + 1] = base
			pending[#pending + 1] = name
			pending[#pending + 1] = '0:0:'
		end)
	end
end
local messages = {} -- three values each
if ARGV[3] == '1' and n == open then
	local all = handled()
	untaken(0, function(number) all[#all + 1] = number end)
	table.sort(all)
	for _, number in ipairs(all) do
		messages[#messages + 1] = int(number)
		messages[#messages + 1] = call('HGET', key, 'm:' .. int(number))
		messages[#messages + 1] = call('HGET', key, 'b:' .. int(number)) or ''
	end
end
return { 'ok', call('HGET', key, v .. 'uid') or '', logs, pending, packs(v), call('HGET', key, v .. 'late') or '', describe(n, first, last, now), messages }
