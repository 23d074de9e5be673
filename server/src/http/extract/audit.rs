//! Audit events of a request, with the client's address and the request's origin.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_core::audit::{
    AuditClient, AuditKind, AuditOrigin, AuditOutcome, CountedSubject, NewAuditEvent,
};
use belfry_core::request::RequestId;

use crate::app::AppState;
use crate::http::extract::client::Client;
use crate::log::request_context::RequestContext;

/// Creates and counts the audit events of a request.
#[derive(Clone)]
pub(crate) struct RequestAudit {
    pub(crate) state: AppState,
    pub(crate) address: IpAddr,
    request_id: RequestId,
    origin: AuditOrigin,
}

impl RequestAudit {
    /// Returns the context for audit events of the current request, which came from `address`.
    pub(crate) fn new(state: AppState, address: IpAddr) -> Self {
        let request_id = RequestContext::current_id();
        let origin = AuditOrigin::Client;
        Self { state, address, request_id, origin }
    }

    /// Sets the origin to a page, for a request from a browser.
    pub(crate) fn for_page(self) -> Self {
        Self { origin: AuditOrigin::Page, ..self }
    }

    /// Returns a success event, to be stored with the change that it records.
    pub(crate) fn success_event(&self, kind: AuditKind) -> NewAuditEvent {
        let address = Some(self.address.to_canonical().to_string());
        let client = Some(AuditClient { address, request_id: self.request_id });
        let at = self.state.clock.now();
        let outcome = AuditOutcome::Success;
        NewAuditEvent { at, kind, outcome, origin: self.origin, client, detail: None }
    }

    /// Counts an event for the origin and the client's address.
    pub(crate) fn count(&self, subject: CountedSubject) {
        let address = Some(self.address.to_canonical().to_string());
        let subject = CountedSubject { origin: self.origin, address, ..subject };
        self.state.audit.record(subject, self.state.clock.now());
    }
}

impl FromRequestParts<AppState> for RequestAudit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        let address = Client::inspect(parts, state, |client| client.address).await;
        Ok(Self::new(state.clone(), address))
    }
}
