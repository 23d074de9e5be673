//! The outcome of an import.

use std::io::{Write, stdout};

use belfry_store::{AddAccountError, StoreError};

use crate::cli::CliError;
use crate::cli::output::{format_count, print_message};

/// Maximum number of messages about accounts that exist already.
const MAX_MESSAGES: u64 = 20;

/// Counts accounts by outcome.
#[derive(Default)]
pub(super) struct Report {
    added: u64,
    /// Accounts that were not added because their names exist already.
    skipped: u64,
    /// Accounts that were not added for any other reason.
    rejected: u64,
}

impl Report {
    /// Counts an outcome, and prints why an account was not added. Messages about accounts that
    /// exist already are limited to [`MAX_MESSAGES`].
    pub(super) fn record(
        &mut self,
        line: u64,
        name: &str,
        outcome: Result<(), AddAccountError>,
    ) -> Result<(), StoreError> {
        let reason = match outcome {
            Ok(()) => {
                self.added += 1;
                return Ok(());
            }
            Err(AddAccountError::Store(error)) => return Err(error),
            Err(AddAccountError::NameTaken) => {
                self.skipped += 1;
                match self.skipped {
                    ..=MAX_MESSAGES => "skipped, the account exists".to_owned(),
                    _ => return Ok(()),
                }
            }
            Err(error) => {
                self.rejected += 1;
                format!("rejected, {error}")
            }
        };
        print_message(format_args!("line {line}: {name} {reason}"));
        Ok(())
    }

    pub(super) fn interruption_error(
        &self,
        error: &(dyn std::error::Error + Send + Sync),
    ) -> CliError {
        let added = format_count(self.added, "accounts");
        format!("{error}; {added} added before that, run the command again to add the rest").into()
    }

    /// Prints the totals. Returns an error if an account was rejected.
    pub(super) fn finish(self) -> Result<(), CliError> {
        let Self { added, skipped, rejected } = self;
        if skipped > MAX_MESSAGES {
            let omitted = skipped - MAX_MESSAGES;
            print_message(format_args!("and {omitted} more skipped, the accounts exist"));
        }
        let added_accounts = format_count(added, "accounts");
        writeln!(stdout(), "{added_accounts} added, {skipped} skipped, {rejected} rejected")?;
        if rejected == 0 {
            return Ok(());
        }
        Err("some accounts were rejected; see the messages above".into())
    }
}
