-- Describes the open version, or a thread that has none.

local open, first, last = thread()
if call('EXISTS', key) == 0 then
	return { 'absent' }
end
return { open > 0 and 'ok' or 'none', describe(open, first, last, clock()) }
