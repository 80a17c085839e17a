-- On a cluster: notes that calls are about to change threads, and answers the time.
local placed, notes = KEYS[2], KEYS[3]
for _ = 1, int() do
  local member, id = arg(), arg()
  note(notes, now(), member)
  local p = load(placed, id)
  p.calls = p.calls + 1
  save(placed, id, p)
end
return {string.format('%.0f', now())}
