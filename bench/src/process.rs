//! Resource usage of this process and thread, from `/proc`.

use std::fs;
use std::time::Duration;

/// Returns this process's CPU time in seconds. Excludes PostgreSQL, which is a separate process.
pub(crate) fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    // Linux reports user and system time in ticks of 10 ms.
    let ticks = after_name.split(' ').skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Returns the CPU time of this thread, which is independent of other work on the machine.
pub(crate) fn thread_cpu_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(stat.split_whitespace().next()?.parse().ok()?))
}

/// Returns this process's resident memory.
pub(crate) fn resident_memory_bytes() -> u64 {
    // The second field counts pages, which have 4 KiB on x86-64.
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
