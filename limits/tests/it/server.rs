//! Counting on one Redis server: keys, unexpected values, clocks, restarts and local rejections.

use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode, LimitKey, Network};
use belfry_core::secret::Sha256Digest;
use belfry_limits::EngineStatus;
use redis::AsyncTypedCommands;

use test_engines::shared::redis_url;

use super::engine::{
    account_bucket, address_bucket, connect_engine, fresh_prefix, limit, open_engine,
    raw_connection, remaining,
};

fn now() -> jiff::Timestamp {
    jiff::Timestamp::UNIX_EPOCH
}

#[tokio::test]
async fn keys_have_the_subject_as_hash_tag_and_expire_with_their_window() {
    let Some(url) = redis_url() else { return };
    let prefix = fresh_prefix();
    let engine = connect_engine(&url, &prefix).await;
    let by_name = limit("name", 9, 300);
    let by_address = limit("ip", 9, 60);
    let network = Network::from_address([192, 0, 2, 1].into());
    let name_bucket = Bucket { limit: &by_name, key: LimitKey::for_name(network, "{x}") };
    let by_account = limit("account", 9, 30);
    let buckets = [name_bucket, address_bucket(&by_address, 1), account_bucket(&by_account, 7)];
    engine.check(CountMode::Check, &buckets, now()).await;

    let mut redis = raw_connection(&url).await;
    let digest = Sha256Digest::compute("{x}").to_text();
    let name_key = format!("{{ip:192.0.2.1}}:name:tried:192.0.2.1:#{digest}");
    for (key, seconds) in
        [(name_key.as_str(), 300), ("{ip:192.0.2.1}:ip", 60), ("{account:=7}:account", 30)]
    {
        let milliseconds = redis.pttl(format!("{prefix}:{key}")).await.unwrap().raw();
        assert!(
            milliseconds > seconds * 1000 - 5000 && milliseconds <= seconds * 1000,
            "{key}: {milliseconds}"
        );
    }
}

#[tokio::test]
async fn a_reserved_request_is_released_only_in_its_own_window() {
    let Some(url) = redis_url() else { return };
    let mut redis = raw_connection(&url).await;
    let script = redis::Script::new(include_str!("../../src/redis/count.lua"));
    let key = fresh_prefix();
    let window_ms = 60_000;
    let mut run_script = async |mode: &str, argument: u64| -> Vec<u64> {
        let mut invocation = script.key(&key);
        invocation.arg(mode).arg(argument).arg(window_ms);
        invocation.invoke_async(&mut redis).await.unwrap()
    };
    let [count, left_ms, time_ms] = run_script("reserve", 5).await[..] else { panic!() };
    assert_eq!((count, left_ms), (0, window_ms));
    let end_ms = time_ms + left_ms;
    assert_eq!(run_script("reserve", 5).await[0], 1);
    assert_eq!(run_script("release", end_ms).await[0], 2);
    assert_eq!(run_script("peek", 5).await[0], 1, "the request is released");
    assert_eq!(run_script("release", end_ms - window_ms).await[0], 1);
    assert_eq!(
        run_script("peek", 5).await[0],
        1,
        "a request reserved in the previous window is not released"
    );
}

#[tokio::test]
async fn a_key_without_a_valid_count_starts_again_from_0() {
    let Some(url) = redis_url() else { return };
    let prefix = fresh_prefix();
    let engine = connect_engine(&url, &prefix).await;
    let mut redis = raw_connection(&url).await;
    let limit = limit("l", 3, 300);
    let invalid_counts = ["", "x", "-1", "1.5", "1e2", "007", "0", "99999999999", "nan"];
    for (id, value) in (1..).zip(invalid_counts) {
        redis.set(format!("{prefix}:{{account:={id}}}:l"), value).await.unwrap();
        let decision = engine.check(CountMode::Check, &[account_bucket(&limit, id)], now()).await;
        assert_eq!(remaining(&decision), [2], "{value:?}");
        assert_eq!(
            remaining(&engine.check(CountMode::Check, &[account_bucket(&limit, id)], now()).await),
            [1]
        );
    }
    redis.lpush(format!("{prefix}:{{account:=99}}:l"), "x").await.unwrap();
    assert_eq!(
        remaining(&engine.check(CountMode::Check, &[account_bucket(&limit, 99)], now()).await),
        [2]
    );
    assert_eq!(engine.state().status, EngineStatus::Redis);
}

#[tokio::test]
async fn a_count_without_an_expiry_gets_one() {
    let Some(url) = redis_url() else { return };
    let prefix = fresh_prefix();
    let engine = connect_engine(&url, &prefix).await;
    let mut redis = raw_connection(&url).await;
    let limit = limit("l", 3, 60);
    let key = format!("{prefix}:{{account:=1}}:l");
    redis.set(&key, "3").await.unwrap();
    assert!(
        !engine.check(CountMode::Check, &[account_bucket(&limit, 1)], now()).await.is_admitted()
    );
    assert!(redis.ttl(&key).await.unwrap().raw() > 0);
}

#[tokio::test]
async fn an_evicted_key_starts_again_from_0() {
    let Some(url) = redis_url() else { return };
    let prefix = fresh_prefix();
    let engine = connect_engine(&url, &prefix).await;
    let mut redis = raw_connection(&url).await;
    let limit = limit("l", 3, 300);
    let buckets = [account_bucket(&limit, 1)];
    assert_eq!(remaining(&engine.check(CountMode::Check, &buckets, now()).await), [2]);
    redis.del(format!("{prefix}:{{account:=1}}:l")).await.unwrap();
    for expected in [2, 1, 0] {
        assert_eq!(remaining(&engine.check(CountMode::Check, &buckets, now()).await), [expected]);
    }
    assert!(!engine.check(CountMode::Check, &buckets, now()).await.is_admitted());
    assert_eq!(engine.state().status, EngineStatus::Redis);
}

/// Windows use the server's clock, so nodes with different clocks share them.
#[tokio::test]
async fn nodes_with_different_clocks_share_a_window() {
    let Some(url) = redis_url() else { return };
    let prefix = fresh_prefix();
    let first_node = connect_engine(&url, &prefix).await;
    let second_node = connect_engine(&url, &prefix).await;
    let limit = limit("l", 4, 300);
    let buckets = [account_bucket(&limit, 1)];
    let hour = jiff::SignedDuration::from_hours(1);
    for (node, time, expected) in [
        (&first_node, now(), 3),
        (&second_node, now() + hour, 2),
        (&first_node, now() - hour, 1),
        (&second_node, now(), 0),
    ] {
        let decision = node.check(CountMode::Check, &buckets, time).await;
        assert_eq!(remaining(&decision), [expected], "{time}");
        let until_reset = jiff::Timestamp::from(decision.statuses()[0].reset).duration_since(time);
        assert!(until_reset <= jiff::SignedDuration::from_secs(301), "{time}: {until_reset}");
    }
    for (node, time) in [(&first_node, now()), (&second_node, now() - hour)] {
        assert!(!node.check(CountMode::Check, &buckets, time).await.is_admitted(), "{time}");
    }
}

/// Counts are in Redis, so they outlive the process.
#[tokio::test]
async fn a_restart_does_not_reset_counts() {
    let Some(url) = redis_url() else { return };
    let prefix = fresh_prefix();
    let limit = limit("l", 2, 300);
    let buckets = [account_bucket(&limit, 1)];
    for is_admitted in [true, true, false] {
        let engine = connect_engine(&url, &prefix).await;
        assert_eq!(
            engine.check(CountMode::Check, &buckets, now()).await.is_admitted(),
            is_admitted
        );
    }
}

#[tokio::test]
async fn a_script_that_the_server_lost_is_sent_again() {
    let Some(url) = redis_url() else { return };
    let engine = connect_engine(&url, &fresh_prefix()).await;
    let mut redis = raw_connection(&url).await;
    let limit = limit("l", 9, 60);
    for expected in [8, 7, 6] {
        let _: () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut redis).await.unwrap();
        assert_eq!(
            remaining(&engine.check(CountMode::Check, &[account_bucket(&limit, 1)], now()).await),
            [expected]
        );
    }
    assert_eq!((engine.state().status, engine.state().local_decisions), (EngineStatus::Redis, 0));
}

#[tokio::test]
async fn a_key_that_is_known_to_be_exhausted_is_rejected_without_a_query() {
    let Some(url) = redis_url() else { return };
    let prefix = fresh_prefix();
    let engine = connect_engine(&url, &prefix).await;
    let mut redis = raw_connection(&url).await;
    let limit = limit("l", 2, 60);
    let buckets = [account_bucket(&limit, 1)];
    for is_admitted in [true, true, false] {
        let decision = engine.check(CountMode::Check, &buckets, now()).await;
        assert_eq!(decision.is_admitted(), is_admitted);
    }
    // A query would find no key and admit the request.
    redis.del(format!("{prefix}:{{account:=1}}:l")).await.unwrap();
    // A slow response may make the window end too late; this is later than any such delay.
    let later = now() + Duration::from_secs(1);
    for _ in 0..8 {
        assert!(!engine.check(CountMode::Check, &buckets, later).await.is_admitted());
    }
    assert_eq!(engine.state().local_decisions, 0);
    assert!(
        engine.check(CountMode::Check, &[account_bucket(&limit, 2)], now()).await.is_admitted()
    );
}

#[tokio::test]
async fn the_url_password_is_never_in_debug_output() {
    let url = "redis://user:hunter2@127.0.0.1:1";
    let engine = open_engine(url, "belfry", Duration::from_millis(25)).await.unwrap();
    assert!(!format!("{engine:?}").contains("hunter2"));
}
