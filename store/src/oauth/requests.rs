//! Authorization requests that wait for sign-in and consent.

use belfry_core::audit::NewAuditEvents;
use belfry_core::form::Pairs;
use belfry_core::secret::HashedSecret;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::engine::{FromRow, Row, sql};
use crate::error::StoreError;
use crate::store::event_source::event_source_for;
use crate::store::{Change, Store, WriteOutcome, to_json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRequest {
    pub app_id: i64,
    pub browser_cookie: HashedSecret,
    pub account_id: Option<i64>,
    pub parameters: Pairs,
    pub expires_at: Timestamp,
}

/// The stored form of the parameters. They are stored as they were received and parsed again when
/// they are read, so the format does not depend on the types of the parsed request.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParametersJson<P> {
    version: u32,
    parameters: P,
}

fn parameters_from_json(text: &str) -> Option<Pairs> {
    let json: ParametersJson<Pairs> = serde_json::from_str(text).ok()?;
    (json.version == 1).then_some(json.parameters)
}

/// Reads a request and the cookie that its browser had before the last sign-in or sign-out.
impl FromRow for (StoredRequest, Option<HashedSecret>) {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let request = StoredRequest {
            app_id: row.take()?,
            browser_cookie: row.take()?,
            account_id: row.take()?,
            parameters: parameters_from_json(&row.take::<String>()?)
                .ok_or(StoreError::Unreadable("authorization request"))?,
            expires_at: row.take()?,
        };
        Ok((request, row.take()?))
    }
}

impl Store {
    /// Stores a request under its handle. Returns `NotFound` if its app or its account does not
    /// exist or is disabled.
    pub async fn add_request(
        &self,
        handle: HashedSecret,
        request: &StoredRequest,
    ) -> Result<WriteOutcome, StoreError> {
        let insert = sql!(
            r"
                insert into requests (lookup, digest, app_id, browser, account_id, parameters,
                    expires_at)
                select cast($lookup as text), cast($digest as text), cast($app_id as bigint),
                    cast($browser as text), cast($account_id as bigint),
                    cast($parameters as text), cast($expires_at as bigint)
                where exists (select 1 from apps where id = $app_id and disabled_at is null)
                  and (
                      cast($account_id as bigint) is null
                        or exists (
                            select 1
                            from accounts
                            where id = $account_id
                              and disabled_at is null
                        )
                  )
                returning lookup
            ",
            [
                lookup = handle.lookup_key,
                digest = handle.digest,
                app_id = request.app_id,
                browser = request.browser_cookie,
                account_id = request.account_id,
                parameters =
                    to_json(&ParametersJson { version: 1, parameters: &request.parameters })?,
                expires_at = request.expires_at
            ]
        );
        self.update(Change::unaudited(insert)).await
    }

    /// Deletes the oldest requests beyond `max_count`.
    pub async fn trim_requests(&self, max_count: usize) -> Result<(), StoreError> {
        let delete = sql!(
            r"
                delete from requests
                where (expires_at, lookup) <= (
                    select expires_at, lookup
                    from requests
                    order by expires_at desc, lookup desc
                    limit 1 offset $max_count
                )
            ",
            [max_count = i64::try_from(max_count).unwrap_or(i64::MAX)]
        );
        self.write(Change::unaudited(delete)).await.map(drop)
    }

    /// Finds a request by its handle and browser cookie, unless it has expired. The cookie that the
    /// browser had before its last sign-in or sign-out is accepted too.
    pub async fn request(
        &self,
        handle: HashedSecret,
        browser_cookie: HashedSecret,
        now: Timestamp,
    ) -> Result<Option<StoredRequest>, StoreError> {
        let select = sql!(
            r"
                select digest, {request_columns}
                from requests
                where lookup = $lookup
                  and expires_at > $now
            ",
            [lookup = handle.lookup_key, now]
        );
        let row: Option<(StoredRequest, _)> = self.read_secret(handle, select).await?;
        Ok(row.and_then(|(request, came_from)| {
            (request.browser_cookie == browser_cookie || came_from == Some(browser_cookie))
                .then_some(request)
        }))
    }

    /// Binds a request to the browser's new cookie after sign-in (`Some` account) or sign-out
    /// (`None`). Also succeeds if it was already rebound from the same cookie, because the form was
    /// submitted twice. Returns `NotFound` if the request is not found, or the account does not
    /// exist or is disabled.
    pub async fn rebind_request(
        &self,
        handle: HashedSecret,
        old_cookie: HashedSecret,
        new_cookie: HashedSecret,
        account_id: Option<i64>,
    ) -> Result<WriteOutcome, StoreError> {
        if self.request(handle, old_cookie, Timestamp::MIN).await?.is_none() {
            return Ok(WriteOutcome::NotFound);
        }
        let update = sql!(
            r"
                update requests
                set browser = $new_cookie, came_from = $old_cookie, account_id = $account_id
                where lookup = $lookup
                  and (browser = $old_cookie or came_from = $old_cookie)
                  and (
                      cast($account_id as bigint) is null
                        or exists (
                            select 1
                            from accounts
                            where id = $account_id
                              and disabled_at is null
                        )
                  )
                returning lookup
            ",
            [lookup = handle.lookup_key, old_cookie, new_cookie, account_id]
        );
        self.update(Change::unaudited(update)).await
    }

    /// Removes a request to complete it, with the browser's current cookie. Only one of several
    /// concurrent calls gets it. Only a denial is audited here; an approval is audited with its
    /// code.
    pub async fn consume_request(
        &self,
        denial: Option<&NewAuditEvents>,
        handle: HashedSecret,
        browser_cookie: HashedSecret,
        now: Timestamp,
    ) -> Result<Option<StoredRequest>, StoreError> {
        if self.request(handle, browser_cookie, now).await?.is_none() {
            return Ok(None);
        }
        let delete = sql!(
            r"
                delete from requests
                where lookup = $lookup
                  and browser = $browser
                  and expires_at > $now
                returning {request_columns}
            ",
            [lookup = handle.lookup_key, browser = browser_cookie, now]
        );
        let event_source = event_source_for!(
            requests,
            "lookup = $lookup and browser = $browser and expires_at > $now",
            [lookup = handle.lookup_key, browser = browser_cookie, now]
        );
        let change = match denial {
            Some(events) => Change::new(events, [], event_source).and(delete),
            None => Change::unaudited(delete),
        };
        let [deleted_rows] = self.write_rows(change).await?;
        let request = deleted_rows.into_iter().next().map(FromRow::from_row).transpose()?;
        Ok(request.map(|(request, _)| request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of earlier versions must remain readable: extend the list, never change it.
    #[test]
    fn parameters_stored_by_earlier_versions_are_readable() {
        let text = r#"{"version":1,"parameters":[["client_id","a"],["state","\"é"]]}"#;
        let pairs: Pairs = [("client_id", "a"), ("state", "\"é")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        assert_eq!(parameters_from_json(text).as_ref(), Some(&pairs));
        let json = ParametersJson { version: 1, parameters: &pairs };
        assert_eq!(to_json(&json).unwrap(), text.into());
        for unreadable_text in
            ["", "{}", "[]", r#"{"version":2,"parameters":[]}"#, r#"{"parameters":[]}"#]
        {
            assert_eq!(parameters_from_json(unreadable_text), None, "{unreadable_text}");
        }
    }
}
