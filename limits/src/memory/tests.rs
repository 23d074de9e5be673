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

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn window(count: u32, end: i64) -> Window {
    Window { count, end: at(end).into() }
}

/// Spreads small numbers over the whole table, as the hash function does.
fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

proptest! {
    #[test]
    fn a_shard_stores_the_same_windows_as_a_map(
        steps in prop::collection::vec((0..60_u64, 1..4_u32, 1..40_i64, 0..4_i64), 1..300),
    ) {
        let (mut shard, mut map) = (Shard::new(1000), HashMap::new());
        let mut now = 0;
        for (key, times, length, passed) in steps {
            now += passed;
            for count in 1..=times {
                let window = window(count, now + length);
                shard.put(spread(key), &limit(9), window, at(now).into());
                map.insert(key, window);
            }
            map.retain(|_, window| window.end > at(now).into());
            if passed == 3 {
                shard.sweep(at(now).into());
                prop_assert_eq!(shard.entries.len(), map.len());
            }
            for key in 0..60 {
                let stored = shard.get(spread(key));
                let live = (stored.count > 0 && stored.end > at(now).into()).then_some(stored);
                prop_assert_eq!(live, map.get(&key).copied());
            }
        }
        prop_assert_eq!(shard.evicted, 0);
    }

    #[test]
    fn a_shard_never_exceeds_its_maximum(
        max in 1..70_usize,
        keys in prop::collection::vec(any::<u64>(), 1..400),
    ) {
        let mut shard = Shard::new(max);
        for key in keys {
            for count in 1..4 {
                shard.put(key, &limit(9), window(count, 300), at(0).into());
                prop_assert!(shard.entries.len() <= max);
                prop_assert_eq!(shard.get(key), window(count, 300));
            }
        }
    }
}

// A client that rotates through addresses must not reset the limit of another key.
#[test]
fn a_flood_of_new_keys_does_not_evict_a_key_at_its_limit() {
    let memory = MemoryCounters::new(1000);
    let limit = limit(300);
    let at_its_limit = [Bucket { limit: &limit, key: LimitKey::Account(1) }];
    (0..300).for_each(|_| drop(memory.check(CountMode::Check, &at_its_limit, at(0))));
    for address in 0..100_000_u32 {
        let key =
            LimitKey::Network(Network::from_address(std::net::Ipv4Addr::from_bits(address).into()));
        let flood = [Bucket { limit: &limit, key }];
        assert!(memory.check(CountMode::Check, &flood, at(1)).is_admitted());
    }
    assert!(!memory.check(CountMode::Check, &at_its_limit, at(2)).is_admitted());
    let (keys, evicted) = memory.keys();
    assert!(keys <= 1000, "{keys}");
    assert!(evicted > 90_000, "{evicted}");
}

#[test]
fn a_sweep_deletes_ended_windows_and_frees_their_memory() {
    let memory = MemoryCounters::new(MAX_KEYS);
    let limit = limit(300);
    for number in 0..10_000 {
        let buckets = [Bucket { limit: &limit, key: LimitKey::Account(number) }];
        drop(memory.check(CountMode::Check, &buckets, at(number % 2)));
    }
    assert_eq!(memory.keys().0, 10_000);
    memory.sweep(at(300));
    assert_eq!(memory.keys().0, 5_000);
    memory.sweep(at(301));
    assert_eq!(memory.keys().0, 0);
    assert!((0..MAX_SHARDS).all(|index| memory.lock(index).entries.capacity() == 0));
}

#[test]
fn ended_windows_are_deleted_before_the_table_grows() {
    let memory = MemoryCounters::new(MAX_KEYS);
    let limit = limit(300);
    for minute in 0..100 {
        for number in 0..1000 {
            let id = minute * 1000 + number;
            let buckets = [Bucket { limit: &limit, key: LimitKey::Account(id) }];
            drop(memory.check(CountMode::Check, &buckets, at(minute * 600)));
        }
    }
    let slots: usize = (0..MAX_SHARDS).map(|index| memory.lock(index).entries.capacity()).sum();
    assert!(slots < 5_000, "{slots} slots for 1000 live keys");
}

#[test]
fn counting_continues_from_reported_counts() {
    let memory = MemoryCounters::new(100);
    let limit = limit(10);
    let buckets = [Bucket { limit: &limit, key: LimitKey::Account(1) }];
    let reported =
        |count, end| decide(CountMode::Peek, &mut [(&limit, window(count, end))], at(0).into());
    let stored = || 10 - memory.check(CountMode::Peek, &buckets, at(0)).statuses()[0].remaining;
    for (count, end, expected, case) in [
        (0, 300, 0, "nothing was counted"),
        (4, 300, 4, "the first report"),
        (3, 299, 4, "a late response"),
        (1, 120, 1, "a different window"),
        (10, 120, 10, "exhausted"),
    ] {
        memory.record(&buckets, &reported(count, end), at(0).into());
        assert_eq!(stored(), expected, "{case}");
    }
}
