//! Counting events per hour and subject, with a bound on the number of subjects.

use std::collections::HashMap;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{AuditKind, AuditOrigin, AuditOutcome};

/// Maximum number of subjects per kind and hour; additional ones are counted together.
const MAX_SUBJECTS: usize = 100;
/// The maximum for application services, whose tokens only the operator can configure.
const MAX_SERVICE_SUBJECTS: usize = 1000;
/// The detail of the subject that counts the events of all subjects beyond the maximum.
const OTHERS: &str = "others";

/// The common properties of events that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CountedSubject {
    pub kind: AuditKind,
    pub outcome: AuditOutcome,
    pub origin: AuditOrigin,
    pub account: Option<i64>,
    pub app: Option<i64>,
    /// The client's address, reduced according to the settings.
    pub address: Option<String>,
    /// The limit, the application service or the reason for the failure, depending on the kind.
    /// Never a secret.
    pub detail: Option<String>,
}

impl CountedSubject {
    /// Creates a subject with only a kind and an outcome, caused by an API client.
    pub fn new(kind: AuditKind, outcome: AuditOutcome) -> Self {
        let origin = AuditOrigin::Client;
        Self { kind, outcome, origin, account: None, app: None, address: None, detail: None }
    }

    /// Returns a digest, which identifies the subject within an hour.
    pub fn digest(&self) -> u64 {
        let Self { kind, outcome, origin, account, app, address, detail } = self;
        let text =
            format!("{kind}\n{outcome}\n{origin}\n{account:?}\n{app:?}\n{address:?}\n{detail:?}");
        let digest: [u8; 32] = Sha256::digest(text).into();
        digest.first_chunk().map_or(0, |prefix| u64::from_be_bytes(*prefix))
    }

    fn max_subjects(&self) -> usize {
        match self.kind {
            AuditKind::ServiceUse => MAX_SERVICE_SUBJECTS,
            _ => MAX_SUBJECTS,
        }
    }
}

/// Number of a subject's events in an hour since the counts were last taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount {
    /// The Unix time in whole hours.
    pub hour: i64,
    pub subject: CountedSubject,
    pub count: i64,
    pub first: Timestamp,
    pub last: Timestamp,
}

/// Counts events per hour and subject. The number of subjects per hour is bounded: for each kind,
/// subjects beyond a maximum are counted together.
#[derive(Debug, Default)]
pub struct Aggregator {
    hour: i64,
    /// The subjects of the hour. They remain after their counts are taken, so that the maximum
    /// applies to the hour.
    totals: HashMap<CountedSubject, EventCount>,
    subject_counts: HashMap<AuditKind, usize>,
    /// Counts of earlier hours that have not been taken yet.
    earlier_counts: Vec<EventCount>,
}

impl Aggregator {
    pub fn record(&mut self, subject: CountedSubject, now: Timestamp) {
        self.add_count(EventCount {
            hour: now.as_second().div_euclid(3600),
            subject,
            count: 1,
            first: now,
            last: now,
        });
    }

    /// Adds back counts that were taken but could not be stored. They are added to the current
    /// hour.
    pub fn restore(&mut self, counts: Vec<EventCount>) {
        for count in counts {
            self.add_count(EventCount { hour: self.hour, ..count });
        }
    }

    fn add_count(&mut self, mut added: EventCount) {
        if added.hour == self.hour - 1 {
            // A new hour began between two concurrent requests.
            added.hour = self.hour;
        }
        if added.hour != self.hour {
            self.earlier_counts = self.take();
            self.hour = added.hour;
            self.totals.clear();
            self.subject_counts.clear();
        }
        if !self.totals.contains_key(&added.subject) {
            let subject_count = self.subject_counts.entry(added.subject.kind).or_default();
            if *subject_count >= added.subject.max_subjects() {
                let CountedSubject { kind, outcome, origin, .. } = added.subject;
                let detail = Some(OTHERS.to_owned());
                added.subject =
                    CountedSubject { origin, detail, ..CountedSubject::new(kind, outcome) };
            } else {
                *subject_count += 1;
            }
        }
        match self.totals.get_mut(&added.subject) {
            Some(total) if total.count > 0 => {
                total.count += added.count;
                total.first = total.first.min(added.first);
                total.last = total.last.max(added.last);
            }
            // A new subject, or one whose count was taken.
            _ => drop(self.totals.insert(added.subject.clone(), added)),
        }
    }

    /// Takes the counts since the last call, and starts again from zero.
    pub fn take(&mut self) -> Vec<EventCount> {
        let mut counts = std::mem::take(&mut self.earlier_counts);
        for total in self.totals.values_mut().filter(|total| total.count > 0) {
            counts.push(total.clone());
            total.count = 0;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn failed_sign_in(address: usize) -> CountedSubject {
        CountedSubject {
            address: Some(format!("192.0.{}.{}", address / 256, address % 256)),
            ..CountedSubject::new(AuditKind::SignIn, AuditOutcome::Failure)
        }
    }

    #[test]
    fn events_are_counted_per_subject_until_taken() {
        let mut aggregator = Aggregator::default();
        for second in [7200, 7205, 7210] {
            aggregator.record(failed_sign_in(1), time(second));
        }
        let expected = |count, first, last| EventCount {
            hour: 2,
            subject: failed_sign_in(1),
            count,
            first,
            last,
        };
        assert_eq!(aggregator.take(), [expected(3, time(7200), time(7210))]);
        assert_eq!(aggregator.take(), []);
        aggregator.record(failed_sign_in(1), time(7300));
        assert_eq!(aggregator.take(), [expected(1, time(7300), time(7300))]);
    }

    #[test]
    fn subjects_beyond_the_maximum_are_counted_together() {
        let mut aggregator = Aggregator::default();
        for round in 0..100 {
            for address in 0..1000 {
                aggregator.record(failed_sign_in(address), time(7200 + round));
            }
            // Taking the counts does not make room for more subjects.
            if round == 50 {
                assert_eq!(aggregator.take().len(), MAX_SUBJECTS + 1);
            }
        }
        let app = CountedSubject {
            app: Some(1),
            ..CountedSubject::new(AuditKind::AppTokenIssue, AuditOutcome::Success)
        };
        aggregator.record(app.clone(), time(7300));
        let counts = aggregator.take();
        assert_eq!(counts.len(), MAX_SUBJECTS + 2);
        assert!(counts.iter().any(|taken| taken.subject == app), "each kind has its own maximum");
        let others = counts.iter().find(|taken| taken.subject.detail.as_deref() == Some(OTHERS));
        assert_eq!(others.unwrap().count, 49 * 900);
        assert_eq!(counts.iter().map(|taken| taken.count).sum::<i64>(), 49 * 1000 + 1);
    }

    #[test]
    fn each_hour_starts_without_subjects() {
        let mut aggregator = Aggregator::default();
        for address in 0..1000 {
            aggregator.record(failed_sign_in(address), time(7200));
        }
        aggregator.record(failed_sign_in(2000), time(10_800));
        let counts = aggregator.take();
        assert_eq!(counts.len(), MAX_SUBJECTS + 2);
        let next_hour_counts: Vec<_> = counts.iter().filter(|taken| taken.hour == 3).collect();
        assert_eq!(next_hour_counts.len(), 1);
        assert_eq!(next_hour_counts[0].subject, failed_sign_in(2000));
    }

    #[test]
    fn restored_counts_are_added_to_the_current_counts() {
        let mut aggregator = Aggregator::default();
        aggregator.record(failed_sign_in(1), time(7200));
        let unstored_counts = aggregator.take();
        aggregator.record(failed_sign_in(1), time(7201));
        aggregator.restore(unstored_counts);
        let counts = aggregator.take();
        assert_eq!((counts.len(), counts[0].count), (1, 2));
        assert_eq!((counts[0].first, counts[0].last), (time(7200), time(7201)));
    }

    #[test]
    fn subjects_have_different_digests() {
        assert_eq!(failed_sign_in(1).digest(), failed_sign_in(1).digest());
        assert_ne!(failed_sign_in(1).digest(), failed_sign_in(2).digest());
    }
}
