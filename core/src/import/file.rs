//! Reads an account file, counts its lines and detects duplicates.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use jiff::Timestamp;

use super::{ImportError, ImportLimits, ImportedAccount, LineError};

/// Reads and validates the accounts in a file line by line. Only names and e-mail addresses remain
/// in memory.
#[derive(Debug)]
pub struct AccountFileReader {
    limits: ImportLimits,
    now: Timestamp,
    /// The ids of the application services, by the names of their accounts.
    service_ids: HashMap<String, String>,
    line_number: u64,
    /// The line number of each name so far.
    names: HashMap<String, u64>,
    /// The line number of each e-mail address so far.
    emails: HashMap<String, u64>,
}

impl AccountFileReader {
    /// Creates a reader positioned before the first line.
    pub fn new(limits: ImportLimits, service_ids: HashMap<String, String>, now: Timestamp) -> Self {
        let names = HashMap::new();
        let emails = HashMap::new();
        Self { limits, now, service_ids, line_number: 0, names, emails }
    }

    pub fn line_number(&self) -> u64 {
        self.line_number
    }

    /// Parses the next line; `None` for a blank line.
    ///
    /// # Errors
    /// If the line is not valid, names the account of an application service, or repeats the name
    /// or e-mail address of an earlier one.
    pub fn parse_line(&mut self, line: &[u8]) -> Result<Option<ImportedAccount>, LineError> {
        self.line_number += 1;
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let account = ImportedAccount::parse(line, &self.limits, self.now)
            .and_then(|account| self.check_and_record(&account).map(|()| account));
        account.map(Some).map_err(|error| LineError { line: self.line_number, error })
    }

    /// Rejects accounts of application services and repeated values. Records the name and the
    /// e-mail address of other accounts.
    fn check_and_record(&mut self, account: &ImportedAccount) -> Result<(), ImportError> {
        if let Some(service) = self.service_ids.get(&account.name) {
            return Err(ImportError::ServiceSender(service.clone()));
        }
        insert_unique(&mut self.names, "name", &account.name, self.line_number)?;
        match &account.email {
            Some(email) => insert_unique(&mut self.emails, "email", email, self.line_number),
            None => Ok(()),
        }
    }
}

/// Records the line of a value, which must not have occurred before.
fn insert_unique(
    lines_by_value: &mut HashMap<String, u64>,
    field: &'static str,
    value: &str,
    line_number: u64,
) -> Result<(), ImportError> {
    match lines_by_value.entry(value.to_owned()) {
        Entry::Occupied(entry) => Err(ImportError::Duplicate { field, first_line: *entry.get() }),
        Entry::Vacant(entry) => {
            entry.insert(line_number);
            Ok(())
        }
    }
}
