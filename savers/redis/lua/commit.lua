-- The plain case of append.lua, before all else: one record that follows the head of a log under the fence, without
-- writes, and with no pending writes to drop. It sets up nothing, since that is what most of a script's time goes
-- into. Whatever is different is left, untouched, to what follows.

if ARGV[1] == '' and ARGV[5] == '' and ARGV[12] == '1' and #ARGV == 18 then
	local key, v = KEYS[1], ARGV[11] .. ':'
	local entry, committed = v .. 'i:' .. ARGV[13], v .. 'i:' .. ARGV[15]
	local head = v .. 'n:' .. ARGV[2]
	local m = redis.call('HMGET', key, 'open', v .. 'fence', head, entry, v .. 'p:' .. ARGV[15], committed, v .. 'rev')
	if m[1] == ARGV[11] and m[2] == ARGV[4] and m[3] and string.sub(m[3], 1, 16) == ARGV[3] and not m[4] and not m[5] then
		local number, seq, snap, first, count = string.match(m[3], '^(%d+):(%d+):(%d+):(%d+):%d+:(%d+)$', 17)
		local t = redis.call('TIME')
		seq = string.format('%.0f', seq + 1)
		if ARGV[16] == '1' then
			snap = seq
		end
		if not m[6] then
			committed = entry -- it is of another log, or none: nothing to mark
		elseif string.sub(m[6], -2) ~= ':c' then
			m[6] = m[6] .. ':c'
		end
		redis.call('HSET', key, committed, m[6] or '', entry, ARGV[14] .. number .. ':' .. seq .. ':' .. snap,
			v .. 'r:' .. number .. ':' .. seq, ARGV[18],
			head, ARGV[13] .. number .. ':' .. seq .. ':' .. snap .. ':' .. first .. ':' .. ARGV[17] .. ':' .. string.format('%.0f', count + 1),
			v .. 'rev', string.format('%.0f', m[7] + 1),
			v .. 'until', string.format('%.0f', t[1] * 1000000 + t[2] + ARGV[6]))
		return { 'ok', ARGV[11], seq, '', '', {} }
	end
end
