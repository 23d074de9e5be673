-- The schema. Columns are text or bigint only, so that both engines run the same statements:
-- times are whole seconds since the Unix epoch, documents are JSON with a version.
--
-- Secrets are split tokens: the row is found by the lookup key (hexadecimal, ordered by time), and
-- only the SHA-256 digest of the random part is stored (base64url).

-- A user account. The password is an Argon2id hash in PHC format.
create table accounts (
    id          bigint not null primary key,
    name        text   not null unique,
    email       text   unique,
    password    text   not null,
    created_at  bigint not null,
    disabled_at bigint
);

-- A registered app.
create table apps (
    id            bigint not null primary key,
    client_id     text   not null unique,
    secret        text   not null, -- lookup key and digest of the client secret
    name          text   not null,
    website       text,
    redirect_uris text   not null, -- JSON array
    scopes        text   not null, -- separated by spaces
    created_at    bigint not null,
    disabled_at   bigint
);

-- An access token, issued to an app for an account, or to the app itself if account_id is null.
-- Revoked tokens remain, so that their use can be reported as such.
create table tokens (
    lookup     text   not null primary key,
    digest     text   not null,
    app_id     bigint not null,
    account_id bigint,
    scopes     text   not null,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint
) without rowid;

-- The apps authorised by an account.
create index tokens_of_account on tokens (account_id, app_id) where account_id is not null;
create index tokens_by_expiry on tokens (expires_at) where expires_at is not null;

-- An authorization code: the grant, and the token it was redeemed for.
create table codes (
    lookup     text   not null primary key,
    digest     text   not null,
    app_id     bigint not null,
    account_id bigint not null,
    scopes     text   not null,
    binding    text   not null, -- JSON: what the token request must match
    expires_at bigint not null,
    used_at    bigint,
    token      text             -- lookup key of the token
) without rowid;

create index codes_by_expiry on codes (expires_at);

-- A browser session of a signed-in account.
create table sessions (
    lookup     text   not null primary key,
    digest     text   not null,
    account_id bigint not null,
    created_at bigint not null,
    seen_at    bigint not null,
    expires_at bigint not null,
    lang       text             -- language chosen at sign-in
) without rowid;

create index sessions_of_account on sessions (account_id);
create index sessions_by_expiry on sessions (expires_at);

-- The push rules of an account in one scope: user-defined rules and overrides of built-in rules.
-- An update must name the version it read (optimistic locking).
create table rulesets (
    account_id bigint not null,
    scope      text   not null, -- 'global' or 'device/<profile_tag>'
    version    bigint not null,
    document   text   not null, -- JSON
    primary key (account_id, scope)
) without rowid;

-- An authorization request that waits for sign-in and consent. The browser only gets its handle,
-- and the request is bound to the cookie of the browser (lookup key and digest). After sign-in or
-- sign-out the previous cookie is in came_from, so that a double submit of the form still finds the
-- request.
create table requests (
    lookup     text   not null primary key,
    digest     text   not null,
    app_id     bigint not null,
    browser    text   not null,
    came_from  text,
    account_id bigint,          -- account that signed in for it
    parameters text   not null, -- JSON
    expires_at bigint not null
) without rowid;

create index requests_by_expiry on requests (expires_at);
