//! Account import from another system: a file with one JSON object per line.

mod error;
mod file;

use jiff::Timestamp;
use serde_json::Value;

pub use self::error::{ImportError, LineError};
pub use self::file::AccountFileReader;
use crate::account::password_hash::PasswordHash;
use crate::account::{Role, check_email, parse_name};
use crate::json::{self, Fields, Location};
use crate::rules::{NewRuleLimits, RuleDocument, RuleError, RuleLimits, read_rulesets};

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
