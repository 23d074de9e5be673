//! CPU time of processes, from Linux's `/proc`.

use std::fs;

/// Returns the CPU time that a process has used so far, in microseconds; NaN where `/proc` does not
/// exist.
pub(crate) fn cpu_us(process: u32) -> f64 {
    ticks(&stat(process), 2).map_or(f64::NAN, |ticks| ticks * US_PER_TICK)
}

/// Returns the CPU time that a process and its children, running or exited, have used so far, in
/// microseconds; NaN where `/proc` does not exist.
pub(crate) fn cpu_us_with_children(process: u32) -> f64 {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let running: f64 = children
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|child| ticks(&stat(child.parse().ok()?), 2))
        .sum();
    ticks(&stat(process), 4).map_or(f64::NAN, |ticks| (ticks + running) * US_PER_TICK)
}

const US_PER_TICK: f64 = 10_000.0;

fn stat(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default()
}

/// Returns the sum of the first `fields` of these: user time, system time, and both for children
/// that have exited, in hundredths of a second. The process name before these fields is in
/// parentheses and may itself contain parentheses and spaces.
fn ticks(stat: &str, fields: usize) -> Option<f64> {
    let all: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let fields = all.get(11..11 + fields)?;
    fields.iter().map(|field| field.parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_after_any_process_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 131 0 0 0 250 50 9 1 20 0 3 0";
        assert_eq!(ticks(stat, 2), Some(300.0));
        assert_eq!(ticks(stat, 4), Some(310.0));
        assert_eq!(ticks("", 2), None);
    }

    #[test]
    fn cpu_time_with_children_is_at_least_that_of_the_process() {
        let this = std::process::id();
        let without_children = cpu_us(this);
        assert!(cpu_us_with_children(this) >= without_children);
    }
}
