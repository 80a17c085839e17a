-- On a cluster: places threads in the index. A call that had noted a thread does it unless its note
-- is gone, and as the revision of the row says, unless a newer one did. Whoever looks at old notes
-- has no note of its own. If a thread has no row, rev is what the index had before.
local rows, placed, notes = KEYS[1], KEYS[2], KEYS[3]
for _ = 1, int() do
  local id, own, exists, rev, expiry, places, ended = arg(), arg(), arg() == '1', arg(), int(), members(), members()
  if own == '' or redis.call('ZSCORE', notes, own) then
    local p = load(placed, id)
    if exists and rev >= p.rev or rev == p.rev then
      for _, m in ipairs(p.places) do redis.call('ZREM', rows, m) end
      for _, m in ipairs(places) do redis.call('ZADD', rows, 0, m) end
      p.rev, p.places = rev, places
      redis.call('ZREM', notes, 'x' .. id)
      if expiry > 0 then note(notes, now() + expiry * 1000, 'x' .. id) end
    end
    for _, m in ipairs(ended) do p.calls = p.calls - redis.call('ZREM', notes, m) end
    save(placed, id, p)
  end
end
return {}
