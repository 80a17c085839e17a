-- Deletes the thread, all versions of it.

local open = thread()
if open > 0 then
	local held = busy(int(open) .. ':', clock())
	if held then
		return held
	end
end
local stamp = call('HGET', key, 'stamp') or ''
call('UNLINK', key)
return { 'ok', stamp }
