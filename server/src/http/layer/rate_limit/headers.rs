//! The rate-limit headers of a response.

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use belfry_core::limits::RateLimitDecision;

use crate::http::extract::abuse_guard::GuardDecisionSlot;

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The rate-limit decisions that a response reports: on the request itself, by the handler's guard,
/// and on the original request of a gateway check.
#[derive(Debug, Default)]
pub(crate) struct RateLimitHeaders {
    decision: RateLimitDecision,
    guard_slot: Option<GuardDecisionSlot>,
}

impl RateLimitHeaders {
    pub(crate) fn add_decision(&mut self, decision: RateLimitDecision) {
        self.decision = std::mem::take(&mut self.decision).merge(decision);
    }

    /// Returns the slot for a guard's decision, creating it if missing.
    pub(crate) fn guard_slot(&mut self) -> GuardDecisionSlot {
        self.guard_slot.get_or_insert_default().clone()
    }

    /// Adds the decision that a handler returned with its response, as an extension.
    pub(crate) fn add_decision_from(&mut self, response: &mut Response) {
        if let Some(decision) = response.extensions_mut().remove() {
            self.add_decision(decision);
        }
    }

    /// Writes the headers: `X-RateLimit-*` for the closest limit, `RateLimit` and
    /// `RateLimit-Policy` for all limits.
    pub(crate) fn write_to(mut self, response: &mut Response) {
        if let Some(decision) = self.guard_slot.take().and_then(|slot| slot.take()) {
            self.add_decision(decision);
        }
        let Some(closest) = self.decision.closest_status() else { return };
        let headers = response.headers_mut();
        headers.insert(X_LIMIT, number_value(closest.limit.requests()));
        headers.insert(X_REMAINING, number_value(closest.remaining));
        headers.insert(X_RESET, text_value(&closest.reset_time()));
        headers.insert(RATE_LIMIT, text_value(&self.decision.rate_limit()));
        headers.insert(RATE_LIMIT_POLICY, text_value(&self.decision.rate_limit_policy()));
    }
}

fn number_value(value: u32) -> HeaderValue {
    text_value(itoa::Buffer::new().format(value))
}

/// Converts text to a header value. The text is always valid, because limit names consist of
/// characters that headers allow.
///
/// The text is copied into one allocation. Converting a `String` or a number would make a second
/// one, and cost another atomic operation when the value is dropped.
fn text_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}
