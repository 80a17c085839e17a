-- A change. Its arguments are where those of its writes begin, its conditions, the time after which
-- it must not be made, what only this change leaves behind, reads, and the writes.

-- holds reports whether keys have as many members in ranges as expected: of all, or of any.
local function holds(any)
  local result = not any
  for _ = 1, int() do
    local k, from, to, want = key(), arg(), arg(), int()
    if (redis.call('ZLEXCOUNT', k, from, to) == want) == any then result = any end
  end
  return result
end

-- vectors changes the vector sets of the indexes that have one: it removes elements from all, and
-- adds others.
local function vectors(sets)
  local has = {}
  local all = redis.call('HGETALL', sets)
  for n = 1, #all, 2 do if all[n + 1] == 'v' then has[all[n]] = sets .. ':' .. all[n] end end
  for _ = 1, int() do
    local element = arg()
    for _, set in pairs(has) do redis.call('VREM', set, element) end
  end
  for _ = 1, int() do
    local set, element, values = has[arg()], arg(), arg()
    if set then redis.call('VADD', set, 'FP32', values, element, 'NOQUANT') end
  end
end

local function write()
  for _ = 1, int() do -- threads that are new or gone, which may have expired before
    forget(key(), key(), key(), arg())
  end
  for _ = 1, int() do redis.call('ZREMRANGEBYLEX', key(), arg(), arg()) end
  for _ = 1, int() do redis.call('ZADD', key(), 0, arg()) end
  for _ = 1, int() do -- threads that expire, or do not
    local k, milliseconds = key(), int()
    if milliseconds > 0 then redis.call('PEXPIRE', k, milliseconds) else redis.call('PERSIST', k) end
  end
  for _ = 1, int() do expires(key(), key(), arg(), int(), members()) end
  for _ = 1, int() do vectors(key()) end
  for _ = 1, int() do redis.call('PUBLISH', arg(), arg()) end
end

local writes = int()
local all, deadline, made = holds(false), int(), holds(true)
if deadline > 0 and now() > deadline then return {'late'} end
if not all and not made then return {'changed'} end
local reads = at
if all then
  at = writes
  write()
  at = reads
end
return read({'ok'})
