//! Account import from another system: a file with one JSON object per line.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use crate::account::password_hash::{PasswordHash, PasswordHashError};
use crate::account::{FieldError, NameError, Role, check_email, parse_name};
use crate::json::{self, Fields, JsonError, Location};
use crate::rules::{NewRuleLimits, RuleDocument, RuleError, RuleLimits, read_rulesets};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {error}")]
pub struct LineError {
    /// The line number; the first is 1.
    pub line: u64,
    pub error: ImportError,
}

/// The reason a line is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// The line is not accepted as JSON, or a field is missing or has the wrong type.
    #[error("{}", describe_json_error(.0))]
    Json(#[from] JsonError),
    /// The line is JSON, but not an object.
    #[error("must be a JSON object like {{\"name\":\"alice\",\"email\":\"alice@example.org\"}}")]
    NotAnObject,
    #[error(
        "unknown field {0:?}; known fields: name, email, password_hash, role, disabled, \
         created_at and push_rules"
    )]
    UnknownField(String),
    /// The name is not valid.
    #[error("name {0}")]
    Name(#[from] NameError),
    /// The e-mail address is not valid.
    #[error("email {0}")]
    Email(FieldError),
    /// The password hash is not accepted.
    #[error("password_hash {0}")]
    PasswordHash(#[from] PasswordHashError),
    #[error("role must be \"user\" or \"admin\"")]
    Role,
    /// The creation time is malformed, before 1970 or in the future.
    #[error("created_at must be a time between 1970 and now, like \"2024-01-31T12:00:00Z\"")]
    CreatedAt,
    /// The push rules would be rejected by the API.
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error(
        "name is the sender_localpart of the application service {0:?}, and belfry serve creates \
         its account; delete the line"
    )]
    ServiceSender(String),
    /// An earlier line has the same name or e-mail address.
    #[error("{field} is the same as on line {first_line}; delete or change one of them")]
    Duplicate { field: &'static str, first_line: u64 },
}

/// Describes a JSON error without the parser's line number, which is always 1.
fn describe_json_error(error: &JsonError) -> String {
    let without_line = |message: &str| message.replace("line 1 column", "column");
    match error {
        JsonError::NotUtf8 { valid_up_to } => format!("not UTF-8 at byte {}", valid_up_to + 1),
        JsonError::Syntax(message) => format!("not JSON: {}", without_line(message)),
        JsonError::Unrepresentable(_) => without_line(&error.to_string()),
        JsonError::DuplicateKey { column, .. } => {
            format!("duplicate key at column {column}")
        }
        error => error.to_string(),
    }
}

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

/// A valid account from a file. Only [`AccountFileReader::parse_line`] creates it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ImportedAccount {
    /// The name in lower case, which is also the localpart of the user id.
    pub name: String,
    /// The e-mail address in lower case. It counts as verified, because the operator supplies it.
    pub email: Option<String>,
    /// A password hash in a supported format. Without one, the account has no password to sign in
    /// with.
    pub password_hash: Option<String>,
    pub role: Role,
    /// True if sign-ins and tokens are rejected.
    pub is_disabled: bool,
    /// The creation time; the import time if the file has none.
    pub created_at: Timestamp,
    pub rulesets: Vec<RuleDocument>,
}

/// Limits on an account's push rules, the same as in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportLimits {
    pub rules: RuleLimits,
    pub rule: NewRuleLimits,
}

impl ImportedAccount {
    /// Parses a line. A null member counts as absent.
    fn parse(line: &[u8], limits: &ImportLimits, now: Timestamp) -> Result<Self, ImportError> {
        // Checked first, so that a CSV file gets an error that shows the format.
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(ImportError::NotAnObject);
        }
        let Value::Object(mut object) = json::parse_with_push_rules(line)? else {
            return Err(ImportError::NotAnObject);
        };
        object.retain(|_, value| !value.is_null());
        let mut fields = Fields::new(Value::Object(object), Location::Body)?;

        let name = parse_name(&fields.require_string("name")?)?;
        let email = fields.take_string("email")?;
        if let Some(email) = &email {
            check_email(email).map_err(ImportError::Email)?;
        }
        let password_hash = fields.take_string("password_hash")?;
        if let Some(hash) = &password_hash {
            PasswordHash::parse(hash)?;
        }
        let role = match fields.take_string("role")? {
            Some(role) => Role::from_name(&role).ok_or(ImportError::Role)?,
            None => Role::default(),
        };
        let is_disabled = fields.take_bool("disabled")?.unwrap_or(false);
        let created_at = match fields.take_string("created_at")? {
            Some(time) => parse_past_time(&time, now)?,
            None => now,
        };
        let rulesets = match fields.take("push_rules") {
            Some(rules) => read_push_rules(rules, limits)?,
            None => Vec::new(),
        };
        if let Some((field, _)) = fields.into_remaining().into_iter().next() {
            return Err(ImportError::UnknownField(field));
        }
        let email = email.map(|email| email.to_lowercase());
        Ok(Self { name, email, password_hash, role, is_disabled, created_at, rulesets })
    }
}

/// Reads push rules, with the same checks as in the API.
fn read_push_rules(value: Value, limits: &ImportLimits) -> Result<Vec<RuleDocument>, RuleError> {
    let path = "push_rules";
    let rulesets = read_rulesets(path, value, limits.rule)?;
    let rule_count = rulesets.iter().map(RuleDocument::rule_count).sum();
    let byte_count = rulesets.iter().map(|ruleset| ruleset.to_text().len()).sum();
    limits.rules.check_rule_count(0, rule_count).map_err(|error| error.at_path(path))?;
    limits.rules.check_bytes(0, byte_count).map_err(|error| error.at_path(path))?;
    Ok(rulesets)
}

/// Parses a time between the Unix epoch and now.
fn parse_past_time(text: &str, now: Timestamp) -> Result<Timestamp, ImportError> {
    let time: Timestamp = text.parse().map_err(|_| ImportError::CreatedAt)?;
    let is_valid = (Timestamp::UNIX_EPOCH..=now).contains(&time);
    if is_valid { Ok(time) } else { Err(ImportError::CreatedAt) }
}

#[cfg(test)]
mod tests;
