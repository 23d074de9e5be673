-- The initial schema. Columns are text or bigint only, so that both engines run the same statements:
-- times are whole seconds since the Unix epoch, documents are JSON with a version.
--
-- Secrets are split tokens: the row is found by the lookup key (hexadecimal, ordered by time), and
-- only the SHA-256 digest of the random part is stored (base64url).
--
-- Primary keys of most tables begin with the account or app, so that a cluster could distribute
-- these tables. Lookup keys contain random bytes, so their indexes need not be unique.

-- A user account. Names and e-mail addresses are ordered by bytes, as in SQLite, so that their
-- indexes find those with a given beginning.
create table accounts (
    id               bigint not null primary key,
    name             text   collate "C" not null unique,
    email            text   collate "C" unique,
    unverified_email text   collate "C",  -- given at sign-up; not unique, not accepted at sign-in
    password         text   not null,     -- Argon2id hash in PHC format
    role             text   not null default 'user', -- 'user' or 'admin'
    created_at       bigint not null,
    signed_in_at     bigint,              -- last sign-in, in a browser or a Matrix client
    disabled_at      bigint,
    delete_at        bigint,              -- when it is deleted, at the request of its owner
    credential_version bigint not null default 0 -- raised by every change of the password
);

create index accounts_by_unverified_email on accounts (unverified_email)
    where unverified_email is not null;
create index accounts_admins on accounts (id) where role = 'admin';
create index accounts_disabled on accounts (id) where disabled_at is not null;
create index accounts_disabled_by_name on accounts (name) where disabled_at is not null;
create index accounts_by_deletion on accounts (delete_at) where delete_at is not null;

-- A registered app.
create table apps (
    id                    bigint not null primary key,
    client_id             text   not null unique,
    secret                text   not null, -- lookup key and digest of the client secret
    previous_secret       text,            -- the client secret before the last rotation
    previous_secret_until bigint,          -- when the previous secret is no longer accepted
    name                  text   not null,
    website               text,
    redirect_uris         text   not null, -- JSON array
    scopes                text   not null, -- separated by spaces
    created_at            bigint not null,
    last_used_at          bigint,          -- updated at most once an hour
    used_at               bigint,          -- set when a sweep sees that a user authorized it, and
                                           -- for an app of the operator or of the server
    disabled_at           bigint,
    auth_method           text   not null, -- client_secret; none for a public client
    grant_types           text   not null, -- separated by spaces
    registered_by         text   not null, -- api, operator, matrix or command_line
    issuer                text   not null  -- oauth or id: the endpoints below /oauth or /id
);

-- The apps that a sweep may delete, by the latest possible time of their last use.
create index apps_by_use on apps (coalesce(last_used_at + 3600, created_at)) where used_at is null;

-- An access token, issued to an app for an account, or to the app itself if account_id is null; or
-- a token family. Revoked tokens remain, so that their use can be reported as such.
create table tokens (
    lookup       text   not null,
    digest       text   not null,
    app_id       bigint not null,
    account_id   bigint,
    scopes       text   not null,
    created_at   bigint not null,
    last_used_at bigint,          -- updated at most once an hour
    expires_at   bigint,
    revoked_at   bigint,
    grant_id     text,            -- null for a token of the app itself
    -- Of a token family, whose tokens are computed from the lookup key and a generation:
    base         bigint,          -- the generation that was last refreshed
    newest       bigint,          -- the generation that was issued last
    is_used      bigint,          -- 1 if the newest access token was used
    issued_at    bigint,          -- when the newest generation was issued
    primary key (app_id, lookup)
);

create index tokens_by_lookup on tokens (lookup);

create index tokens_of_grant on tokens (account_id, app_id, grant_id)
    where account_id is not null;

create index tokens_of_app_itself on tokens (app_id) where account_id is null;
create index tokens_by_expiry on tokens (expires_at) where expires_at is not null;
create index tokens_by_revocation on tokens (revoked_at) where revoked_at is not null;

-- An authorization code, and the token it was redeemed for.
create table codes (
    lookup     text   not null,
    digest     text   not null,
    app_id     bigint not null,
    account_id bigint not null,
    scopes     text   not null,
    binding    text   not null, -- JSON: what the token request must match
    expires_at bigint not null,
    methods    text   not null, -- of authentication, copied from the session
    authenticated_at bigint not null,
    used_at    bigint,
    token      text,            -- lookup key of the token
    grant_id   text   not null,
    primary key (app_id, lookup)
);

create index codes_by_lookup on codes (lookup);
create index codes_by_expiry on codes (expires_at);

-- A browser session of a signed-in account.
create table sessions (
    lookup     text   not null,
    digest     text   not null,
    account_id bigint not null,
    browser    text,            -- with operating system, as 'Firefox/Linux'; either may be empty
    lang       text,            -- language chosen at sign-in
    address    text,            -- network, as '192.0.2.x'; null if addresses are not recorded
    methods    text   not null, -- of authentication, separated by spaces
    authenticated_at bigint not null,
    created_at bigint not null,
    seen_at    bigint not null,
    expires_at bigint not null,
    credential_version bigint not null default 0, -- that of the account at sign-in
    primary key (account_id, lookup)
);

create index sessions_by_lookup on sessions (lookup);
create index sessions_by_expiry on sessions (expires_at);

-- A sign-in after the first factor, which waits for the second. The browser has its handle.
create table sign_ins (
    lookup     text   not null,
    digest     text   not null,
    account_id bigint not null,
    credential_version bigint not null, -- that of the account at the first factor
    methods    text   not null, -- of authentication, separated by spaces
    expires_at bigint not null,
    attempts   bigint not null, -- at the second factor
    primary key (account_id, lookup)
);

create index sign_ins_by_lookup on sign_ins (lookup);
create index sign_ins_by_expiry on sign_ins (expires_at);

-- The push rules of an account in one scope: user-defined rules and overrides of built-in rules.
-- An update must name the version it read (optimistic locking).
create table rulesets (
    account_id bigint not null,
    scope      text   not null, -- 'global' or 'device/<profile_tag>'
    version    bigint not null,
    document   text   not null, -- JSON
    expires_at bigint,          -- when its next timed rule ends, rounded up to a second
    primary key (account_id, scope)
);

create index rulesets_by_expiry on rulesets (expires_at, account_id, scope)
    where expires_at is not null;

-- An authorization request that waits for sign-in and consent. The browser only gets its handle,
-- and the request is bound to the cookie of the browser (lookup key and digest). After sign-in or
-- sign-out the previous cookie is in came_from, so that a double submit of the form still finds the
-- request.
create table requests (
    lookup     text   not null,
    digest     text   not null,
    app_id     bigint not null,
    account_id bigint,          -- account that signed in for it
    browser    text   not null,
    came_from  text,
    parameters text   not null, -- JSON
    expires_at bigint not null,
    primary key (app_id, lookup)
);

create index requests_by_lookup on requests (lookup);
create index requests_by_expiry on requests (expires_at);

-- The audit trail. An event is written in the transaction of the change that it records. Events
-- that anyone can cause without limit are counted: one row for each hour and subject.
create table audit_events (
    id         text   not null primary key, -- hexadecimal, ordered by time
    at         bigint not null,             -- of the first event, if count is above 1
    last_at    bigint not null,
    kind       text   not null,
    outcome    text   not null,
    origin     text   not null,
    address    text,                        -- of the client, as far as the settings allow
    request_id text,
    detail     text,
    account_id bigint,
    app_id     bigint,
    count      bigint not null
);

create index audit_events_by_time on audit_events (at);

-- Deleted with their app, if no user authorized it.
create index registrations_of_app on audit_events (app_id) where kind = 'app_register';

-- Names of deleted accounts, which nobody can sign up with.
create table reserved_names (
    name        text   collate "C" not null primary key,
    reserved_at bigint not null
);

-- Accounts and apps that were deleted some minutes ago, whose rows a sweep deletes once more.
create table deleted_owners (
    kind     text   not null, -- 'account' or 'app'
    id       bigint not null,
    found_at bigint,          -- by the first sweep after the deletion
    primary key (kind, id)
);

-- The last sweep of all nodes, in the only row, and when the clock is trusted again.
create table sweeps (
    id           bigint not null primary key,
    swept_at     bigint not null,
    trusted_from bigint not null
);

-- Rows that transactions lock so that they run one after the other. A missing row is inserted.
create table locks (
    name text not null primary key
);

-- A grant: an account allowed an app these scopes. It is created with a code or a token, and is
-- active while it has a valid token. It is deleted when the access is revoked, and with the last
-- code or token that refers to it.
create table grants (
    account_id    bigint not null,
    app_id        bigint not null,
    id            text   not null, -- lookup key of the code or token that it was created with
    scopes        text   not null, -- in alphabetical order
    redirect_uri  text   not null, -- empty if it is https, or for a grant created with a token
    device_id     text   not null, -- of a Matrix client; empty otherwise
    device_name   text,
    created_at    bigint not null,
    pending_until bigint not null, -- when its newest code expires
    primary key (account_id, app_id, id)
);

create index grants_of_app on grants (app_id);

-- Key pairs that sign tokens. The newest one of a purpose signs; VAPID keys remain for the receivers
-- that were registered with them.
create table signing_keys (
    public_key  text   not null primary key, -- base64url
    purpose     text   not null,             -- vapid: push services recognise this server by it
    private_key text   not null,             -- PKCS #8, sealed
    created_at  bigint not null
);

-- A receiver: where a device receives notifications. It is a subscription of a Mastodon client, for
-- which app_id is empty and push_key is the lookup key of the token, or a pusher of a Matrix client.
-- A node that sends it a message sets claim and lease_until; when the lease is over, another node may
-- claim it. So at most one message to a receiver is in flight.
create table receivers (
    account_id     bigint not null,
    id             bigint not null, -- random, below 2^31
    protocol       text   not null, -- mastodon, gateway or web_push
    token          text,            -- lookup key of the token that registered it
    app_id         text   not null,
    push_key       text   not null,
    document       text   not null, -- JSON
    secrets        text   not null, -- JSON, sealed
    origin         text   not null, -- scheme, host and port to which messages are sent
    vapid_key      text,            -- public key
    ack_digest     text,            -- of the acknowledgement that activates it; null if it is active
    ack_expires_at bigint,
    created_at     bigint not null,
    succeeded_at   bigint,          -- last delivered message
    failed_at      bigint,          -- last failed attempt
    failure        text,            -- reason of the last failed attempt
    denied_since   bigint,          -- first 401 or 403 since the last delivered message
    denied_count   bigint not null default 0,
    failures       bigint not null default 0, -- failed attempts since the last delivered message
    is_proven      bigint not null default 0, -- 1 if the last attempt delivered its message
    paused_until   bigint not null default 0,
    waiting        bigint not null default 0, -- number of waiting deliveries; triggers count them
    due_at         bigint,          -- of the next attempt, or end of the lease; null if none waits
    claim          text,            -- random, of one claim by a node
    lease_until    bigint,          -- in database time
    in_flight      text,            -- the delivery that the claim sends
    primary key (account_id, id),
    unique (app_id, push_key, account_id)
);

create index receivers_by_token on receivers (token) where token is not null;
create index receivers_due on receivers (origin, is_proven, due_at, account_id, id)
    where due_at is not null;
create index receivers_by_claim on receivers (claim) where claim is not null;

-- The content of an event or notification, while deliveries of it wait.
create table messages (
    id         text   not null primary key,
    content    text   not null, -- JSON, sealed
    created_at bigint not null
);

-- The database's time in whole seconds, by the name of SQLite's function.
create or replace function unixepoch() returns bigint language sql stable
    as 'select cast(floor(extract(epoch from statement_timestamp())) as bigint)';

-- A message on its way to a receiver, and afterwards a line of the delivery log.
create table deliveries (
    id          text   not null primary key, -- hexadecimal, ordered by time
    dedup_key   text   not null unique,      -- digest that recognises a repeated request
    account_id  bigint not null,
    receiver_id bigint not null,
    protocol    text   not null,             -- of the receiver
    origin      text   not null,             -- of the receiver
    message_id  text,                        -- null when it has finished
    event_id    text   not null,             -- of the event or notification
    room_id     text,                        -- of the event
    topic       text,                        -- digest; a newer message of the topic replaces this one
    details     text   not null,             -- JSON: rule, tweaks and counts
    created_at  bigint not null,
    expires_at  bigint not null,
    attempts    bigint not null default 0,
    outcome     text,                        -- delivered, dropped, expired or removed
    status      bigint,                      -- HTTP status of the last response
    error       text,                        -- reason of the last failed attempt
    finished_at bigint                       -- null while it waits
);

create index deliveries_waiting on deliveries (account_id, receiver_id, attempts, id)
    where finished_at is null;
create index deliveries_waiting_for_origin on deliveries (origin, protocol, id)
    where finished_at is null;
create index deliveries_expiring on deliveries (expires_at) where finished_at is null;
create index deliveries_waiting_of_topic on deliveries (topic, account_id, receiver_id)
    where finished_at is null and topic is not null;
create index deliveries_by_message on deliveries (message_id) where message_id is not null;
create index deliveries_of_account on deliveries (account_id, id);

-- A lane: the deliveries to one origin, which pause together if the origin fails.
create table lanes (
    origin        text   not null primary key,
    due_at        bigint,                   -- when a delivery may be due; null if none waits
    paused_until  bigint not null default 0,
    failures      bigint not null default 0, -- pauses since the last success
    max_in_flight bigint not null default 1,
    is_proven     bigint not null default 0, -- 1 if messages were delivered when it was last active
    succeeded_at  bigint                     -- last delivered message
);

create index lanes_due on lanes (is_proven, due_at) where due_at is not null;

-- The numbers of deliveries that were accepted, and that ended with each outcome, since the database
-- was created. PostgreSQL divides each number between rows, so that transactions do not wait for each
-- other.
create table delivery_totals (
    protocol text   not null,
    event    text   not null, -- accepted, delivered, dropped, expired or removed
    shard    bigint not null, -- random
    number   bigint not null,
    primary key (protocol, event, shard)
);

-- Adds to a row that no other transaction has locked, or to a new one.
create or replace function count_deliveries(
    counted_protocol text,
    counted_event text,
    counted_number bigint
)
returns void language plpgsql as $$
begin
    update delivery_totals
    set number = number + counted_number
    where protocol = counted_protocol and event = counted_event and shard = (
        select shard
        from delivery_totals
        where protocol = counted_protocol and event = counted_event
        order by shard
        limit 1
        for update skip locked
    );
    if not found then
        insert into delivery_totals (protocol, event, shard, number)
        values (counted_protocol, counted_event, 1e15 * random(), counted_number);
    end if;
end
$$;

-- Triggers count deliveries, and make a receiver due while one waits for it, so that no statement can
-- forget it. Receivers are locked in the order of their keys, to avoid deadlocks.
create or replace function on_deliveries_accepted() returns trigger language plpgsql as $$
declare
    receiver record;
begin
    perform count_deliveries(protocol, 'accepted', number)
    from (select protocol, count(*) as number from accepted group by protocol) as by_protocol;
    for receiver in
        select account_id, receiver_id, count(*) as number, min(created_at) as created_at
        from accepted
        group by account_id, receiver_id
        order by account_id, receiver_id
    loop
        update receivers
        set waiting = waiting + receiver.number,
            due_at = coalesce(due_at, greatest(receiver.created_at, paused_until))
        where account_id = receiver.account_id and id = receiver.receiver_id;
        -- Another transaction has just deleted it.
        if not found then
            update deliveries
            set outcome = 'removed', finished_at = unixepoch(), message_id = null
            where account_id = receiver.account_id
              and receiver_id = receiver.receiver_id
              and finished_at is null;
        end if;
    end loop;
    return null;
end
$$;

create trigger deliveries_accepted after insert on deliveries
    referencing new table as accepted
    for each statement execute function on_deliveries_accepted();

-- A waiting delivery that is deleted counts as removed.
create or replace function on_delivery_ended() returns trigger language plpgsql as $$
declare
    delivery record;
begin
    if tg_op = 'DELETE' then delivery := old; else delivery := new; end if;
    perform count_deliveries(delivery.protocol, coalesce(delivery.outcome, 'removed'), 1);
    update receivers
    set waiting = waiting - 1,
        due_at = case when waiting > 1 or claim is not null then due_at end
    where account_id = delivery.account_id and id = delivery.receiver_id;
    return null;
end
$$;

create trigger deliveries_ended after update of outcome on deliveries
    for each row when (old.outcome is null and new.outcome is not null)
    execute function on_delivery_ended();

create trigger deliveries_deleted after delete on deliveries
    for each row when (old.outcome is null) execute function on_delivery_ended();

create or replace function on_receiver_deleted() returns trigger language plpgsql as $$
begin
    update deliveries
    set outcome = 'removed', finished_at = unixepoch(), message_id = null
    where account_id = old.account_id and receiver_id = old.id and finished_at is null;
    return null;
end
$$;

create trigger receivers_deleted after delete on receivers
    for each row when (old.waiting > 0) execute function on_receiver_deleted();

create trigger receivers_replaced after update of id on receivers
    for each row when (old.id <> new.id) execute function on_receiver_deleted();
