-- Describes the open version; for a thread that has none it returns the stamp alone.

local open, first, last = thread()
if open == 0 then
	return { 'absent', call('HGET', key, 'stamp') or '' }
end
return { 'ok', describe(open, first, last, clock()) }
