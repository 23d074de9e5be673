-- Decides about a request by limits whose keys are in one slot, with the arithmetic of
-- belfry_core::limits::decide.
--
-- KEYS[i]        the counter of a bucket: the number of requests admitted in its window. It expires
--                with the window, by the clock of this server
-- ARGV[1]        check, peek, charge or refund; or reserve, which is a check that release may undo
-- ARGV[2i]       the number of requests that the limit admits; for release the end of the window in
--                which the request was reserved, as Unix time in milliseconds
-- ARGV[2i + 1]   the length of its window in milliseconds
--
-- Returns, for each bucket, the count before this request and the milliseconds left. For reserve,
-- the time of this server follows.
local mode, all_admitted, states, now = ARGV[1], true, {}, nil

if mode == 'reserve' or mode == 'release' then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

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
  local count, left, argument = states[2 * i - 1], states[2 * i], tonumber(ARGV[2 * i])
  if (mode == 'check' or mode == 'reserve') and all_admitted
      or mode == 'charge' and count < argument then
    if count == 0 then
      redis.call('SET', key, 1, 'PX', left)
    else
      redis.call('INCR', key)
    end
  elseif count > 0 and (mode == 'refund'
      -- The ends of two windows of one key are at least one window apart.
      or mode == 'release' and math.abs(now + left - argument) < ARGV[2 * i + 1] / 2) then
    redis.call('DECR', key)
  end
end

if mode == 'reserve' then states[#states + 1] = now end
return states
