-- Reads the number of the newest message. It is not common.lua's.

return { 'ok', redis.call('HGET', KEYS[1], 'posted') or '0' }
