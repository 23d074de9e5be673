//! Throughput of the in-memory rate-limit counters on one thread, and memory per key.

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use belfry_core::limits::{Bucket, CountMode, Limit, LimitKey, Network};
use belfry_limits::memory::MemoryCounters;
use jiff::Timestamp;

use crate::print_row;
use crate::process::{resident_memory_bytes, thread_cpu_time};

const CHECKS: u32 = 3_000_000;

/// Measures the counters with different numbers of keys and prints the figures.
pub(crate) fn measure() -> Result<(), Box<dyn Error>> {
    let window = Duration::from_mins(5);
    let by_account = Arc::new(Limit::new("account", u32::MAX, window)?);
    let by_address = Arc::new(Limit::new("ip", u32::MAX, window)?);
    for keys in [1_000, 1_000_000, 10_000_000] {
        let memory_before = resident_memory_bytes();
        // A margin, because the shards do not fill evenly.
        let counters = MemoryCounters::new(keys as usize * 2 + 100_000);
        let new_key_rate =
            measure_rate(keys, |i| check_limits(&counters, &[address_bucket(&by_address, i)]));
        let bytes_per_key = resident_memory_bytes().saturating_sub(memory_before) / u64::from(keys);
        let check_rate = measure_rate(CHECKS, |i| {
            check_limits(&counters, &[address_bucket(&by_address, scatter(i) % keys)]);
        });
        // A request that is counted for an account and an address.
        let pair_rate = measure_rate(CHECKS, |i| {
            let id = scatter(i) % (keys / 2);
            let account = Bucket { limit: &by_account, key: LimitKey::Account(id.into()) };
            check_limits(&counters, &[account, address_bucket(&by_address, scatter(i) % keys)]);
        });
        let name = format!("counters, {keys} keys");
        print_row(&name, format_args!("{new_key_rate:.0}"), "new keys/s");
        print_row(&name, format_args!("{check_rate:.0}"), "checks/s of one limit");
        print_row(&name, format_args!("{pair_rate:.0}"), "checks/s of two limits together");
        print_row(&name, bytes_per_key, "bytes per key");
    }
    measure_flood(&by_address);
    Ok(())
}

/// Measures checks of ten million new keys with counters that have room for one million.
fn measure_flood(limit: &Arc<Limit>) {
    let counters = MemoryCounters::new(1_000_000);
    for million in 0..10 {
        let first = million * 1_000_000;
        let new_key_rate = measure_rate(1_000_000, |i| {
            check_limits(&counters, &[address_bucket(limit, first + i)]);
        });
        if [0, 9].contains(&million) {
            let name = format!("room for 1,000,000 keys, million {} of a flood", million + 1);
            print_row(&name, format_args!("{new_key_rate:.0}"), "new keys/s");
            print_row(&name, counters.key_counts().0, "keys");
        }
    }
}

fn address_bucket(limit: &Arc<Limit>, number: u32) -> Bucket<'_> {
    Bucket {
        limit,
        key: LimitKey::Network(Network::from_address(Ipv4Addr::from_bits(number).into())),
    }
}

fn check_limits(counters: &MemoryCounters, buckets: &[Bucket<'_>]) {
    std::hint::black_box(counters.check(CountMode::Check, buckets, Timestamp::UNIX_EPOCH));
}

/// Runs a function `runs` times and returns the runs per second of CPU time, or of elapsed time if
/// the CPU time is unknown.
fn measure_rate(runs: u32, mut run_once: impl FnMut(u32)) -> f64 {
    let start = Instant::now();
    let cpu_before = thread_cpu_time();
    (0..runs).for_each(&mut run_once);
    let cpu_time = thread_cpu_time()
        .zip(cpu_before)
        .and_then(|(after, before)| after.checked_sub(before))
        .filter(|cpu_time| !cpu_time.is_zero());
    f64::from(runs) / cpu_time.unwrap_or_else(|| start.elapsed()).as_secs_f64()
}

/// Maps neighbouring numbers to distant ones, so that successive checks do not share a cache line.
fn scatter(number: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b1)
}
