-- Reads the descriptions of schemas that a version has.
--
-- ARGV: version.

local n = version(tonumber(ARGV[1]), thread())
if not n then
	return { 'absent' }
end
return { 'ok', writes(int(n) .. ':', { NONE }) }
