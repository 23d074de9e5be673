-- Retention and deletion.

-- Set when a sweep sees that an app has issued a code or token, and by whoever adds an app that must
-- stay. An app without it is deleted some time after its registration.
alter table apps add column used_at bigint;

create index apps_unused on apps (created_at) where used_at is null;
create index tokens_of_app on tokens (app_id);
create index tokens_by_revocation on tokens (revoked_at) where revoked_at is not null;

-- The last sweep of all nodes, in the only row, and when the clock is trusted again.
create table sweeps (
    id           bigint not null primary key,
    swept_at     bigint not null,
    trusted_from bigint not null
);

-- Names of deleted accounts, which nobody can sign up with.
create table reserved_names (
    name        text   not null primary key,
    reserved_at bigint not null
);
