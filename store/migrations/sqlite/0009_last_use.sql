-- The last use of tokens and apps.

-- Stored again when the stored one is at least an hour old. Null before the first use.
alter table tokens add column last_used_at bigint;
alter table apps add column last_used_at bigint;

-- The tokens of an app itself by the latest possible time of their last use.
create index tokens_of_app_by_use
    on tokens (app_id, coalesce(last_used_at + 3600, created_at), lookup) where account_id is null;

-- The apps that a sweep may delete. From now on used_at is set when a user authorized an app, no
-- longer when it was issued a token without a user.
create index apps_by_use on apps (coalesce(last_used_at + 3600, created_at)) where used_at is null;

-- Deleted with their app, if no user authorized it.
create index registrations_of_app on audit_events (app_id) where kind = 'app_register';
