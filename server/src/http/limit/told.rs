//! What an answer tells of limits: in headers, whatever the answer is.

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponseParts, Response, ResponseParts};
use belfry_core::limits::{Limit, Verdict};
use jiff::Timestamp;
use smallvec::SmallVec;

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
        if let Some((verdict, now)) = self.verdict {
            PEN.with_borrow_mut(|pen| pen.write(&verdict, now, answer.headers_mut()));
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
    reset: Last<Timestamp>,
    policy: Last<SmallVec<[Limit; 2]>>,
}

/// The value of a header as it was written last, and for what.
struct Last<T>(Option<(T, HeaderValue)>);

impl<T: PartialEq> Last<T> {
    fn or_write(&mut self, of: T, write: impl FnOnce() -> HeaderValue) -> HeaderValue {
        match &self.0 {
            Some((before, value)) if *before == of => value.clone(),
            _ => self.0.insert((of, write())).1.clone(),
        }
    }
}

impl Pen {
    const NEW: Self = Self { text: Vec::new(), reset: Last(None), policy: Last(None) };

    fn write(&mut self, verdict: &Verdict, now: Timestamp, headers: &mut HeaderMap) {
        let Some(closest) = verdict.closest() else { return };
        // These, and what else is added to every answer.
        headers.reserve(9);
        let Self { text, reset, policy } = self;
        let limits = verdict.standings().iter().map(|standing| standing.limit).collect();
        let mut value = |write: &dyn Fn(&mut Vec<u8>)| {
            text.clear();
            write(text);
            ascii(text)
        };
        headers.insert(X_LIMIT, HeaderValue::from_static(closest.x_limit()));
        headers.insert(X_REMAINING, value(&|text| closest.write_x_remaining(text)));
        headers.insert(X_RESET, reset.or_write(closest.reset, || ascii(&closest.x_reset())));
        headers.insert(STANDINGS, value(&|text| verdict.write_rate_limit(text, now)));
        let all = || value(&|text| verdict.write_rate_limit_policy(text));
        headers.insert(POLICY, policy.or_write(limits, all));
    }
}

/// The name of a limit is of a few plain letters, so that this never fails.
fn ascii(value: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(value).unwrap_or_else(|_| HeaderValue::from_static(""))
}
