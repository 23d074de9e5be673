-- Judges a call by all its limits in one step. The same arithmetic as belfry_core::limits::judge.
--
-- KEYS[i]        the counter of a limit: how many requests its window admitted; it lives as long
--                as the window, by the time of this server
-- ARGV[1]        check, peek or charge
-- ARGV[2i]       how many requests the limit admits
-- ARGV[2i + 1]   how long its window lasts, in milliseconds
--
-- Returns, for each limit, the count before this call and the milliseconds that are left.
local counting, all, told = ARGV[1], true, {}

for i, key in ipairs(KEYS) do
  local requests, window = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local kept, count, left = redis.pcall('GET', key), 0, 0
  if type(kept) == 'string' and kept:match('^[1-9]%d*$') then count = tonumber(kept) end
  if count >= 1 and count <= 4294967295 then -- anything else is no count of ours: begin anew
    left = redis.call('PTTL', key)
    if left == -1 or left > window then -- a clock was set back, or the window made shorter
      redis.call('PEXPIRE', key, window)
      left = window
    end
  end
  if left < 1 then count, left = 0, window end
  all = all and count < requests
  told[2 * i - 1], told[2 * i] = count, left
end

for i, key in ipairs(KEYS) do
  local count = told[2 * i - 1]
  if counting == 'check' and all or counting == 'charge' and count < tonumber(ARGV[2 * i]) then
    if count == 0 then
      redis.call('SET', key, 1, 'PX', told[2 * i])
    else
      redis.call('INCR', key)
    end
  end
end

return told
