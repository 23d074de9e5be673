-- The audit trail. An event is written in the transaction of the change that it records. Events
-- that strangers can cause without limit are counted: one row for each hour and subject.
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
