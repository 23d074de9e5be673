//! Results of attempts.

use std::collections::BTreeSet;

use belfry_core::push::attempt_error::AttemptError;
use jiff::Timestamp;

use super::DeliveryOutcome;
use super::claim::DeliveryKey;
use crate::engine::{Statement, sql};
use crate::error::StoreError;
use crate::store::{Change, Store};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryResult {
    /// The delivery has finished, and no further attempt follows.
    Finished(DeliveryOutcome),
    /// The attempt failed, and the next one is at the given time.
    Retry(Timestamp),
    /// The attempt was denied (401 or 403), and the next one is at the given time.
    Denied(Timestamp),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    pub key: DeliveryKey,
    pub result: DeliveryResult,
    /// The HTTP status of the response, if there was one.
    pub status: Option<u16>,
    pub error: Option<AttemptError>,
}

impl Store {
    /// Stores the results of attempts in the deliveries and in their receivers. A result has no
    /// effect if it was stored before, if the claim was released, or if another node has
    /// claimed the delivery after the end of the lease. Messages without waiting deliveries are
    /// deleted.
    pub async fn record_attempts(
        &self,
        attempts: &[AttemptRecord],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut sorted_attempts: Vec<&AttemptRecord> = attempts.iter().collect();
        // Receivers are locked before deliveries, each in the order of their keys, to avoid
        // deadlocks.
        sorted_attempts.sort_by_key(|attempt| (attempt.key.account_id, attempt.key.receiver_id));
        let mut change = Change::unaudited([]);
        for attempt in &sorted_attempts {
            change = change.and(receiver_statement(attempt, now));
        }
        sorted_attempts.sort_by(|left, right| left.key.id.cmp(&right.key.id));
        for attempt in &sorted_attempts {
            change = change.and(delivery_statement(attempt, now));
        }
        let messages: BTreeSet<&str> =
            attempts.iter().map(|attempt| attempt.key.message_id.as_str()).collect();
        for id in messages {
            change = change.and(sql!(
                r"
                    delete from messages
                    where id = $id
                      and not exists (select 1 from deliveries where message_id = $id)
                ",
                [id]
            ));
        }
        self.write(change).await.map(drop)
    }
}

/// Returns the statement that stores the time of an attempt, and its error, in the receiver.
fn receiver_statement(attempt: &AttemptRecord, now: Timestamp) -> Statement {
    let AttemptRecord { key, error, .. } = attempt;
    let id = key.id.as_str();
    let claim = key.claim.as_str();
    let account = key.account_id;
    let receiver = key.receiver_id;
    if attempt.result == DeliveryResult::Finished(DeliveryOutcome::Delivered) {
        return sql!(
            r"
                update receivers
                set succeeded_at = $now, denied_since = null, denied_count = 0
                where account_id = $account
                  and id = $receiver
                  and exists (select 1 from deliveries where id = $id and claim = $claim)
            ",
            [account, receiver, id, claim, now]
        );
    }
    let denials = i64::from(matches!(attempt.result, DeliveryResult::Denied(_)));
    sql!(
        r"
            update receivers
            set failed_at = $now, failure = $error, denied_count = denied_count + $denials,
                denied_since = case when $denials = 0 then denied_since else
                coalesce(denied_since, $now) end
            where account_id = $account
              and id = $receiver
              and exists (select 1 from deliveries where id = $id and claim = $claim)
        ",
        [account, receiver, id, claim, error = error.clone(), denials, now]
    )
}

/// Returns the statement that stores the result of a delivery.
fn delivery_statement(attempt: &AttemptRecord, now: Timestamp) -> Statement {
    let id = attempt.key.id.as_str();
    let claim = attempt.key.claim.as_str();
    let status = attempt.status.map(i64::from);
    let error = attempt.error.clone();
    match attempt.result {
        DeliveryResult::Finished(outcome) => sql!(
            r"
                update deliveries
                set outcome = $outcome,
                    finished_at = $now,
                    attempts = attempts + 1,
                    status = $status,
                    error = $error,
                    message_id = null,
                    claim = null,
                    lease_until = null
                where id = $id
                  and claim = $claim
            ",
            [id, claim, outcome, status, error, now]
        ),
        DeliveryResult::Retry(due_at) | DeliveryResult::Denied(due_at) => sql!(
            r"
                update deliveries
                set due_at = $due_at,
                    attempts = attempts + 1,
                    status = $status,
                    error = $error,
                    claim = null,
                    lease_until = null
                where id = $id
                  and claim = $claim
            ",
            [id, claim, due_at, status, error]
        ),
    }
}
