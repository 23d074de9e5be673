//! The counter table: comparison with a plain map, maximum size, and eviction.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use belfry_core::limits::{Limit, LimitKey, Network};
use proptest::prelude::*;

use super::*;

const MAX_KEYS: usize = 2_000_000;

fn limit(requests: u32) -> Arc<Limit> {
    Limit::new("l", requests, Duration::from_mins(5)).unwrap().into()
}

fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn window(count: u32, end: i64) -> Window {
    Window { count, end: timestamp(end).into() }
}

/// Spreads small numbers over the whole table, as the hash function does.
fn spread_hash(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

proptest! {
    #[test]
    fn a_shard_stores_the_same_windows_as_a_map(
        steps in prop::collection::vec((0..60_u64, 1..4_u32, 1..40_i64, 0..4_i64), 1..300),
    ) {
        let mut shard = Shard::new(1000);
        let mut map = HashMap::new();
        let mut now = 0;
        for (key, repetitions, length, elapsed) in steps {
            now += elapsed;
            for count in 1..=repetitions {
                let window = window(count, now + length);
                shard.put(spread_hash(key), &limit(9), window, timestamp(now).into());
                map.insert(key, window);
            }
            map.retain(|_, window| window.end > timestamp(now).into());
            if elapsed == 3 {
                shard.sweep(timestamp(now).into());
                prop_assert_eq!(shard.entries.len(), map.len());
            }
            for key in 0..60 {
                let window = shard.get(spread_hash(key));
                let is_live = window.count > 0 && window.end > timestamp(now).into();
                let live_window = is_live.then_some(window);
                prop_assert_eq!(live_window, map.get(&key).copied());
            }
        }
        prop_assert_eq!(shard.evicted_keys, 0);
    }

    #[test]
    fn a_shard_never_exceeds_its_maximum(
        max_keys in 1..70_usize,
        keys in prop::collection::vec(any::<u64>(), 1..400),
    ) {
        let mut shard = Shard::new(max_keys);
        for key in keys {
            for count in 1..4 {
                shard.put(key, &limit(9), window(count, 300), timestamp(0).into());
                prop_assert!(shard.entries.len() <= max_keys);
                prop_assert_eq!(shard.get(key), window(count, 300));
            }
        }
    }
}

// A client that rotates through addresses must not reset the limit of a different key.
#[test]
fn a_flood_of_new_keys_does_not_evict_a_key_at_its_limit() {
    let memory = MemoryCounters::new(1000);
    let limit = limit(300);
    let exhausted_bucket = [Bucket { limit: &limit, key: LimitKey::Account(1) }];
    (0..300).for_each(|_| drop(memory.check(CountMode::Check, &exhausted_bucket, timestamp(0))));
    for address in 0..100_000_u32 {
        let key =
            LimitKey::Network(Network::from_address(std::net::Ipv4Addr::from_bits(address).into()));
        let flood_bucket = [Bucket { limit: &limit, key }];
        assert!(memory.check(CountMode::Check, &flood_bucket, timestamp(1)).is_admitted());
    }
    assert!(!memory.check(CountMode::Check, &exhausted_bucket, timestamp(2)).is_admitted());
    let (keys, evicted_keys) = memory.key_counts();
    assert!(keys <= 1000, "{keys}");
    assert!(evicted_keys > 90_000, "{evicted_keys}");
}

#[test]
fn a_sweep_deletes_ended_windows_and_frees_their_memory() {
    let memory = MemoryCounters::new(MAX_KEYS);
    let limit = limit(300);
    for number in 0..10_000 {
        let buckets = [Bucket { limit: &limit, key: LimitKey::Account(number) }];
        drop(memory.check(CountMode::Check, &buckets, timestamp(number % 2)));
    }
    assert_eq!(memory.key_counts().0, 10_000);
    memory.sweep(timestamp(300));
    assert_eq!(memory.key_counts().0, 5_000);
    memory.sweep(timestamp(301));
    assert_eq!(memory.key_counts().0, 0);
    assert!((0..MAX_SHARDS).all(|index| memory.lock_shard(index).entries.capacity() == 0));
}

#[test]
fn ended_windows_are_deleted_before_the_table_grows() {
    let memory = MemoryCounters::new(MAX_KEYS);
    let limit = limit(300);
    for minute in 0..100 {
        for number in 0..1000 {
            let id = minute * 1000 + number;
            let buckets = [Bucket { limit: &limit, key: LimitKey::Account(id) }];
            drop(memory.check(CountMode::Check, &buckets, timestamp(minute * 600)));
        }
    }
    let slots: usize =
        (0..MAX_SHARDS).map(|index| memory.lock_shard(index).entries.capacity()).sum();
    assert!(slots < 5_000, "{slots} slots for 1000 live keys");
}

#[test]
fn counting_continues_from_reported_counts() {
    let memory = MemoryCounters::new(100);
    let limit = limit(10);
    let buckets = [Bucket { limit: &limit, key: LimitKey::Account(1) }];
    let report = |count, end| {
        decide(CountMode::Peek, &mut [(&limit, window(count, end))], timestamp(0).into())
    };
    let stored_count =
        || 10 - memory.check(CountMode::Peek, &buckets, timestamp(0)).statuses()[0].remaining;
    for (count, end, expected, case) in [
        (0, 300, 0, "nothing was counted"),
        (4, 300, 4, "the first report"),
        (3, 299, 4, "a late response"),
        (1, 120, 1, "a different window"),
        (10, 120, 10, "exhausted"),
    ] {
        memory.record(&buckets, &report(count, end), timestamp(0).into());
        assert_eq!(stored_count(), expected, "{case}");
    }
}
