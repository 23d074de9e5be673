//! Conformance cases for the engines that count requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use belfry_core::limits::{Bucket, CountMode, LimitKey, Network};
use belfry_core::secret::Sha256Digest;
use belfry_limits::Engine;
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;

use super::engine::{TestEngine, account_bucket, address_bucket, limit, remaining};

pub(super) async fn a_limit_of_300_rejects_the_301st_request(engine: TestEngine) {
    let limit = limit("account", 300, 300);
    let buckets = [account_bucket(&limit, 1)];
    for expected in (0..300).rev() {
        let decision = engine.check(&buckets).await;
        assert_eq!((decision.is_admitted(), remaining(&decision)), (true, vec![expected]));
    }
    for _ in 0..3 {
        let decision = engine.check(&buckets).await;
        assert_eq!((decision.is_admitted(), remaining(&decision)), (false, vec![0]));
    }
}

pub(super) async fn a_rejected_request_consumes_no_quota(engine: TestEngine) {
    let wide = limit("account", 300, 300);
    let narrow = limit("media", 1, 1800);
    let buckets = [account_bucket(&wide, 1), account_bucket(&narrow, 1)];
    engine.check(&buckets).await;
    for _ in 0..10 {
        let decision = engine.check(&buckets).await;
        assert_eq!((decision.is_admitted(), remaining(&decision)), (false, vec![299, 0]));
        assert_eq!(decision.closest_status().unwrap().limit.name(), "media");
    }
    let second_node = engine.second_node().await;
    assert_eq!(
        remaining(&second_node.check(CountMode::Peek, &buckets[..1], engine.now()).await),
        [299]
    );
}

pub(super) async fn a_window_ends_and_the_next_request_starts_a_new_one(engine: TestEngine) {
    let limit = limit("account", 2, 60);
    let buckets = [account_bucket(&limit, 1)];
    for _ in 0..2 {
        for expected in [1, 0] {
            assert_eq!(remaining(&engine.check(&buckets).await), [expected]);
        }
        assert!(!engine.check(&buckets).await.is_admitted());
        engine.advance(61).await;
    }
}

pub(super) async fn every_request_in_a_window_reports_its_end_as_reset(engine: TestEngine) {
    let limit = limit("account", 2, 300);
    let buckets = [account_bucket(&limit, 1)];
    let reset = async || Timestamp::from(engine.check(&buckets).await.statuses()[0].reset);
    let first_reset = reset().await;
    let window_length = SignedDuration::from_secs(300);
    let assert_near = |actual: Timestamp, expected: Timestamp| {
        let difference = actual.duration_since(expected).abs();
        assert!(difference < SignedDuration::from_secs(10), "{actual} {expected}");
    };
    assert_near(first_reset, engine.now() + window_length);
    engine.advance(60).await;
    for _ in 0..3 {
        assert_near(reset().await, first_reset);
    }
}

pub(super) async fn a_peek_consumes_nothing_and_starts_no_window(engine: TestEngine) {
    let limit = limit("account", 1, 60);
    let buckets = [account_bucket(&limit, 1)];
    for _ in 0..5 {
        let decision = engine.peek(&buckets).await;
        assert_eq!((decision.is_admitted(), remaining(&decision)), (true, vec![1]));
    }
    // A window that a peek had started would end before the last two requests.
    engine.advance(40).await;
    assert!(engine.check(&buckets).await.is_admitted());
    engine.advance(30).await;
    assert!(!engine.peek(&buckets).await.is_admitted());
    assert!(!engine.check(&buckets).await.is_admitted());
}

pub(super) async fn a_charge_counts_for_every_limit_with_quota_left(engine: TestEngine) {
    let wide = limit("a", 3, 60);
    let narrow = limit("b", 1, 60);
    let buckets = [account_bucket(&wide, 1), account_bucket(&narrow, 1)];
    for expected in [[2, 0], [1, 0], [0, 0], [0, 0]] {
        assert_eq!(remaining(&engine.charge(&buckets).await), expected);
    }
}

pub(super) async fn every_key_and_limit_has_its_own_quota(engine: TestEngine) {
    let first_limit = limit("one", 1, 60);
    let second_limit = limit("other", 1, 60);
    let network = |last_octet| Network::from_address([192, 0, 2, last_octet].into());
    let buckets = [
        account_bucket(&first_limit, 1),
        account_bucket(&second_limit, 1),
        account_bucket(&first_limit, 2),
        account_bucket(&first_limit, -1),
        address_bucket(&first_limit, 1),
        address_bucket(&first_limit, 2),
        Bucket { limit: &first_limit, key: LimitKey::for_name(network(1), "1") },
        Bucket { limit: &first_limit, key: LimitKey::for_name(network(2), "1") },
        Bucket { limit: &first_limit, key: LimitKey::for_name(network(1), "2") },
    ];
    for bucket in &buckets {
        assert!(engine.check(std::slice::from_ref(bucket)).await.is_admitted(), "{bucket:?}");
    }
    for bucket in &buckets {
        assert!(!engine.check(std::slice::from_ref(bucket)).await.is_admitted(), "{bucket:?}");
    }
}

pub(super) async fn names_of_any_characters_and_length_are_counted(engine: TestEngine) {
    let limit = limit("sign_in_name", 1, 60);
    let network = Network::from_address("2001:db8::1".parse().unwrap());
    let long_name = "x".repeat(100_000);
    for name in ["", " ", "}{", "{a}", "a\r\nb", "\0", "\u{1f514}", "*", &long_name] {
        let buckets = [Bucket {
            limit: &limit,
            key: LimitKey::NameFromNetwork(network, Sha256Digest::compute(name)),
        }];
        assert!(engine.check(&buckets).await.is_admitted(), "{}", name.len());
        assert!(!engine.check(&buckets).await.is_admitted(), "{}", name.len());
    }
}

pub(super) async fn the_largest_limit_and_the_longest_window_are_counted(engine: TestEngine) {
    let largest_limit = limit("most", u32::MAX, 366 * 86_400);
    let buckets = [account_bucket(&largest_limit, 1)];
    assert_eq!(remaining(&engine.check(&buckets).await), [u32::MAX - 1]);
    let decision = engine.check(&buckets).await;
    assert_eq!(remaining(&decision), [u32::MAX - 2]);
    let remaining_time = Timestamp::from(decision.statuses()[0].reset).duration_since(engine.now());
    assert!((remaining_time.as_hours() - 366 * 24).abs() <= 1, "{remaining_time}");
}

pub(super) async fn changing_the_number_of_requests_preserves_the_count(engine: TestEngine) {
    let original = limit("l", 5, 60);
    let larger = limit("l", 8, 60);
    let smaller = limit("l", 2, 60);
    for _ in 0..6 {
        engine.check(&[account_bucket(&original, 1)]).await;
    }
    assert_eq!(remaining(&engine.check(&[account_bucket(&larger, 1)]).await), [2]);
    let decision = engine.check(&[account_bucket(&smaller, 1)]).await;
    assert_eq!((decision.is_admitted(), remaining(&decision)), (false, vec![0]));
    assert_eq!(remaining(&engine.check(&[account_bucket(&larger, 1)]).await), [1]);
}

pub(super) async fn a_shorter_window_applies_immediately(engine: TestEngine) {
    let original = limit("l", 1, 1800);
    let shorter = limit("l", 1, 60);
    assert!(engine.check(&[account_bucket(&original, 1)]).await.is_admitted());
    assert!(!engine.check(&[account_bucket(&shorter, 1)]).await.is_admitted());
    engine.advance(61).await;
    assert!(engine.check(&[account_bucket(&shorter, 1)]).await.is_admitted());
}

/// Sends requests from 64 concurrent clients, each to one of the nodes, and returns how many were
/// admitted.
async fn count_admitted(
    nodes: &[Arc<Engine>],
    requests_per_client: usize,
    now: Timestamp,
) -> usize {
    let mut clients = JoinSet::new();
    for client in 0..64 {
        let engine = Arc::clone(&nodes[client % nodes.len()]);
        clients.spawn(async move {
            let limit = limit("account", 300, 300);
            let buckets = [account_bucket(&limit, 1)];
            let mut admitted_count = 0;
            for _ in 0..requests_per_client {
                admitted_count +=
                    usize::from(engine.check(CountMode::Check, &buckets, now).await.is_admitted());
                tokio::task::yield_now().await;
            }
            admitted_count
        });
    }
    clients.join_all().await.into_iter().sum()
}

pub(super) async fn concurrent_requests_for_one_key_are_admitted_exactly_up_to_the_limit(
    engine: TestEngine,
) {
    let one_node = [Arc::clone(&engine.engine)];
    assert_eq!(count_admitted(&one_node, 10, engine.now()).await, 300);
    assert_eq!(count_admitted(&one_node, 1, engine.now()).await, 0);
}

pub(super) async fn three_nodes_together_admit_exactly_the_limit(engine: TestEngine) {
    let three_nodes =
        [Arc::clone(&engine.engine), engine.second_node().await, engine.second_node().await];
    assert_eq!(count_admitted(&three_nodes, 10, engine.now()).await, 300);
}

pub(super) async fn concurrent_rejected_requests_with_shared_keys_consume_no_quota(
    engine: TestEngine,
) {
    let mut clients = JoinSet::new();
    for client in 0..64_u8 {
        let node = Arc::clone(&engine.engine);
        let now = engine.now();
        clients.spawn(async move {
            let by_account = limit("account", 40, 300);
            let by_address = limit("ip", 50, 300);
            let mut admitted_requests = Vec::new();
            for number in 0..8_u8 {
                let id = (client + number) % 5;
                let last_octet = (client ^ number) % 4;
                let buckets = [
                    account_bucket(&by_account, id.into()),
                    address_bucket(&by_address, last_octet),
                ];
                if node.check(CountMode::Check, &buckets, now).await.is_admitted() {
                    admitted_requests.push((id, last_octet));
                }
            }
            admitted_requests
        });
    }
    let admitted_requests: Vec<(u8, u8)> = clients.join_all().await.into_iter().flatten().collect();
    let mut counts = HashMap::<_, u32>::new();
    for (id, last_octet) in admitted_requests {
        *counts.entry(LimitKey::Account(id.into())).or_default() += 1;
        *counts
            .entry(LimitKey::Network(Network::from_address([192, 0, 2, last_octet].into())))
            .or_default() += 1;
    }
    let second_node = engine.second_node().await;
    for (key, count) in counts {
        let limit = match key {
            LimitKey::Account(_) => limit("account", 40, 300),
            _ => limit("ip", 50, 300),
        };
        let decision = second_node
            .check(CountMode::Peek, &[Bucket { limit: &limit, key }], engine.now())
            .await;
        assert_eq!(remaining(&decision), [limit.requests() - count]);
    }
}

pub(super) async fn a_refunded_request_consumes_no_quota(engine: TestEngine) {
    let wide = limit("address", 3, 300);
    let narrow = limit("name", 2, 300);
    let buckets = [account_bucket(&wide, 1), account_bucket(&narrow, 1)];
    for _ in 0..5 {
        assert_eq!(remaining(&engine.check(&buckets).await), [2, 1]);
        let refund = engine.refund(&buckets).await;
        assert_eq!((refund.is_admitted(), remaining(&refund)), (true, vec![3, 2]));
    }
    assert_eq!(
        remaining(&engine.refund(&buckets).await),
        [3, 2],
        "the count never exceeds the limit"
    );
    engine.check(&buckets).await;
    engine.check(&buckets).await;
    assert!(!engine.check(&buckets).await.is_admitted());
    assert_eq!(
        remaining(&engine.refund(&buckets).await),
        [2, 1],
        "an exhausted limit is refunded too"
    );
    assert!(engine.check(&buckets).await.is_admitted());
    let second_node = engine.second_node().await;
    assert_eq!(
        remaining(&second_node.check(CountMode::Peek, &buckets, engine.now()).await),
        [1, 0]
    );
}

pub(super) async fn concurrent_requests_that_are_refunded_never_exceed_the_limit(
    engine: TestEngine,
) {
    let engine = Arc::new(engine);
    let in_use = Arc::new(AtomicUsize::new(0));
    let max_in_use = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..32 {
        let engine = Arc::clone(&engine);
        let in_use = Arc::clone(&in_use);
        let max_in_use = Arc::clone(&max_in_use);
        tasks.spawn(async move {
            let limit = limit("name", 5, 300);
            let buckets = [account_bucket(&limit, 1)];
            for _ in 0..20 {
                if engine.check(&buckets).await.is_admitted() {
                    max_in_use
                        .fetch_max(in_use.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    in_use.fetch_sub(1, Ordering::SeqCst);
                    engine.refund(&buckets).await;
                }
            }
        });
    }
    tasks.join_all().await;
    assert!((1..=5).contains(&max_in_use.load(Ordering::SeqCst)), "{max_in_use:?}");
    let limit = limit("name", 5, 300);
    assert_eq!(remaining(&engine.peek(&[account_bucket(&limit, 1)]).await), [5]);
}
