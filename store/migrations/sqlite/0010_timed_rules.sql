-- Timed rules.

-- When the next rule of the document ends, rounded up to a second. Null if none does. A sweep then
-- removes the rule.
alter table rulesets add column expires_at bigint;

create index rulesets_by_expiry on rulesets (expires_at, account_id, scope)
    where expires_at is not null;
