-- An authorization request that waits for its user. Its handle goes through the user's browser;
-- what was asked stays here, bound to that browser by the digest of its cookie.
create table requests (
    digest     text   not null primary key,
    app_id     bigint not null,
    browser    text   not null,
    account_id bigint,          -- who has signed in for it
    details    text   not null, -- JSON: what was asked, and how it is to be answered
    expires_at bigint not null
) without rowid;

create index requests_by_expiry on requests (expires_at);

-- The language that was chosen when the session began.
alter table sessions add column lang text;
