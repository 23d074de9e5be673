//! A progress line for commands on a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use belfry_store::Progress;

/// Minimum time between two updates of the line.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// A line on stderr, shown only on a terminal and cleared when it is dropped.
pub(super) struct ProgressLine {
    pub(super) is_terminal: bool,
    /// Time of the last update; `None` if it is not visible.
    last_shown: Option<Instant>,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        Self { is_terminal: stderr().is_terminal(), last_shown: None }
    }

    pub(super) fn show(&mut self, progress: Progress) {
        let is_due = self.last_shown.is_none_or(|time| time.elapsed() >= UPDATE_INTERVAL);
        if self.is_terminal && is_due {
            self.last_shown = Some(Instant::now());
            print_to_terminal(&format!("\r{}\x1b[K", format_progress(progress)));
        }
    }

    /// Removes the line until it is shown again, so that a message can be printed.
    pub(super) fn clear(&mut self) {
        if self.last_shown.take().is_some() {
            print_to_terminal("\r\x1b[K");
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Prints to the terminal. Errors are ignored, because the command does not depend on it.
fn print_to_terminal(text: &str) {
    let mut stderr = stderr();
    drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
}

fn format_progress(Progress { step, rows, total }: Progress) -> String {
    let percent = rows.saturating_mul(100).checked_div(total).unwrap_or(100).min(100);
    format!("{step:<9} {percent:>3} %  {rows} of {total} rows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_the_step_and_the_percentage() {
        for (rows, total, expected) in [
            (0, 300, "  0 %  0 of 300 rows"),
            (150, 300, " 50 %  150 of 300 rows"),
            (300, 300, "100 %  300 of 300 rows"),
            (301, 300, "100 %  301 of 300 rows"),
            (0, 0, "100 %  0 of 0 rows"),
        ] {
            let progress = Progress { step: "restoring", rows, total };
            assert_eq!(format_progress(progress), format!("restoring {expected}"));
        }
    }
}
