-- The arguments, in their order. A key is an index in KEYS.
local at = 0
local function arg() at = at + 1; return ARGV[at] end
local function int() return tonumber(arg()) end
local function key() return KEYS[int()] end

-- items returns up to limit members of the table of items whose keys are the ends of the keys of
-- members in a range, from a byte on.
local function items(k, from, to, limit, first)
  local found = {}
  while true do
    local n = limit < 0 and -1 or limit - #found
    local named = redis.pcall('ZRANGEBYLEX', k, from, to, 'LIMIT', 0, n)
    if named.err then return named end
    for _, m in ipairs(named) do
      local p = '\8' .. string.sub(m, first, string.find(m, '\0\0', first, true))
      found[#found + 1] = redis.call('ZRANGEBYLEX', k, '[' .. p .. '\0', '(' .. p .. '\1', 'LIMIT', 0, 1)[1]
    end
    if n < 0 or #named < n or #found == limit then return found end
    from = '(' .. named[#named]
  end
end

-- read adds the members of ranges to an answer: for each its key, from, to, limit, and 0, or 1 for
-- the reverse order, or the first byte of the key of an item. 0 stands for a key that is no sorted
-- set.
local function read(out)
  local first = #out
  for n = 1, int() do
    local k, from, to, limit, how = key(), arg(), arg(), int(), int()
    local found
    if how == 1 then
      found = redis.pcall('ZREVRANGEBYLEX', k, to, from, 'LIMIT', 0, limit)
    elseif how > 1 then
      found = items(k, from, to, limit, how)
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
