//! Process metrics, with the names that all Prometheus clients use. Most are read from `/proc`, and
//! omitted on systems without it.

use std::fs;

use belfry_runtime::metrics::exposition::Exposition;
use jiff::Timestamp;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

use super::families;

pub(super) fn write(out: &mut Exposition, started_at: Timestamp) {
    out.value(&families::PROCESS_START_TIME, started_at.as_duration().as_secs_f64());
    let file_limit = getrlimit(Resource::Nofile).current;
    out.value(&families::PROCESS_MAX_FDS, file_limit.unwrap_or(u64::MAX));
    if let Ok(descriptors) = fs::read_dir("/proc/self/fd") {
        out.value(&families::PROCESS_OPEN_FDS, descriptors.count());
    }
    if let Some(process_stat) =
        fs::read_to_string("/proc/self/stat").ok().and_then(|stat| parse_stat(&stat))
    {
        out.value(&families::PROCESS_CPU, process_stat.cpu_seconds);
        out.value(&families::PROCESS_THREADS, process_stat.threads);
        out.value(&families::PROCESS_VIRTUAL_MEMORY, process_stat.virtual_bytes);
        out.value(&families::PROCESS_RESIDENT_MEMORY, process_stat.resident_bytes);
    }
}

struct ProcessStat {
    cpu_seconds: f64,
    threads: u64,
    virtual_bytes: u64,
    resident_bytes: u64,
}

/// Parses `/proc/self/stat`. The second field is the process name, which may contain spaces.
#[expect(clippy::cast_precision_loss, reason = "a metric needs no more than 53 bits")]
fn parse_stat(stat: &str) -> Option<ProcessStat> {
    let (_, text_after_name) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = text_after_name.split_ascii_whitespace().collect();
    // The manual page counts from 1, and the first field after the name is number 3.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(ProcessStat {
        cpu_seconds: (field(14)? + field(15)?) as f64 / clock_ticks_per_second() as f64,
        threads: field(20)?,
        virtual_bytes: field(23)?,
        resident_bytes: field(24)? * page_size() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_name_may_contain_spaces_and_parentheses() {
        let stat = "7 (a) b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 9 0 12345 4096000 \
                    25 18446744073709551615 1 1 0";
        let process_stat = parse_stat(stat).unwrap();
        let ticks_per_second = u32::try_from(clock_ticks_per_second()).unwrap();
        let expected = 300.0 / f64::from(ticks_per_second);
        assert!((process_stat.cpu_seconds - expected).abs() < 1e-6);
        assert_eq!((process_stat.threads, process_stat.virtual_bytes), (9, 4_096_000));
        assert_eq!(process_stat.resident_bytes, 25 * page_size() as u64);
        assert!(parse_stat("nonsense").is_none());
    }
}
