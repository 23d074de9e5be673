//! The results of the checks, printed as text or JSON.

use std::io;

use serde_json::json;
use strum::IntoStaticStr;

use crate::cli::output::{format_json_line, print};
use crate::escape::escape;

#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(super) enum CheckStatus {
    Ok,
    /// The check passed, but something is probably a mistake or will fail soon.
    Warning,
    Failed,
    /// There is nothing to check, or it cannot be checked.
    Skipped,
}

type CheckName = &'static str;

/// The result of one check, with advice.
struct Finding {
    check: CheckName,
    status: CheckStatus,
    message: String,
    /// Advice; empty if the message contains it.
    fix: String,
}

/// The findings of all checks, in order.
#[derive(Default)]
pub(super) struct Report(Vec<Finding>);

impl Report {
    fn add(&mut self, check: CheckName, status: CheckStatus, message: String, fix: String) {
        self.0.push(Finding { check, status, message, fix });
    }

    pub(super) fn ok(&mut self, check: CheckName, message: impl Into<String>) {
        self.add(check, CheckStatus::Ok, message.into(), String::new());
    }

    pub(super) fn skip(&mut self, check: CheckName, message: impl Into<String>) {
        self.add(check, CheckStatus::Skipped, message.into(), String::new());
    }

    pub(super) fn warn(
        &mut self,
        check: CheckName,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add(check, CheckStatus::Warning, message.into(), fix.into());
    }

    pub(super) fn fail(
        &mut self,
        check: CheckName,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add(check, CheckStatus::Failed, message.into(), fix.into());
    }

    /// Returns the number of checks that failed. Warnings do not count: some are intended.
    pub(super) fn failure_count(&self) -> usize {
        self.0.iter().filter(|finding| finding.status == CheckStatus::Failed).count()
    }

    pub(super) fn print(&self, as_json: bool) -> io::Result<()> {
        let lines = self.0.iter().map(|Finding { check, status, message, fix }| {
            let status: &'static str = status.into();
            if as_json {
                let fix = Some(fix).filter(|fix| !fix.is_empty());
                return format_json_line(
                    &json!({"check": check, "status": status, "message": message, "fix": fix}),
                );
            }
            let fix = if fix.is_empty() { String::new() } else { format!("; to fix it: {fix}") };
            format!("{status:<8} {check:<13} {}{}\n", escape(message), escape(&fix))
        });
        print(&lines.collect::<String>())
    }
}
