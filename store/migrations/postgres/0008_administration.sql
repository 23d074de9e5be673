-- Administration.

-- 'user' or 'admin'.
alter table accounts add column role text not null default 'user';

-- The last sign-in, in a browser or a Matrix client.
alter table accounts add column signed_in_at bigint;

create index accounts_disabled on accounts (id) where disabled_at is not null;
create index accounts_disabled_by_name on accounts (name) where disabled_at is not null;
create index accounts_admins on accounts (id) where role = 'admin';

-- The client secret before the last rotation, and until when it is accepted.
alter table apps add column previous_secret text;
alter table apps add column previous_secret_until bigint;

-- Names and e-mail addresses are ordered by bytes, as in SQLite, so that their indexes find those
-- with a given beginning.
alter table accounts
    alter column name type text collate "C",
    alter column email type text collate "C",
    alter column unverified_email type text collate "C";
alter table reserved_names alter column name type text collate "C";
create index accounts_by_unverified_email on accounts (unverified_email)
    where unverified_email is not null;

-- Rows that transactions lock so that they run one after the other. A missing row is inserted.
create table locks (
    name text not null primary key
);
