//! The origin of a request for its audit events, and the request id.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Request};
use axum::response::Response;
use belfry_core::audit::{AuditEntry, AuditKind, AuditOrigin, AuditOutcome, RequestId, Subject};

use crate::app::AppState;
use crate::http::extract::client::{Client, peer_address};
use crate::random;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request: from a trusted proxy, or generated for the first audit event. The response
/// returns the id, if the request has one.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestIdSlot(Arc<OnceLock<RequestId>>);

impl RequestIdSlot {
    /// The slot of a request that has an id or may cause an event. Other requests do not need one.
    pub(crate) fn of(state: &AppState, request: &Request<Body>, is_page: bool) -> Option<Self> {
        if let Some(id) = request.headers().get(X_REQUEST_ID)
            && state.limits.active().proxies.contains(peer_address(request.extensions()))
            && let Some(id) = RequestId::parse(id.as_bytes())
        {
            return Some(Self(Arc::new(OnceLock::from(id))));
        }
        let may_change = matches!(*request.method(), Method::POST | Method::DELETE);
        (is_page || may_change).then(Self::default)
    }

    /// Adds the id, if there is one, to a response.
    pub(crate) fn write(&self, response: &mut Response) {
        if let Some(id) = self.0.get() {
            let id = HeaderValue::from_str(id.as_str()).expect("ids are plain ASCII");
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
    }
}

/// Creates the audit events of a request.
#[derive(Clone)]
pub(crate) struct Audit {
    pub(crate) state: Arc<AppState>,
    /// The address of the client.
    pub(crate) address: IpAddr,
    request_id: RequestIdSlot,
}

impl Audit {
    /// Creates the audit events of a request from this address.
    pub(crate) fn new(state: Arc<AppState>, address: IpAddr) -> Self {
        Self { state, address, request_id: RequestIdSlot::default() }
    }

    /// An event with the outcome success, to be stored with the change that it records.
    pub(crate) fn success(&self, kind: AuditKind) -> AuditEntry {
        let request_id = self.request_id.0.get_or_init(|| RequestId::new(random::bytes()));
        let address = self.state.audit.address(self.address);
        let origin = AuditOrigin::Client { address, request_id: request_id.clone() };
        let (at, outcome) = (self.state.clock.now(), AuditOutcome::Success);
        AuditEntry { at, kind, outcome, origin, detail: None }
    }

    /// Counts an event that failed, for the address of the client.
    pub(crate) fn count_failure(&self, kind: AuditKind, subject: Subject) {
        let address = self.state.audit.address(self.address);
        let outcome = AuditOutcome::Failure;
        let subject = Subject { kind, outcome, address, ..subject };
        self.state.audit.record(subject, self.state.clock.now());
    }

    /// Counts a failed sign-in. The name that was entered is not recorded, because users sometimes
    /// enter their password in the wrong field.
    pub(crate) fn count_failed_sign_in(&self, account: Option<i64>) {
        let kind = AuditKind::SignIn;
        self.count_failure(kind, Subject { account, ..Subject::new(kind, AuditOutcome::Failure) });
    }
}

impl FromRequestParts<Arc<AppState>> for Audit {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<AppState>,
    ) -> Result<Self, Infallible> {
        let address = Client::inspect(parts, state, |client| client.address).await;
        let request_id = parts.extensions.get::<RequestIdSlot>().cloned().unwrap_or_default();
        Ok(Self { state: Arc::clone(state), address, request_id })
    }
}
