//! Redis stopped, slow, absent, and back again: nobody is refused for it, and nobody unlimited.

use std::time::Duration;

use belfry::limits::memory::Memory;
use belfry::limits::redis::{Options, Redis};
use belfry::limits::{Counters, Place};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::engine::{account, connect, fresh_prefix, limit, redis_url, remaining};
use super::gate::{self, Gate};

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

/// Counters that reach Redis through a gate, in the usual patience.
async fn gated() -> Option<(Redis, watch::Sender<Gate>, String)> {
    let url = redis_url()?;
    let server = url.strip_prefix("redis://").unwrap().trim_end_matches('/').to_owned();
    let (address, gate) = gate::before(server).await;
    let prefix = fresh_prefix();
    let options = Options { prefix: prefix.clone(), timeout: Duration::from_millis(250) };
    let through = format!("redis://{address}");
    let counters = Redis::connect(&through, options, Memory::new(1000)).await.unwrap();
    assert_eq!(counters.state().place, Place::Redis);
    Some((counters, gate, prefix))
}

async fn passed(counters: &Redis, calls: usize) -> usize {
    let limit = limit("account", 30, 300);
    let mut passed = 0;
    for _ in 0..calls {
        let decision = counters.check(&[account(&limit, 1)], now()).await;
        passed += usize::from(decision.is_admitted());
    }
    passed
}

async fn until(counters: &Redis, place: Place) {
    for _ in 0..400 {
        if counters.state().place == place {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("still not {place:?}: {:?}", counters.state());
}

async fn counting_goes_on_and_comes_back(outage: Gate) {
    let Some((counters, gate, prefix)) = gated().await else { return };
    assert_eq!(passed(&counters, 10).await, 10);

    gate.send(outage).unwrap();
    assert_eq!(passed(&counters, 40).await, 20, "counted on from what was known");
    let state = counters.state();
    assert_eq!(state.place, Place::Alone);
    assert!(state.alone >= 20, "{state:?}");
    let limit = limit("account", 30, 300);
    assert!(counters.check(&[account(&limit, 2)], now()).await.is_admitted());

    gate.send(Gate::Open).unwrap();
    until(&counters, Place::Redis).await;
    assert_eq!(passed(&counters, 5).await, 0, "over is over until the window ends");
    counters.check(&[account(&limit, 3)], now()).await;
    let elsewhere = connect(&redis_url().unwrap(), &prefix).await;
    let seen = elsewhere.peek(&[account(&limit, 3)], now()).await;
    assert_eq!(remaining(&seen), [29], "counted together again");
}

#[tokio::test]
async fn while_redis_is_stopped_counting_goes_on_here_and_comes_back() {
    counting_goes_on_and_comes_back(Gate::Closed).await;
}

#[tokio::test]
async fn while_redis_is_slow_counting_goes_on_here_and_comes_back() {
    counting_goes_on_and_comes_back(Gate::Held).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_load_an_outage_refuses_nobody_and_lifts_no_limit() {
    let Some((counters, gate, _)) = gated().await else { return };
    let counters = std::sync::Arc::new(counters);
    let mut callers = JoinSet::new();
    for caller in 0..32 {
        let counters = std::sync::Arc::clone(&counters);
        callers.spawn(async move {
            let limit = limit("account", 20, 300);
            let mut passed = 0;
            for _ in 0..60 {
                let decision = counters.check(&[account(&limit, caller)], now()).await;
                passed += usize::from(decision.is_admitted());
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            passed
        });
    }
    for state in [Gate::Held, Gate::Closed, Gate::Open, Gate::Closed] {
        tokio::time::sleep(Duration::from_millis(30)).await;
        gate.send(state).unwrap();
    }
    for passed in callers.join_all().await {
        // What Redis counted but could not say, and what was counted here meanwhile, add up once
        // for each change: never refused early by more than that, never admitted twice over.
        assert!((16..=40).contains(&passed), "{passed} of 20");
    }
}

#[tokio::test]
async fn a_redis_that_is_not_there_at_the_start_is_counted_without() {
    let counters =
        Redis::connect("redis://127.0.0.1:1", Options::default(), Memory::new(1000)).await.unwrap();
    assert_eq!(counters.state().place, Place::Alone);
    assert_eq!(passed(&counters, 40).await, 30);
}

#[tokio::test]
async fn a_server_that_is_no_redis_is_counted_without() {
    use tokio::io::AsyncWriteExt;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        }
    });
    let counters = Redis::connect(&url, Options::default(), Memory::new(1000)).await.unwrap();
    assert_eq!(passed(&counters, 40).await, 30);
    assert_eq!(counters.state().place, Place::Alone);
}
