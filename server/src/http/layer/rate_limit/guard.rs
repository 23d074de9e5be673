//! The limits on guessing and on piling up apps, for the handlers that guard something.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_core::limits::{CountMode, Network};

use super::headers::GuardOutcome;
use crate::app::AppState;
use crate::config::LimitMode;
use crate::http::error::limit_exceeded::LimitExceeded;
use crate::http::extract::client::Client;

/// Stands before what could be guessed, for one caller.
///
/// No limit here counts for a name alone, so that nobody can lock out another from elsewhere.
pub struct Guard {
    state: Arc<AppState>,
    from: Network,
    /// Where the headers of the answer learn of what was counted.
    overheard: GuardOutcome,
}

/// What could be done too often.
enum Guarded<'a> {
    SignIn(&'a str),
    ClientSecret(&'a str),
    AppRegistration,
    SignUp,
}

impl Guard {
    /// For a caller at this address.
    #[must_use]
    pub fn new(state: Arc<AppState>, from: IpAddr) -> Self {
        Self { state, from: Network::of(from), overheard: GuardOutcome::default() }
    }

    /// Before a password is looked at, right or wrong: counts for the address, and for the name
    /// as tried from there.
    ///
    /// # Errors
    /// When there were too many attempts.
    pub async fn sign_in(&self, name: &str) -> Result<(), LimitExceeded> {
        self.judge(CountMode::Check, &Guarded::SignIn(name)).await
    }

    /// Before a client's secret is looked at: whether there were too many wrong ones. Counts
    /// nothing, so that a client which knows its secret is never held up.
    ///
    /// # Errors
    /// When there were too many wrong ones.
    pub async fn client_secret(&self, client_id: &str) -> Result<(), LimitExceeded> {
        self.judge(CountMode::Peek, &Guarded::ClientSecret(client_id)).await
    }

    /// After a client's secret was found to be wrong, or the client unknown.
    pub async fn wrong_client_secret(&self, client_id: &str) {
        // Whether there is room for more is asked before the next one.
        let _ = self.judge(CountMode::Charge, &Guarded::ClientSecret(client_id)).await;
    }

    /// Before an app is registered.
    ///
    /// # Errors
    /// When the address has registered too many.
    pub async fn app_registration(&self) -> Result<(), LimitExceeded> {
        self.judge(CountMode::Check, &Guarded::AppRegistration).await
    }

    /// Before an account is made by another call than the one that the table knows: counts for the
    /// same limits, but for those of every call, which have counted it already.
    ///
    /// # Errors
    /// When the address has made too many.
    pub async fn sign_up(&self) -> Result<(), LimitExceeded> {
        self.judge(CountMode::Check, &Guarded::SignUp).await
    }

    async fn judge(&self, mode: CountMode, what: &Guarded<'_>) -> Result<(), LimitExceeded> {
        let limits = &self.state.limits;
        let active = limits.active();
        if active.mode == LimitMode::Off {
            return Ok(());
        }
        let now = self.state.clock.now();
        let buckets = match what {
            Guarded::SignIn(name) => active.own.sign_in(self.from, name),
            Guarded::ClientSecret(client_id) => active.own.client_secret(self.from, client_id),
            Guarded::AppRegistration => active.own.app_registration(self.from),
            Guarded::SignUp => active.table.sign_up_buckets(self.from),
        };
        let decision = limits.judge(&active, mode, &buckets, now).await;
        let refused = LimitExceeded::by(&decision, active.mode);
        // A look that counts nothing and stops nobody is nothing to tell of.
        if mode != CountMode::Peek || refused.is_some() {
            self.overheard.set(decision);
        }
        refused.map_or(Ok(()), Err)
    }
}

impl FromRequestParts<Arc<AppState>> for Guard {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<AppState>,
    ) -> Result<Self, Infallible> {
        let address = Client::inspect(parts, state, |client| client.address).await;
        let overheard = parts.extensions.get::<GuardOutcome>().cloned().unwrap_or_default();
        Ok(Self { overheard, ..Self::new(Arc::clone(state), address) })
    }
}
