//! What an answer tells of limits: in headers, whatever the answer is.

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponseParts, Response, ResponseParts};
use belfry_core::limits::{Limit, Micros, RateLimitDecision};
use smallvec::SmallVec;

// Constants, so that each is made where it is inserted: that is faster than to copy a static.
const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const STANDINGS: HeaderName = HeaderName::from_static("ratelimit");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// How a call stands with all its limits: those of the table, those that its guard asked, and those
/// of the call that it speaks of.
#[derive(Debug, Default)]
pub(crate) struct RateLimitHeaders {
    decision: Option<RateLimitDecision>,
    overheard: Option<GuardOutcome>,
}

/// What a guard finds during a call, whatever the call is answered: it goes with the request, so
/// that no handler needs to pass it on.
#[derive(Debug, Clone, Default)]
pub(crate) struct GuardOutcome(Arc<Mutex<Option<RateLimitDecision>>>);

impl GuardOutcome {
    /// Keeps a verdict. A guard that asks twice asks the same limits, so the last one counts.
    pub(crate) fn hear(&self, decision: RateLimitDecision) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision);
    }

    fn take(&self) -> Option<RateLimitDecision> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What was counted for another call. A handler that puts it before its answer, as in
/// `(counted, answer)`, has the headers tell of it.
#[derive(Debug, Clone)]
#[must_use]
pub(crate) struct Counted(pub(crate) RateLimitDecision);

impl IntoResponseParts for Counted {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.extensions_mut().insert(self);
        Ok(parts)
    }
}

impl RateLimitHeaders {
    /// Adds a verdict.
    pub(crate) fn add(&mut self, decision: RateLimitDecision) {
        self.decision = Some(match self.decision.take() {
            Some(before) => before.and(decision),
            None => decision,
        });
    }

    /// Gives what a guard is to keep its verdict in.
    pub(crate) fn overhear(&mut self) -> GuardOutcome {
        self.overheard.get_or_insert_default().clone()
    }

    /// Takes what a handler left in its answer.
    pub(crate) fn hear(&mut self, answer: &mut Response) {
        if let Some(Counted(decision)) = answer.extensions_mut().remove() {
            self.add(decision);
        }
    }

    /// Writes it into the headers of the answer.
    pub(crate) fn write(mut self, answer: &mut Response) {
        if let Some(decision) = self.overheard.take().and_then(|overheard| overheard.take()) {
            self.add(decision);
        }
        if let Some(decision) = self.decision {
            PEN.with_borrow_mut(|pen| pen.write(&decision, answer.headers_mut()));
        }
    }
}

thread_local! {
    static PEN: RefCell<Pen> = const { RefCell::new(Pen::NEW) };
}

/// What a thread writes the headers of every answer with. What repeats is written once: most calls
/// have the same limits, and all of a busy caller the same window.
struct Pen {
    /// Room for one value.
    text: Vec<u8>,
    /// The limit whose requests were written last.
    limit: (Option<Limit>, HeaderValue),
    /// The reset that was written last.
    reset: (Micros, HeaderValue),
    /// The limits whose policy was written last.
    policy: (SmallVec<[Limit; 2]>, HeaderValue),
}

impl Pen {
    const NEW: Self = Self {
        text: Vec::new(),
        limit: (None, HeaderValue::from_static("")),
        reset: (Micros::MIN, HeaderValue::from_static("")),
        policy: (SmallVec::new_const(), HeaderValue::from_static("")),
    };

    fn write(&mut self, decision: &RateLimitDecision, headers: &mut HeaderMap) {
        let Some(closest) = decision.closest() else { return };
        if self.limit.0 != Some(closest.limit) {
            self.limit = (Some(closest.limit), HeaderValue::from_static(closest.x_limit()));
        }
        if self.reset.0 != closest.reset {
            self.reset = (closest.reset, ascii(&closest.x_reset()));
        }
        let limits = || decision.statuses().iter().map(|status| status.limit);
        if !limits().eq(self.policy.0.iter().copied()) {
            let policy = self.written(|text| decision.write_rate_limit_policy(text));
            self.policy = (limits().collect(), policy);
        }
        // These, and what else is added to every answer.
        headers.reserve(9);
        headers.insert(X_LIMIT, self.limit.1.clone());
        headers.insert(X_REMAINING, self.written(|text| closest.write_x_remaining(text)));
        headers.insert(X_RESET, self.reset.1.clone());
        headers.insert(STANDINGS, self.written(|text| decision.write_rate_limit(text)));
        headers.insert(POLICY, self.policy.1.clone());
    }

    fn written(&mut self, write: impl Fn(&mut Vec<u8>)) -> HeaderValue {
        self.text.clear();
        write(&mut self.text);
        ascii(&self.text)
    }
}

/// The name of a limit is of a few plain letters, so that this never fails.
#[inline(never)]
fn ascii(value: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(value).unwrap_or_else(|_| HeaderValue::from_static(""))
}
