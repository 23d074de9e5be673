//! Fragments of SQL that several statements share: `{name}` in a statement.

/// The fragments by name. A condition is complete in itself, so `and` may precede and follow it.
#[rustfmt::skip]
pub(super) const FRAGMENTS: &[(&str, &str)] = &[
    ("account_columns", r"
        id, name, email, unverified_email, password, role, created_at, signed_in_at, disabled_at,
        delete_at, credential_version"),
    ("app_columns", r"
        id, client_id, secret, previous_secret, previous_secret_until, name, website,
        redirect_uris, scopes, auth_method, grant_types, registered_by, issuer, created_at,
        used_at, last_used_at, disabled_at"),
    ("request_columns", r"
        app_id, browser, account_id, parameters, expires_at, came_from"),
    // Of the table `receivers r`.
    ("receiver_columns", r"
        r.account_id, r.id, r.token, r.document, r.secrets, r.origin, r.vapid_key,
        r.ack_digest, r.ack_expires_at, r.created_at, r.succeeded_at, r.failed_at, r.failure,
        r.denied_since, r.denied_count, r.failures, r.is_proven"),

    // The parameters of `list_sql!`.
    ("list", r"
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38,
        $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50"),

    // Setting `disabled_at` of an account or app to the parameter enables or disables it. It does
    // not if the row is disabled, or enabled, already.
    ("changes_disabled_state", r"
        (disabled_at is null) = (cast($disabled_at as bigint) is not null)"),
    // The account is not an enabled admin, or there is another one.
    ("is_not_last_admin", r"
        (
            role <> 'admin' or disabled_at is not null
            or exists (
                select 1
                from accounts o
                where o.role = 'admin' and o.disabled_at is null and o.id <> accounts.id
            )
        )"),
    // The account may be deleted: it is due, if a time is given, and not the last admin.
    ("is_deletable", r"
        id = $id
        and (cast($due_before as bigint) is null or delete_at < $due_before)
        and {is_not_last_admin}"),

    // The account has the credential version, if one is given.
    ("has_version", r"
        (
            cast($version as bigint) is null
            or exists (
                select 1
                from accounts
                where id = $account and credential_version = $version
            )
        )"),
    // The latest possible last use of a token or app, because uses within an hour are not stored.
    // For a row that was never used, it is the creation time. The indexes have the same expression.
    ("last_use", r"
        coalesce(last_used_at + 3600, created_at)"),
    // The same for deleting the least recently used tokens: an unused token counts as used in its
    // first minute, so that it is not deleted before its first use.
    ("last_use_or_issue", r"
        case when last_used_at is null and created_at > cast($now as bigint) - 60
            then created_at + 3600
            else {last_use} end"),
    // The row of `tokens` is valid.
    ("is_valid", r"
        revoked_at is null and (expires_at is null or expires_at > $now)"),
    // The id of the existing grant for a new code or token, or a new id.
    ("existing_or_new_grant_id", r"
        coalesce(
            (
                select min(id)
                from grants
                where account_id = $account_id
                  and app_id = $app_id
                  and scopes = $granted_scopes
                  and redirect_uri = $granted_uri
                  and device_id = $device_id
            ),
            $lookup
        )"),
    // The row of `grants` has a valid token.
    ("has_valid_token", r"
        exists (
            select 1
            from tokens t
            where t.account_id = grants.account_id
              and t.app_id = grants.app_id
              and t.grant_id = grants.id
              and {is_valid}
        )"),
    // The row of `grants` has a valid token apart from the new one.
    ("has_other_valid_token", r"
        exists (
            select 1
            from tokens t
            where t.account_id = grants.account_id
              and t.app_id = grants.app_id
              and t.grant_id = grants.id
              and {is_valid}
              and t.lookup <> $lookup
        )"),
    // A batch of the tokens of an account's grants to an app: those beyond the 100 most recently
    // used valid ones of each grant, and beyond the 100 most recently used ones that are not valid.
    ("excess_tokens", r"
        select lookup, is_valid
        from (
            select lookup, is_valid, row_number() over (
                partition by case when is_valid = 1 then grant_id else '' end
                order by last_use desc, lookup desc
            ) as place
            from (
                select lookup, grant_id, {last_use_or_issue} as last_use,
                    case when {is_valid} then 1 else 0 end as is_valid
                from tokens
                where account_id = $account
                  and app_id = $app
            ) as tokens_of_app
        ) as ordered
        where place > 100
        order by lookup
        limit 1000"),
    // A batch of an account's sessions beyond the 50 most recently used.
    ("excess_sessions", r"
        select lookup
        from sessions
        where account_id = $account
        order by seen_at desc, lookup desc
        limit 1000 offset 50"),

    // The receiver `r` is live: its account exists and is enabled; if it has a token, the token is
    // valid and its app is enabled.
    ("is_live", r"
        exists (
            select 1
            from accounts a
            where a.id = r.account_id and a.disabled_at is null
        )
        and (
            r.token is null
            or exists (
                select 1
                from tokens t
                join apps p on p.id = t.app_id
                where t.lookup = r.token
                  and {is_valid}
                  and p.disabled_at is null
            )
        )"),
    // The table `r` with the account and token of a new receiver. Empty if the receiver would not
    // be live or the token belongs to another account.
    ("new_receiver", r"
        (select cast($account_id as bigint) as account_id, cast($token as text) as token) as r
        where (
            r.token is null
            or exists (
                select 1
                from tokens o
                where o.lookup = r.token and o.account_id = r.account_id
            )
        )
        and {is_live}"),
    // The receivers to delete because the new one exceeds the account's maximum: first those that
    // are not live, then the least recently successful.
    ("excess_receivers", r"
        select id
        from (
            select r.id
            from receivers r
            where r.account_id = $account_id
              and not (r.app_id = $app_id and r.push_key = $push_key)
              and exists (
                  select 1
                  from receivers n
                  where n.account_id = $account_id and n.id = $id
              )
            order by
                case when {is_live} then 0 else 1 end,
                coalesce(r.succeeded_at, r.created_at) desc,
                r.id desc
            limit 1000 offset $max_others
        ) as excess"),
    // The receiver of another account has this push key, which is now that of `$account_id`.
    ("has_push_key_of_other", r"
        app_id = $app_id
        and push_key = $push_key
        and account_id <> $account_id
        and protocol = $protocol"),

    // Ends deliveries that no one needs any more. An earlier attempt's error is not the reason.
    ("remove_deliveries", r"
        update deliveries
        set status = null,
            error = $error,
            outcome = 'removed',
            finished_at = $now,
            message_id = null
        where finished_at is null"),
    // A node sends the delivery.
    ("is_in_flight", r"
        exists (
            select 1
            from receivers r
            where r.account_id = deliveries.account_id
              and r.id = deliveries.receiver_id
              and r.claim is not null
              and r.in_flight = deliveries.id
        )"),

    // Removes waiting deliveries of an account, except those in flight. They are found through the
    // receivers, because the log of an account is longer than its queue.
    ("remove_read_deliveries", r"
        {remove_deliveries}
        and (account_id, receiver_id) in (
            select r.account_id, r.id
            from receivers r
            where r.account_id = $account_id
              and r.waiting > 0
        )
        and not {is_in_flight}"),

    // No node has a lease of the receiver. The time is that of the database, because the clocks of
    // nodes may differ. A lease that ends in more than an hour is ignored: it was stored while the
    // clock of the database was ahead.
    ("is_unleased", r"
        (
            receivers.lease_until is null
            or receivers.lease_until <= unixepoch()
            or receivers.lease_until > unixepoch() + 3600
        )"),
    // The receiver has the claim of an attempt.
    ("has_claim", r"
        account_id = $account and id = $receiver and claim = $claim"),
    // Ends the claim of a receiver, which is due at the parameter if deliveries wait for it.
    ("release", r"
        due_at = case when waiting > 0 then cast($due_at as bigint) end,
        claim = null,
        lease_until = null"),
    // A pause that is longer than any server can request is ignored: it was stored by a node whose
    // clock was wrong.
    ("lane_is_paused", r"
        (lanes.paused_until > $now and lanes.paused_until <= $now + 90000)"),
    // The delivery was attempted, or would have been if its receiver `r` and its lane did not fail.
    ("has_failed", r"
        (
            deliveries.attempts > 0
            or r.failures > 0
            or exists (
                select 1
                from lanes
                where lanes.origin = deliveries.origin and lanes.failures > 0
            )
        )"),
];
