-- The arguments, in their order. A key is an index in KEYS.
local at = 0
local function arg() at = at + 1; return ARGV[at] end
local function int() return tonumber(arg()) end
local function key() return KEYS[int()] end

-- read adds the members of ranges to an answer: for each its key, from, to, limit, and 1 for the
-- reverse order. 0 stands for a key that is no sorted set.
local function read(out)
  local first = #out
  for n = 1, int() do
    local k, from, to, limit, reverse = key(), arg(), arg(), int(), arg()
    local found
    if reverse == '1' then
      found = redis.pcall('ZREVRANGEBYLEX', k, to, from, 'LIMIT', 0, limit)
    else
      found = redis.pcall('ZRANGEBYLEX', k, from, to, 'LIMIT', 0, limit)
    end
    if found.err then
      if not string.find(found.err, 'WRONGTYPE', 1, true) then return found end
      found = 0
    end
    out[first + n] = found
  end
  return out
end
