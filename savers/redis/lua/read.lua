-- Answers the time, and the members of ranges.
local time = redis.call('TIME')
local out = read({time[1], time[2]})
if out.err then return out end
if int() == 1 then -- and of the index: whether it is whole, and the notes that are due
  local rows, placed, notes = KEYS[1], KEYS[2], KEYS[3]
  local index = {redis.call('ZSCORE', rows, '\255') and '1' or '0'}
  local due = string.format('%.0f', now() - int())
  for _, m in ipairs(redis.call('ZRANGEBYSCORE', notes, '-inf', due, 'LIMIT', 0, int())) do
    local id = string.sub(m, string.sub(m, 1, 1) == 'x' and 2 or 10)
    for _, v in ipairs({m, redis.call('ZSCORE', notes, m), id, load(placed, id).rev}) do index[#index + 1] = v end
  end
  out[#out + 1] = index
end
return out
