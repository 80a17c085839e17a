-- Keeps part of a version that is being imported, in a hash of its own that goes by itself when the import dies.
--
-- KEYS: the hash. ARGV: milliseconds to keep it, then fields and values.

for i = 2, #ARGV, PORTION do
	call('HSET', key, unpack(ARGV, i, math.min(i + PORTION - 1, #ARGV)))
end
call('PEXPIRE', key, ARGV[1])
return { 'ok' }
