//! Authorization requests that wait for their user.

use belfry_core::secret::Digest;
use jiff::Timestamp;

use super::engine::{Row, sql};
use super::{Store, StoreError};

/// A request as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The app that asks.
    pub app: i64,
    /// The digest of the cookie of the browser that it came through.
    pub browser: Digest,
    /// The account that has signed in for it.
    pub account: Option<i64>,
    /// What was asked, as JSON.
    pub details: String,
    /// From when on it is no good.
    pub expires_at: Timestamp,
}

impl Request {
    fn read(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            app: row.take()?,
            browser: row.take()?,
            account: row.take()?,
            details: row.take()?,
            expires_at: row.take()?,
        })
    }
}

impl Store {
    /// Remembers a request under its handle.
    pub async fn add_request(&self, handle: Digest, request: &Request) -> Result<(), StoreError> {
        let insert = sql(
            "insert into requests (digest, app_id, browser, account_id, details, expires_at) \
             values ($1, $2, $3, $4, $5, $6)",
            [
                handle.into(),
                request.app.into(),
                request.browser.into(),
                request.account.into(),
                request.details.as_str().into(),
                request.expires_at.into(),
            ],
        );
        self.engine.write(insert.into()).await.map(drop)
    }

    /// The request of this handle and this browser, if it has not ended by `now`. The cookie that
    /// the browser had before its last sign-in still names it.
    pub async fn request(
        &self,
        handle: Digest,
        browser: Digest,
        now: Timestamp,
    ) -> Result<Option<Request>, StoreError> {
        let select = sql(
            "select app_id, browser, account_id, details, expires_at from requests \
             where digest = $1 and (browser = $2 or came_from = $2) and expires_at > $3",
            [handle.into(), browser.into(), now.into()],
        );
        self.read_one(select, Request::read).await
    }

    /// Hands a request over when its browser gets another cookie, because somebody signed in
    /// (`Some` account) or out (`None`). Whether the request was that browser's: also when it has
    /// moved before from the very same cookie, because somebody pressed the button twice.
    pub async fn rebind_request(
        &self,
        handle: Digest,
        from: Digest,
        to: Digest,
        account: Option<i64>,
    ) -> Result<bool, StoreError> {
        let update = sql(
            "update requests set browser = $3, came_from = $2, account_id = $4 \
             where digest = $1 and (browser = $2 or came_from = $2) returning digest",
            [handle.into(), from.into(), to.into(), account.into()],
        );
        let [moved] = self.write_rows(update).await?;
        Ok(!moved.is_empty())
    }

    /// Takes a request to answer it, with the browser's cookie of now: of many who try, one gets it
    /// and the others get nothing.
    pub async fn consume_request(
        &self,
        handle: Digest,
        browser: Digest,
        now: Timestamp,
    ) -> Result<Option<Request>, StoreError> {
        let delete = sql(
            "delete from requests where digest = $1 and browser = $2 and expires_at > $3 \
             returning app_id, browser, account_id, details, expires_at",
            [handle.into(), browser.into(), now.into()],
        );
        let [taken] = self.write_rows(delete).await?;
        taken.into_iter().next().map(Request::read).transpose()
    }
}
