-- Everything that Belfry remembers. Columns are text and bigint only, so that both engines read
-- the same statements: digests are base64url text, times are whole seconds since the Unix epoch,
-- documents are JSON text. Times that are null have not come.
--
-- Every key begins with the account or the app, so that a cluster can distribute the tables by it;
-- a digest is 256 random bits and needs no unique index of its own.

-- A person who can sign in. The password is an Argon2id string in the PHC form.
create table accounts (
    id          bigint not null primary key,
    name        text   not null unique,
    email       text   unique,
    password    text   not null,
    created_at  bigint not null,
    disabled_at bigint
);

-- A registered application. Only the digest of its secret is kept.
create table apps (
    id            bigint not null primary key,
    client_id     text   not null unique,
    secret        text   not null,
    name          text   not null,
    website       text,
    redirect_uris text   not null, -- a JSON array
    scopes        text   not null, -- separated by spaces
    created_at    bigint not null,
    disabled_at   bigint
);

-- An access token, of an account through an app, or of the app itself when account_id is null.
-- A revoked token stays, so that its owner can be told what became of it.
create table tokens (
    digest     text   not null,
    app_id     bigint not null,
    account_id bigint,
    scopes     text   not null,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint,
    primary key (app_id, digest)
);

create index tokens_by_digest on tokens (digest);

-- Which apps an account has let in.
create index tokens_of_account on tokens (account_id, app_id) where account_id is not null;
create index tokens_by_expiry on tokens (expires_at) where expires_at is not null;

-- An authorization code: what was granted, and the token it was spent for.
create table codes (
    digest     text   not null,
    app_id     bigint not null,
    account_id bigint not null,
    scopes     text   not null,
    details    text   not null, -- JSON: what the token request must match
    expires_at bigint not null,
    used_at    bigint,
    token      text,            -- the digest of the token
    primary key (app_id, digest)
);

create index codes_by_digest on codes (digest);

create index codes_by_expiry on codes (expires_at);

-- A signed-in browser.
create table sessions (
    digest     text   not null,
    account_id bigint not null,
    created_at bigint not null,
    seen_at    bigint not null,
    expires_at bigint not null,
    primary key (account_id, digest)
);

create index sessions_by_digest on sessions (digest);
create index sessions_by_expiry on sessions (expires_at);

-- The push rules of an account in one scope: its own rules and what it changed of the built-in
-- ones, never the built-in rules themselves. A writer names the version it read.
create table rulesets (
    account_id bigint not null,
    scope      text   not null, -- 'global' or 'device/<profile_tag>'
    version    bigint not null,
    document   text   not null, -- JSON
    primary key (account_id, scope)
);
