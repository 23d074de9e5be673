//! What an answer tells of limits: in headers, whatever the answer is.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use belfry_core::limits::Verdict;
use belfry_core::limits::header::Fields;
use bytes::Bytes;
use jiff::Timestamp;

use super::guard::Counted;
use crate::http::error::Problem;

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const STANDINGS: HeaderName = HeaderName::from_static("ratelimit");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// How a call stands with all its limits: those of the table, and those that a handler asked.
#[derive(Debug, Default)]
pub(in crate::http) struct Told(Option<(Verdict, Timestamp)>);

impl Told {
    /// Adds a verdict of this time.
    pub(in crate::http) fn add(&mut self, verdict: Verdict, now: Timestamp) {
        let verdict = match self.0.take() {
            Some((before, _)) => before.and(verdict),
            None => verdict,
        };
        self.0 = Some((verdict, now));
    }

    /// Takes what a handler left in its answer.
    pub(in crate::http) fn hear(&mut self, answer: &mut Response) {
        let extensions = answer.extensions_mut();
        let refused = match extensions.get_mut::<Problem>() {
            Some(Problem::TooMany(refused)) => refused.verdict.take(),
            _ => None,
        };
        let counted = extensions.remove::<Counted>().and_then(|counted| counted.0);
        for (verdict, now) in refused.into_iter().chain(counted) {
            self.add(verdict, now);
        }
    }

    /// Writes it into the headers of the answer.
    pub(in crate::http) fn write(self, answer: &mut Response) {
        let fields = self.0.and_then(|(verdict, now)| verdict.fields(now));
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
