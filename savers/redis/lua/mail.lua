-- Reads messages, in the order of their numbers, until they come to enough bytes.
--
-- ARGV: after which number; how many, 0 for all; 'r' for refused ones, else untaken; enough.

local after, limit, enough = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local all, size, count, more = {}, 0, 0, ''

-- add adds a message, and reports whether there is enough.
local function add(n, state)
	if size >= enough or limit > 0 and count == limit then
		more = '1'
		return true
	end
	local m = call('HGET', key, 'm:' .. int(n))
	if string.sub(m, 1, 1) ~= state then
		return false
	end
	local body = call('HGET', key, 'b:' .. int(n)) or ''
	for _, value in ipairs({ int(n), m, body }) do
		all[#all + 1] = value
	end
	size, count = size + #body + #m, count + 1
	return false
end

if ARGV[3] == 'r' then
	for _, n in ipairs(handled()) do
		if n > after and add(n, 'r') then
			break
		end
	end
else
	untaken(after, function(n) return add(n, 'u') end)
end
return { 'ok', more, all }
