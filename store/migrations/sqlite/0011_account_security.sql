-- Sessions and the deletion of accounts.

-- Browser and operating system, such as 'Firefox/Linux'; either may be empty.
alter table sessions add column browser text;

-- When the account is deleted, at the request of its owner.
alter table accounts add column delete_at bigint;

create index accounts_by_deletion on accounts (delete_at) where delete_at is not null;
