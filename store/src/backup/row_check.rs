//! Checks that the store can read the values of a row.
//!
//! A row that the store cannot read would break a list of accounts, or all of a user's requests,
//! long after the restore. The check uses the same parsers as the store.

use std::collections::BTreeMap;

use belfry_core::account::Role;
use belfry_core::oauth::client::{AuthMethod, GrantType, Issuer, Registrar};
use belfry_core::oauth::scope::Scopes;
use belfry_core::push::receiver::{Protocol, ReceiverDocument};
use belfry_core::rules::{RuleDocument, RuleScope};
use belfry_core::secret::{HashedSecret, LookupKey, Sha256Digest};
use jiff::Timestamp;

use super::schema::{Column, ColumnType, Table};
use crate::engine::{FromValue, Value};
use crate::oauth::codes::binding_from_json;

/// Maximum length of a value in a message, in characters.
const MAX_VALUE_CHARS: usize = 64;

/// The outcome of checking a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckOutcome {
    Valid,
    /// A name that this version does not support. The store ignores it, or treats it like the least
    /// privileged name.
    UnknownName,
    /// The row cannot be read.
    Invalid,
}

/// A check of one column's value.
type ColumnCheck = fn(&Value) -> CheckOutcome;

/// Checks the rows of one table.
pub(super) struct RowCheck<'a> {
    table: &'a Table,
    checks: Vec<ColumnCheck>,
    /// The first value with an unknown name, by column index.
    unknown_names: BTreeMap<usize, String>,
}

impl<'a> RowCheck<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        let checks = table.columns.iter().map(|column| column_check(&table.name, column)).collect();
        Self { table, checks, unknown_names: BTreeMap::new() }
    }

    /// Checks a row. The error says which value cannot be read.
    pub(super) fn check(&mut self, row: &[Value]) -> Result<(), String> {
        for (index, (check, value)) in self.checks.iter().zip(row).enumerate() {
            match check(value) {
                CheckOutcome::Valid => {}
                CheckOutcome::UnknownName => {
                    let Self { table, unknown_names, .. } = self;
                    unknown_names.entry(index).or_insert_with(|| describe_value(table, row, index));
                }
                CheckOutcome::Invalid => return Err(describe_value(self.table, row, index)),
            }
        }
        Ok(())
    }

    /// Returns, for each column, the first value with an unknown name.
    pub(super) fn into_unknown_names(self) -> impl Iterator<Item = String> {
        self.unknown_names.into_values()
    }
}

/// Describes a value, and identifies its row by the first column, which is part of the primary key.
fn describe_value(table: &Table, row: &[Value], column: usize) -> String {
    let describe_column = |index: usize| {
        let value = match &row[index] {
            Value::Null => "null".to_owned(),
            Value::Integer(integer) => integer.to_string(),
            Value::Text(text) => {
                format!("{:?}", text.chars().take(MAX_VALUE_CHARS).collect::<String>())
            }
        };
        format!("{} {value}", table.columns[index].name)
    };
    let value = describe_column(column);
    let key = describe_column(0);
    format!("{value} in the row of table {} with {key}", table.name)
}

/// Returns the check for a column: the store's parser if it has one, otherwise a type check.
fn column_check(table: &str, column: &Column) -> ColumnCheck {
    match (table, &*column.name) {
        (_, "at") | ("receivers", "denied_since") => check_type::<Timestamp>,
        (_, name) if name.ends_with("_at") || name.ends_with("_until") => check_type::<Timestamp>,
        (_, "lookup") | ("codes" | "receivers", "token") => check_type::<LookupKey>,
        (_, "digest") | ("receivers", "ack_digest") => check_type::<Sha256Digest>,
        ("apps", "secret" | "previous_secret") => check_type::<HashedSecret>,
        ("apps", "redirect_uris") => {
            |value| check_text(value, |text| serde_json::from_str::<Vec<String>>(text).is_ok())
        }
        ("apps", "auth_method") => {
            |value| check_names(value, |name| AuthMethod::from_name(name).is_some())
        }
        ("apps", "registered_by") => {
            |value| check_names(value, |name| Registrar::from_name(name).is_some())
        }
        ("apps", "issuer") => |value| check_names(value, |name| Issuer::from_name(name).is_some()),
        ("apps", "grant_types") => |value| {
            check_names(value, |names| {
                names.split_whitespace().all(|name| GrantType::from_name(name).is_some())
            })
        },
        (_, "scopes") => {
            |value| check_names(value, |text| Scopes::from_stored(text).unknown_count() == 0)
        }
        (_, "credential_version")
        | ("rulesets", "version")
        | ("audit_events", "count")
        | ("receivers", "denied_count") => check_counter,
        ("accounts", "role") => |value| check_names(value, |name| Role::from_name(name).is_some()),
        ("codes", "binding") => |value| check_text(value, |text| binding_from_json(text).is_some()),
        ("receivers", "protocol") => check_type::<Protocol>,
        ("receivers", "document") => {
            |value| check_text(value, |text| serde_json::from_str::<ReceiverDocument>(text).is_ok())
        }
        ("rulesets", "scope") => {
            |value| check_text(value, |text| text.parse::<RuleScope>().is_ok())
        }
        ("rulesets", "document") => |value| {
            check_text(value, |text| RuleDocument::from_text(RuleScope::Global, text).is_ok())
        },
        _ => match column.kind {
            ColumnType::Text => |value| check_text(value, |_| true),
            ColumnType::Integer => check_type::<i64>,
        },
    }
}

/// Checks that the store can read a value as this type. Null is accepted; the database enforces
/// `not null`.
fn check_type<T: FromValue>(value: &Value) -> CheckOutcome {
    match Option::<T>::from_value(value.clone()) {
        Some(_) => CheckOutcome::Valid,
        None => CheckOutcome::Invalid,
    }
}

/// Checks a number that the store increments: negative values and values near overflow are
/// rejected.
fn check_counter(value: &Value) -> CheckOutcome {
    match value {
        Value::Integer(number) if !(0..=1 << 62).contains(number) => CheckOutcome::Invalid,
        value => check_type::<i64>(value),
    }
}

/// Checks that a value is null, or text that the predicate accepts.
fn check_text(value: &Value, is_valid: impl Fn(&str) -> bool) -> CheckOutcome {
    match value {
        Value::Null => CheckOutcome::Valid,
        Value::Text(text) if is_valid(text) => CheckOutcome::Valid,
        Value::Text(_) | Value::Integer(_) => CheckOutcome::Invalid,
    }
}

/// Checks a name or a list of names. Unknown names are reported, not rejected, because the store
/// tolerates them.
fn check_names(value: &Value, is_known: impl Fn(&str) -> bool) -> CheckOutcome {
    match value {
        Value::Text(text) if !is_known(text) => CheckOutcome::UnknownName,
        value => check_text(value, |_| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::schema::Schema;
    use crate::engine::migrations::Migrations;

    /// A new column needs a decision about its check: all strings that the store parses are
    /// checked.
    #[test]
    fn every_column_is_checked_as_the_store_reads_it() {
        let migrations = Migrations::default();
        let schema = Schema::from_migrations(migrations.newest(), migrations).unwrap();
        let invalid_value = |kind| match kind {
            ColumnType::Text => "\u{1b}{".into(),
            ColumnType::Integer => i64::MIN.into(),
        };
        let mut unparsed_columns = Vec::new();
        for table in schema.backup_tables() {
            for column in &table.columns {
                let check = column_check(&table.name, column);
                assert_eq!(check(&Value::Null), CheckOutcome::Valid);
                let wrong_type = match column.kind {
                    ColumnType::Text => 1.into(),
                    ColumnType::Integer => "1".into(),
                };
                assert_eq!(check(&wrong_type), CheckOutcome::Invalid, "{} {column:?}", table.name);
                if check(&invalid_value(column.kind)) == CheckOutcome::Valid {
                    unparsed_columns.push(format!("{}.{}", table.name, column.name));
                }
            }
        }
        unparsed_columns.sort_unstable();
        let expected = [
            "accounts.email",
            "accounts.id",
            "accounts.name",
            "accounts.password",
            "accounts.unverified_email",
            "apps.client_id",
            "apps.id",
            "apps.name",
            "apps.website",
            "audit_events.account_id",
            "audit_events.address",
            "audit_events.app_id",
            "audit_events.detail",
            "audit_events.id",
            "audit_events.kind",
            "audit_events.origin",
            "audit_events.outcome",
            "audit_events.request_id",
            "codes.account_id",
            "codes.app_id",
            "codes.grant_id",
            "deleted_owners.id",
            "deleted_owners.kind",
            "grants.account_id",
            "grants.app_id",
            "grants.device_id",
            "grants.device_name",
            "grants.id",
            "grants.redirect_uri",
            "receivers.account_id",
            "receivers.app_id",
            "receivers.failure",
            "receivers.id",
            "receivers.origin",
            "receivers.push_key",
            "receivers.secrets",
            "receivers.vapid_key",
            "reserved_names.name",
            "rulesets.account_id",
            "sessions.account_id",
            "sessions.address",
            "sessions.browser",
            "sessions.lang",
            "tokens.account_id",
            "tokens.app_id",
            "tokens.grant_id",
            "vapid_keys.private_key",
            "vapid_keys.public_key",
        ];
        assert_eq!(unparsed_columns, expected);
    }
}
