-- Decides about a request by all its limits, with the arithmetic of belfry_core::limits::decide.
--
-- KEYS[i]        the counter of a bucket: the number of requests admitted in its window. It expires
--                with the window, by the clock of this server
-- ARGV[1]        check, peek, charge or refund
-- ARGV[2i]       the number of requests that the limit admits
-- ARGV[2i + 1]   the length of its window in milliseconds
--
-- Returns, for each bucket, the count before this request and the milliseconds left.
local mode, all_admitted, states = ARGV[1], true, {}

for i, key in ipairs(KEYS) do
  local requests, window = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local stored, count, left = redis.pcall('GET', key), 0, 0
  if type(stored) == 'string' and stored:match('^[1-9]%d*$') then count = tonumber(stored) end
  if count >= 1 and count <= 4294967295 then -- any other value was not written by us: start at 0
    left = redis.call('PTTL', key)
    if left == -1 or left > window then -- a clock was set back, or the window was shortened
      redis.call('PEXPIRE', key, window)
      left = window
    end
  end
  if left < 1 then count, left = 0, window end
  all_admitted = all_admitted and count < requests
  states[2 * i - 1], states[2 * i] = count, left
end

for i, key in ipairs(KEYS) do
  local count = states[2 * i - 1]
  if mode == 'check' and all_admitted or mode == 'charge' and count < tonumber(ARGV[2 * i]) then
    if count == 0 then
      redis.call('SET', key, 1, 'PX', states[2 * i])
    else
      redis.call('INCR', key)
    end
  elseif mode == 'refund' and count > 0 then
    redis.call('DECR', key)
  end
end

return states
