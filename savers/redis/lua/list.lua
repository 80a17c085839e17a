-- Lists a page of the index: ids by their bytes, each with its stamp, how many seconds old that is, and when the thread was
-- created, 0 if the index does not know it.
--
-- KEYS: the set, the stamps, the creation times. ARGV: from, to (as ZRANGEBYLEX has them), how many.

local now = tonumber(redis.call('TIME')[1])
local ids = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', '0', ARGV[3])
local all = { 'ok' }
for _, id in ipairs(ids) do
	local stamp = redis.call('HGET', KEYS[2], id) or ''
	all[#all + 1] = id
	all[#all + 1] = string.sub(stamp, 1, 16)
	all[#all + 1] = string.format('%.0f', now - (tonumber(string.sub(stamp, 17)) or 0))
	all[#all + 1] = string.format('%.0f', tonumber(redis.call('ZSCORE', KEYS[3], id) or 0))
end
return all
