//! Abuse limits, for the handlers that verify secrets, create apps and accounts, or test devices.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Method, Uri};
use belfry_core::audit::{AuditKind, AuditOutcome, CountedSubject};
use belfry_core::limits::{Bucket, Buckets, CountMode, Network, RateLimitDecision};
use belfry_store::Account;

use crate::app::AppState;
use crate::auth::authentication::{Guess, GuessGuard};
use crate::config::RateLimitMode;
use crate::http::error::LimitExceeded;
use crate::http::extract::audit::RequestAudit;
use crate::limits::ActiveLimits;

/// The abuse limits of one client, and its audit events. Keys for clients that are not signed in contain their network,
/// because an attacker could otherwise lock a user out. Clones share the state of an attempt.
#[derive(Clone)]
pub struct AbuseGuard {
    network: Network,
    /// The request, which the rate limits have counted.
    request: (Method, Uri),
    pub(crate) audit: RequestAudit,
    /// Receives the decision for the response headers.
    decision_slot: GuardDecisionSlot,
    /// True if the last attempt was counted. In shadow mode, an attempt beyond the limit is
    /// admitted without being counted, and must not be refunded.
    is_counted: Arc<AtomicBool>,
}

impl AbuseGuard {
    pub fn new(state: AppState, address: IpAddr) -> Self {
        let audit = RequestAudit::new(state, address);
        Self::from_audit(audit, (Method::GET, Uri::default()), GuardDecisionSlot::default())
    }

    fn from_audit(
        audit: RequestAudit,
        request: (Method, Uri),
        decision_slot: GuardDecisionSlot,
    ) -> Self {
        let network = Network::from_address(audit.address);
        let is_counted = Arc::default();
        Self { network, request, audit, decision_slot, is_counted }
    }

    /// Sets the origin of audit events to a page, for a request from a browser.
    pub(crate) fn for_page(self) -> Self {
        Self { audit: self.audit.for_page(), ..self }
    }

    /// Checks the limit on wrong client secrets before a secret is verified. Nothing is counted, so
    /// that correct secrets do not use up the limit. The audit event of a rejection names the app,
    /// if it exists.
    pub async fn check_client_secret(
        &self,
        client_id: &str,
        app: Option<i64>,
    ) -> Result<(), LimitExceeded> {
        let limits = self.audit.state.limits.active();
        let buckets = limits.abuse.client_secret_buckets(self.network, client_id);
        self.apply_limits(app, &limits, CountMode::Peek, &buckets).await
    }

    pub async fn count_wrong_client_secret(&self, client_id: &str, app: Option<i64>) {
        let limits = self.audit.state.limits.active();
        let buckets = limits.abuse.client_secret_buckets(self.network, client_id);
        // The limit is enforced before the next secret is verified.
        let _ = self.apply_limits(app, &limits, CountMode::Charge, &buckets).await;
    }

    pub async fn count_app_registration(&self) -> Result<(), LimitExceeded> {
        let limits = self.audit.state.limits.active();
        let buckets = limits.abuse.app_registration_buckets(self.network);
        self.apply_limits(None, &limits, CountMode::Check, &buckets).await
    }

    /// Counts a new authorization request, before it is stored.
    pub async fn count_authorization_request(&self) -> Result<(), LimitExceeded> {
        let limits = self.audit.state.limits.active();
        let buckets = limits.abuse.authorization_request_buckets(self.network);
        self.apply_limits(None, &limits, CountMode::Check, &buckets).await
    }

    /// Counts a message that a user sends to a device: a test, or the request to acknowledge it.
    pub async fn count_device_test(&self, account_id: i64) -> Result<(), LimitExceeded> {
        let limits = self.audit.state.limits.active();
        let buckets = limits.abuse.device_test_buckets(account_id);
        self.apply_limits(None, &limits, CountMode::Check, &buckets).await
    }

    /// Refunds the sign-up that was counted for a name lookup, if no account has the name: only
    /// lookups that reveal an account use up the limit.
    pub async fn refund_name_lookup(&self) {
        let limits = self.audit.state.limits.active();
        let buckets = self.sign_up_buckets(&limits);
        let _ = self.apply_limits(None, &limits, CountMode::Refund, &buckets).await;
        // After the refund nothing is counted, so the headers have nothing to report.
        drop(self.decision_slot.take());
    }

    /// Counts a sign-up on the page or through the Matrix API towards the limits of Mastodon's
    /// sign-up endpoint. Limits that apply to every request have already counted it.
    pub async fn count_sign_up(&self) -> Result<(), LimitExceeded> {
        let limits = self.audit.state.limits.active();
        let buckets = self.sign_up_buckets(&limits);
        self.apply_limits(None, &limits, CountMode::Check, &buckets).await
    }

    fn sign_up_buckets<'a>(&self, limits: &'a ActiveLimits) -> Buckets<'a> {
        let (method, uri) = &self.request;
        limits.table.sign_up_buckets(method.as_str(), uri.path(), self.network)
    }

    /// Counts, checks or refunds an attempt, depending on `mode`. The audit event of a rejection
    /// names the app, if one is given.
    async fn apply_limits(
        &self,
        app: Option<i64>,
        limits: &ActiveLimits,
        mode: CountMode,
        buckets: &[Bucket<'_>],
    ) -> Result<(), LimitExceeded> {
        if limits.mode == RateLimitMode::Off
            || mode == CountMode::Refund && !self.is_counted.load(Ordering::Relaxed)
        {
            return Ok(());
        }
        let state = &self.audit.state;
        let decision = state.limits.check(limits, mode, buckets, state.clock.now()).await;
        if mode == CountMode::Check {
            self.is_counted.store(decision.is_admitted(), Ordering::Relaxed);
        }
        let result = LimitExceeded::check(&decision, limits.mode);
        if result.is_err() {
            let detail = decision.closest_status().map(|closest| closest.limit.name().to_owned());
            let subject = CountedSubject::new(AuditKind::AbuseLimit, AuditOutcome::Failure);
            self.audit.count(CountedSubject { app, detail, ..subject });
        }
        // A peek that does not reject the request is not reported, because it counts nothing.
        if mode != CountMode::Peek || result.is_err() {
            self.decision_slot.set(decision);
        }
        result
    }
}

impl GuessGuard for AbuseGuard {
    fn network(&self) -> Network {
        self.network
    }

    async fn count_guess(&self, mode: CountMode, guess: &Guess) -> Result<(), Duration> {
        let limits = self.audit.state.limits.active();
        let buckets = match guess {
            Guess::SignIn(name) => limits.abuse.sign_in_buckets(self.network, name),
            Guess::Confirmation(Account { name, id, .. }) => {
                limits.abuse.password_confirmation_buckets(self.network, name, *id)
            }
        };
        let result = self.apply_limits(None, &limits, mode, &buckets).await;
        result.map_err(|exceeded| exceeded.retry_after)
    }

    fn record_failure(&self, kind: AuditKind, account_id: Option<i64>) {
        let subject = CountedSubject::new(kind, AuditOutcome::Failure);
        self.audit.count(CountedSubject { account: account_id, ..subject });
    }
}

impl FromRequestParts<AppState> for AbuseGuard {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        let Ok(audit) = RequestAudit::from_request_parts(parts, state).await;
        let decision_slot =
            parts.extensions.get::<GuardDecisionSlot>().cloned().unwrap_or_default();
        let request = (parts.method.clone(), parts.uri.clone());
        Ok(Self::from_audit(audit, request, decision_slot))
    }
}

/// The slot in which a guard stores its decision. It is an extension of the request, so that the
/// headers report the decision even if the handler fails.
#[derive(Debug, Clone, Default)]
pub(crate) struct GuardDecisionSlot(Arc<Mutex<Option<RateLimitDecision>>>);

impl GuardDecisionSlot {
    /// Stores a decision, replacing an earlier one.
    fn set(&self, decision: RateLimitDecision) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision);
    }

    pub(crate) fn take(&self) -> Option<RateLimitDecision> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
