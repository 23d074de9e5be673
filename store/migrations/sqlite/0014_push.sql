-- The key pairs by which push services recognise this server (VAPID). The newest one is used for
-- new receivers; the others remain for the receivers that were registered with them.
create table vapid_keys (
    public_key  text   not null primary key, -- base64url
    private_key text   not null,             -- PKCS #8, sealed
    created_at  bigint not null
) without rowid;

-- A receiver: where a device receives notifications. It is a subscription of a Mastodon client, for
-- which app_id is empty and push_key is the lookup key of the token, or a pusher of a Matrix client.
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
    primary key (account_id, id),
    unique (app_id, push_key, account_id)
) without rowid;

create index receivers_by_token on receivers (token) where token is not null;
create index receivers_by_origin on receivers (origin);

-- The content of an event or notification, while deliveries of it wait.
create table messages (
    id         text   not null primary key,
    content    text   not null, -- JSON, sealed
    created_at bigint not null
) without rowid;

-- A message on its way to a receiver, and afterwards a line of the delivery log. A node that sends
-- it sets claim and lease_until; when the lease is over, another node may claim it.
create table deliveries (
    id          text   not null primary key, -- hexadecimal, ordered by time
    dedup_key   text   not null unique,      -- digest that recognises a repeated request
    account_id  bigint not null,
    receiver_id bigint not null,
    origin      text   not null,             -- of the receiver
    message_id  text,                        -- null when it has finished
    event_id    text   not null,             -- of the event or notification
    details     text   not null,             -- JSON: rule, tweaks and counts
    created_at  bigint not null,
    expires_at  bigint not null,
    due_at      bigint not null,             -- of the next attempt
    attempts    bigint not null default 0,
    claim       text,                        -- random, of one claim by a node
    lease_until bigint,                      -- in database time
    outcome     text,                        -- delivered, dropped, expired or removed
    status      bigint,                      -- HTTP status of the last response
    error       text,                        -- reason of the last failed attempt
    finished_at bigint                       -- null while it waits
) without rowid;

-- Each partial index has a different condition. Without statistics PostgreSQL could not tell those
-- with the same condition apart, and would read a whole index.
create index deliveries_waiting on deliveries (origin, due_at, id) where finished_at is null;
create index deliveries_waiting_of_account on deliveries (account_id) where outcome is null;
create index deliveries_expiring on deliveries (expires_at)
    where finished_at is null and message_id is not null;
create index deliveries_by_message on deliveries (message_id) where message_id is not null;
create index deliveries_by_claim on deliveries (claim) where claim is not null;
create index deliveries_of_account on deliveries (account_id, id);

-- A lane: the deliveries to one origin, which pause together after failures. A claim locks its row.
create table lanes (
    origin       text   not null primary key,
    paused_until bigint not null,
    failures     bigint not null -- since the last success
) without rowid;
