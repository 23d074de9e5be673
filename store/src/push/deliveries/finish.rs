//! Results of attempts.

use std::collections::BTreeSet;

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use jiff::Timestamp;

use super::claim::DeliveryKey;
use super::removal::remove_if_replaced_statement;
use crate::engine::{Statement, sql};
use crate::error::StoreError;
use crate::store::{Change, Store};

/// What an attempt says about its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverResult {
    /// It got the message.
    Success,
    /// The attempt failed, and the receiver pauses until the given time.
    Failure { paused_until: Timestamp, is_denial: bool },
    /// Nothing: the next attempt is at the given time.
    Unknown { due_at: Timestamp },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    pub key: DeliveryKey,
    /// `None` if an attempt follows.
    pub outcome: Option<DeliveryOutcome>,
    pub receiver: ReceiverResult,
    /// The HTTP status of the response, if there was one.
    pub status: Option<u16>,
    pub error: Option<AttemptError>,
}

impl Store {
    /// Stores the results of attempts in the deliveries and in their receivers, and releases the
    /// receivers. A result has no effect if it was stored before, if the claim was released, or if
    /// another node has claimed the receiver after the end of the lease. Messages without waiting
    /// deliveries are deleted.
    pub async fn record_attempts(
        &self,
        attempts: impl IntoIterator<Item = &AttemptRecord>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        // In the order in which a claim locks receivers, to avoid deadlocks.
        let mut sorted_attempts: Vec<&AttemptRecord> = attempts.into_iter().collect();
        sorted_attempts.sort_by_key(|attempt| (attempt.key.account_id, attempt.key.receiver_id));
        let mut change = Change::unaudited([]);
        for attempt in &sorted_attempts {
            change = change.and(delivery_statement(attempt, now));
            if attempt.outcome.is_none() {
                change = change.and(remove_if_replaced_statement(&attempt.key.id, now));
            }
            change = change.and(receiver_statement(attempt, now));
        }
        let messages: BTreeSet<&str> =
            sorted_attempts.iter().map(|attempt| attempt.key.message_id.as_str()).collect();
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

/// Returns the statement that stores the result of a delivery.
fn delivery_statement(attempt: &AttemptRecord, now: Timestamp) -> Statement {
    let DeliveryKey { id, claim, account_id, receiver_id, .. } = &attempt.key;
    sql!(
        r"
            update deliveries
            set outcome = $outcome,
                finished_at = case when cast($outcome as text) is not null
                    then cast($now as bigint) end,
                message_id = case when cast($outcome as text) is null then message_id end,
                attempts = attempts + 1,
                status = $status,
                error = $error
            where id = $id
              and finished_at is null
              and exists (select 1 from receivers where {has_claim})
        ",
        [
            id = id.as_str(),
            claim = claim.as_str(),
            account = *account_id,
            receiver = *receiver_id,
            outcome = attempt.outcome,
            status = attempt.status.map(i64::from),
            error = attempt.error.clone(),
            now
        ]
    )
}

/// Returns the statement that stores the result of an attempt in its receiver and releases it. The
/// delivery has ended before, so the receiver is due only if others wait.
fn receiver_statement(attempt: &AttemptRecord, now: Timestamp) -> Statement {
    let DeliveryKey { claim, account_id: account, receiver_id: receiver, .. } = &attempt.key;
    let (account, receiver, claim) = (*account, *receiver, claim.as_str());
    match attempt.receiver {
        ReceiverResult::Success => sql!(
            r"
                update receivers
                set succeeded_at = $now,
                    denied_since = null,
                    denied_count = 0,
                    failures = 0,
                    is_proven = 1,
                    paused_until = 0,
                    {release}
                where {has_claim}
            ",
            [account, receiver, claim, due_at = now, now]
        ),
        ReceiverResult::Failure { paused_until, is_denial } => sql!(
            r"
                update receivers
                set failed_at = $now,
                    failure = $error,
                    denied_count = denied_count + $denials,
                    denied_since = case when $denials = 0 then denied_since
                        else coalesce(denied_since, $now) end,
                    failures = failures + 1,
                    is_proven = 0,
                    paused_until = $due_at,
                    {release}
                where {has_claim}
            ",
            [
                account,
                receiver,
                claim,
                error = attempt.error.clone(),
                denials = i64::from(is_denial),
                due_at = paused_until,
                now
            ]
        ),
        ReceiverResult::Unknown { due_at } => sql!(
            "update receivers set {release} where {has_claim}",
            [account, receiver, claim, due_at]
        ),
    }
}
