//! The table against a plain map, its bound, and what it gives up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use belfry_core::limits::{Limit, LimitKey, Network};
use proptest::prelude::*;

use super::*;

fn limit(requests: u32) -> Arc<Limit> {
    Limit::new("l", requests, Duration::from_mins(5)).unwrap().into()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn window(count: u32, end: i64) -> Window {
    Window { count, end: at(end).into() }
}

/// Spreads small numbers over the whole table, as the hash does.
fn print(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

proptest! {
    #[test]
    fn a_shard_keeps_what_a_map_would_keep(
        steps in prop::collection::vec((0..60_u64, 1..4_u32, 1..40_i64, 0..4_i64), 1..300),
    ) {
        let (mut shard, mut map) = (Shard::new(1000), HashMap::new());
        let mut now = 0;
        for (key, times, length, passed) in steps {
            now += passed;
            // A key that comes more than once in a row is kept apart.
            for count in 1..=times {
                let window = window(count, now + length);
                shard.put(print(key), &limit(9), window, at(now).into());
                map.insert(key, window);
            }
            map.retain(|_, window| window.end > at(now).into());
            if passed == 3 {
                shard.sweep(at(now).into());
                prop_assert_eq!(shard.used(), map.len());
            }
            for key in 0..60 {
                let kept = shard.get(print(key));
                let live = (kept.count > 0 && kept.end > at(now).into()).then_some(kept);
                prop_assert_eq!(live, map.get(&key).copied());
            }
        }
        prop_assert_eq!(shard.evicted(), 0);
    }

    #[test]
    fn a_shard_holds_no_more_than_its_bound(
        most in 1..70_usize,
        keys in prop::collection::vec(any::<u64>(), 1..400),
    ) {
        let mut shard = Shard::new(most);
        for key in keys {
            for count in 1..4 {
                shard.put(key, &limit(9), window(count, 300), at(0).into());
                prop_assert!(shard.used() <= most);
                prop_assert_eq!(shard.get(key), window(count, 300));
            }
        }
    }
}

// Attack 134.
#[test]
fn a_flood_of_fresh_keys_does_not_push_out_a_key_at_its_limit() {
    let memory = Memory::new(1000);
    let limit = limit(300);
    let at_its_limit = [Bucket { limit: &limit, key: LimitKey::Account(1) }];
    (0..300).for_each(|_| drop(memory.judge(CountMode::Check, &at_its_limit, at(0))));
    for address in 0..100_000_u32 {
        let key = LimitKey::Network(Network::of(std::net::Ipv4Addr::from_bits(address).into()));
        let flood = [Bucket { limit: &limit, key }];
        assert!(memory.judge(CountMode::Check, &flood, at(1)).is_admitted());
    }
    assert!(!memory.judge(CountMode::Check, &at_its_limit, at(2)).is_admitted());
    let state = memory.state();
    assert!(state.keys <= 1000, "{state:?}");
    assert!(state.evicted > 90_000, "{state:?}");
}

#[test]
fn a_sweep_forgets_what_has_ended_and_gives_the_memory_back() {
    let memory = Memory::new(Memory::KEYS);
    let limit = limit(300);
    for number in 0..10_000 {
        let buckets = [Bucket { limit: &limit, key: LimitKey::Account(number) }];
        drop(memory.judge(CountMode::Check, &buckets, at(number % 2)));
    }
    assert_eq!(memory.state().keys, 10_000);
    memory.sweep(at(300));
    assert_eq!(memory.state().keys, 5_000);
    memory.sweep(at(301));
    assert_eq!(memory.state().keys, 0);
    assert!((0..SHARDS).all(|place| memory.shard(place).slots() == 0));
}

#[test]
fn new_keys_sweep_old_ones_out_before_the_table_grows() {
    let memory = Memory::new(Memory::KEYS);
    let limit = limit(300);
    for minute in 0..100 {
        for number in 0..1000 {
            let id = minute * 1000 + number;
            let buckets = [Bucket { limit: &limit, key: LimitKey::Account(id) }];
            drop(memory.judge(CountMode::Check, &buckets, at(minute * 600)));
        }
    }
    let slots: usize = (0..SHARDS).map(|place| memory.shard(place).slots()).sum();
    assert!(slots < 5_000, "{slots} slots for 1000 keys that are in use");
}

#[test]
fn what_was_told_elsewhere_is_gone_on_from() {
    let memory = Memory::new(100);
    let limit = limit(10);
    let buckets = [Bucket { limit: &limit, key: LimitKey::Account(1) }];
    let told =
        |count, end| decide(CountMode::Peek, &mut [(&limit, window(count, end))], at(0).into());
    let known = || 10 - memory.judge(CountMode::Peek, &buckets, at(0)).statuses()[0].remaining;
    for (count, end, kept, why) in [
        (0, 300, 0, "nothing was counted"),
        (4, 300, 4, "the first that is told"),
        (3, 299, 4, "an answer that was overtaken"),
        (1, 120, 1, "another window"),
        (10, 120, 10, "over"),
    ] {
        memory.remember(&buckets, &told(count, end), at(0).into());
        assert_eq!(known(), kept, "{why}");
    }
}
