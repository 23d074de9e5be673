//! Rate-limit counters: the conformance list for memory, Redis and a Redis cluster, and tests that
//! only concern Redis.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod cases;
mod cluster;
mod engine;
mod gate;
mod outage;
mod server;

macro_rules! conformance {
    ($($case:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $case() {
                super::cases::$case(super::engine::TestEngine::memory()).await;
            })*
        }

        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $case() {
                if let Some(engine) = super::engine::TestEngine::redis().await {
                    super::cases::$case(engine).await;
                }
            })*
        }

        mod redis_cluster {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $case() {
                if let Some(engine) = super::engine::TestEngine::cluster().await {
                    super::cases::$case(engine).await;
                }
            })*
        }
    };
}

conformance![
    a_limit_of_300_rejects_the_301st_request,
    a_rejected_request_consumes_no_quota,
    a_window_ends_and_the_next_request_starts_a_new_one,
    every_request_in_a_window_reports_its_end_as_reset,
    a_peek_consumes_nothing_and_starts_no_window,
    a_charge_counts_for_every_limit_with_quota_left,
    a_refunded_request_consumes_no_quota,
    concurrent_requests_that_are_refunded_never_exceed_the_limit,
    every_key_and_limit_has_its_own_quota,
    names_of_any_characters_and_length_are_counted,
    the_largest_limit_and_the_longest_window_are_counted,
    changing_the_number_of_requests_preserves_the_count,
    a_shorter_window_applies_immediately,
    concurrent_requests_for_one_key_are_admitted_exactly_up_to_the_limit,
    concurrent_rejected_requests_with_shared_keys_consume_no_quota,
    three_nodes_together_admit_exactly_the_limit,
];
