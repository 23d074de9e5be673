//! What an answer tells of limits: in headers, whatever the answer is.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponseParts, Response, ResponseParts};
use belfry_core::limits::Verdict;
use belfry_core::limits::header::Fields;
use bytes::Bytes;
use jiff::Timestamp;

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const STANDINGS: HeaderName = HeaderName::from_static("ratelimit");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// How a call stands with all its limits: those of the table, those that its guard asked, and those
/// of the call that it speaks of.
#[derive(Debug, Default)]
pub(in crate::http) struct Told {
    verdict: Option<(Verdict, Timestamp)>,
    overheard: Option<Overheard>,
}

/// What a guard finds during a call, whatever the call is answered: it goes with the request, so
/// that no handler needs to pass it on.
#[derive(Debug, Clone, Default)]
pub(in crate::http) struct Overheard(Arc<Mutex<Option<(Verdict, Timestamp)>>>);

impl Overheard {
    /// Keeps a verdict. A guard that asks twice asks the same limits, so the last one counts.
    pub(super) fn hear(&self, verdict: Verdict, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((verdict, now));
    }

    fn take(&self) -> Option<(Verdict, Timestamp)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What was counted for another call. A handler that puts it before its answer, as in
/// `(counted, answer)`, has the headers tell of it.
#[derive(Debug, Clone)]
#[must_use]
pub(in crate::http) struct Counted(pub(in crate::http) Verdict, pub(in crate::http) Timestamp);

impl IntoResponseParts for Counted {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.extensions_mut().insert(self);
        Ok(parts)
    }
}

impl Told {
    /// Adds a verdict of this time.
    pub(in crate::http) fn add(&mut self, verdict: Verdict, now: Timestamp) {
        let verdict = match self.verdict.take() {
            Some((before, _)) => before.and(verdict),
            None => verdict,
        };
        self.verdict = Some((verdict, now));
    }

    /// Gives what a guard is to keep its verdict in.
    pub(super) fn overhear(&mut self) -> Overheard {
        self.overheard.get_or_insert_default().clone()
    }

    /// Takes what a handler left in its answer.
    pub(in crate::http) fn hear(&mut self, answer: &mut Response) {
        if let Some(Counted(verdict, now)) = answer.extensions_mut().remove() {
            self.add(verdict, now);
        }
    }

    /// Writes it into the headers of the answer.
    pub(in crate::http) fn write(mut self, answer: &mut Response) {
        let overheard = self.overheard.take();
        if let Some((verdict, now)) = overheard.and_then(|overheard| overheard.take()) {
            self.add(verdict, now);
        }
        let fields = self.verdict.and_then(|(verdict, now)| verdict.fields(now));
        if let Some(fields) = fields {
            write(fields, answer.headers_mut());
        }
    }
}

fn write(fields: Fields, headers: &mut HeaderMap) {
    let Fields { text, limit, remaining, reset, standings, policy } = fields;
    let text = Bytes::from(text);
    // These, and what else is added to every answer.
    headers.reserve(9);
    for (name, part) in [
        (X_LIMIT, limit),
        (X_REMAINING, remaining),
        (X_RESET, reset),
        (STANDINGS, standings),
        (POLICY, policy),
    ] {
        // The name of a limit is of a few plain letters, so that this never fails.
        if let Ok(value) = HeaderValue::from_maybe_shared(text.slice(part)) {
            headers.insert(name, value);
        }
    }
}
