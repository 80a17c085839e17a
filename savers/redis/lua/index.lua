-- What is known of the places of a thread in the index: a field of a hash, with the revision of
-- the row that they follow from, how many calls are about to change the row, and the places. On a
-- single server only threads that expire have it. A sorted set has notes by time: of calls that
-- are about to change a row, and of threads that expire.
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function members()
  local all = {}
  for n = 1, int() do all[n] = arg() end
  return all
end

local function load(placed, id)
  local stored = redis.call('HGET', placed, id)
  if stored then return cmsgpack.unpack(stored) end
  return {rev = '', calls = 0, places = {}}
end

local function save(placed, id, p)
  if p.calls <= 0 and #p.places == 0 then
    redis.call('HDEL', placed, id)
  else
    redis.call('HSET', placed, id, cmsgpack.pack(p))
  end
end

-- note adds a note at a time.
local function note(notes, time, member)
  redis.call('ZADD', notes, string.format('%.0f', time), member)
end

-- forget removes the places of a thread that has expired, or may have.
local function forget(rows, placed, notes, id)
  if redis.call('HEXISTS', placed, id) == 0 then return end
  for _, m in ipairs(load(placed, id).places) do redis.call('ZREM', rows, m) end
  redis.call('HDEL', placed, id)
  redis.call('ZREM', notes, 'x' .. id)
end

-- expires notes the places of a thread that expires.
local function expires(placed, notes, id, milliseconds, places)
  save(placed, id, {rev = '', calls = 0, places = places})
  note(notes, now() + milliseconds * 1000, 'x' .. id)
end
