//! CPU time of processes, from Linux's `/proc`.

use std::fs;

/// Returns the CPU time that a process has used so far, in microseconds; NaN where `/proc` does not
/// exist.
pub(crate) fn cpu_time_us(process: u32) -> f64 {
    cpu_ticks(&read_stat(process), 2).map_or(f64::NAN, |ticks| ticks * US_PER_TICK)
}

/// Returns the CPU time that a process and its children, running or exited, have used so far, in
/// microseconds; NaN where `/proc` does not exist.
pub(crate) fn cpu_time_us_with_children(process: u32) -> f64 {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children_ticks: f64 = children
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|child| cpu_ticks(&read_stat(child.parse().ok()?), 2))
        .sum();
    cpu_ticks(&read_stat(process), 4)
        .map_or(f64::NAN, |ticks| (ticks + children_ticks) * US_PER_TICK)
}

const US_PER_TICK: f64 = 10_000.0;

fn read_stat(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default()
}

/// Returns the sum of the first `field_count` CPU time fields, in hundredths of a second: user
/// time, system time, and both for children that have exited. The process name before them is in
/// parentheses and may itself contain parentheses and spaces.
fn cpu_ticks(stat: &str, field_count: usize) -> Option<f64> {
    let all_fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let cpu_fields = all_fields.get(11..11 + field_count)?;
    cpu_fields.iter().map(|field| field.parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_after_any_process_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 131 0 0 0 250 50 9 1 20 0 3 0";
        assert_eq!(cpu_ticks(stat, 2), Some(300.0));
        assert_eq!(cpu_ticks(stat, 4), Some(310.0));
        assert_eq!(cpu_ticks("", 2), None);
    }

    #[test]
    fn cpu_time_with_children_is_at_least_that_of_the_process() {
        let own_id = std::process::id();
        let without_children = cpu_time_us(own_id);
        assert!(cpu_time_us_with_children(own_id) >= without_children);
    }
}
