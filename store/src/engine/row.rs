//! Values of columns and parameters, and the rows that statements return.

use belfry_core::account::Role;
use belfry_core::account::authentication::AuthenticationMethods;
use belfry_core::oauth::client::{AuthMethod, Issuer, Registrar};
use belfry_core::oauth::scope::Scopes;
use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::receiver::Protocol;
use belfry_core::secret::{HashedSecret, LookupKey, Sha256Digest};
use belfry_core::user_agent::UserAgent;
use belfry_runtime::log_throttled;
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::metrics::UNKNOWN_SCOPES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Text(String),
    Integer(i64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Scopes are stored separated by spaces.
impl From<&Scopes> for Value {
    fn from(scopes: &Scopes) -> Self {
        Self::Text(scopes.to_stored())
    }
}

/// Times are stored as Unix time in whole seconds.
impl From<Timestamp> for Value {
    fn from(time: Timestamp) -> Self {
        Self::Integer(time.as_second())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

pub(crate) type Rows = Vec<Row>;

/// One row, read column by column.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// Reads the next column.
    pub(crate) fn take<T: FromValue>(&mut self) -> Result<T, StoreError> {
        let value = self.0.next().unwrap_or(Value::Null);
        T::from_value(value).ok_or(StoreError::Unreadable(std::any::type_name::<T>()))
    }

    /// Reads the next column as JSON.
    pub(crate) fn take_json<T: DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        let text = self.take::<String>()?;
        serde_json::from_str(&text).map_err(|_| StoreError::Unreadable(std::any::type_name::<T>()))
    }
}

pub(crate) trait FromRow: Sized {
    fn from_row(row: Row) -> Result<Self, StoreError>;
}

pub(crate) fn read_rows<T: FromRow>(rows: Rows) -> Result<Vec<T>, StoreError> {
    rows.into_iter().map(T::from_row).collect()
}

/// Reads all rows except those that a different release has stored in a form that is unknown here.
/// A warning is logged for these.
pub(crate) fn read_known_rows<T: FromRow>(rows: Rows) -> Vec<T> {
    let read_row = |row| {
        // Throttled, because every request that reads the row would log it.
        T::from_row(row)
            .inspect_err(|error| log_throttled!(warn, "cannot read a row, ignoring", %error))
            .ok()
    };
    rows.into_iter().filter_map(read_row).collect()
}

/// Reads the only column of a row.
impl<T: FromValue> FromRow for T {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        row.take()
    }
}

/// Reads a row with several columns.
macro_rules! tuple_rows {
    ($($column:ident),*) => {
        impl<$($column: FromValue),*> FromRow for ($($column),*) {
            fn from_row(mut row: Row) -> Result<Self, StoreError> {
                Ok(($(row.take::<$column>()?),*))
            }
        }
    };
}

tuple_rows!(A, B);
tuple_rows!(A, B, C);
tuple_rows!(A, B, C, D);

/// Implements [`FromRow`] for a struct, whose fields are the columns of a statement in this order.
macro_rules! from_row {
    ($type:ident: $($field:ident),* $(,)?) => {
        impl $crate::engine::FromRow for $type {
            fn from_row(mut row: $crate::engine::Row) -> Result<Self, $crate::error::StoreError> {
                Ok(Self { $($field: row.take()?),* })
            }
        }
    };
}
pub(crate) use from_row;

/// A type that can be read from a column.
pub(crate) trait FromValue: Sized {
    fn from_value(value: Value) -> Option<Self>;
}

/// Implements columns of the types that [`Value`] contains.
macro_rules! plain_columns {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }

        impl FromValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                if let Value::$variant(value) = value { Some(value) } else { None }
            }
        }
    )*};
}

plain_columns!(String => Text, i64 => Integer);

/// Implements columns of types with `to_text` and `from_text`.
macro_rules! text_columns {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::Text(value.to_text())
            }
        }

        impl FromValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                Self::from_text(&String::from_value(value)?)
            }
        }
    )*};
}

text_columns!(AuthenticationMethods, LookupKey, Sha256Digest, HashedSecret);

/// Implements columns of enums with names. A name that this version does not support is read as the
/// default, which has the fewest rights.
macro_rules! named_columns {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                value.as_str().into()
            }
        }

        impl FromValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                Some(Self::from_name(&String::from_value(value)?).unwrap_or_default())
            }
        }
    )*};
}

named_columns!(Role, AuthMethod, Issuer, Registrar);

/// Implements columns of enums with names. A name that this version does not support is an error.
macro_rules! strict_columns {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                value.as_str().into()
            }
        }

        impl FromValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                Self::from_name(&String::from_value(value)?)
            }
        }
    )*};
}

strict_columns!(Protocol, DeliveryOutcome);

impl From<AttemptError> for Value {
    fn from(error: AttemptError) -> Self {
        error.to_code().into()
    }
}

impl FromValue for AttemptError {
    fn from_value(value: Value) -> Option<Self> {
        Some(Self::from_code(&String::from_value(value)?))
    }
}

impl From<UserAgent> for Value {
    fn from(browser: UserAgent) -> Self {
        browser.to_text().into()
    }
}

/// Sessions that an older version started have no browser.
impl FromValue for UserAgent {
    fn from_value(value: Value) -> Option<Self> {
        let text = Option::<String>::from_value(value)?;
        Some(text.map_or_else(Self::default, |text| Self::from_text(&text)))
    }
}

/// Scopes that this version does not support are counted.
impl FromValue for Scopes {
    fn from_value(value: Value) -> Option<Self> {
        let scopes = Self::from_stored(&String::from_value(value)?);
        UNKNOWN_SCOPES.inc_by(scopes.unknown_count() as u64);
        Some(scopes)
    }
}

impl FromValue for Timestamp {
    fn from_value(value: Value) -> Option<Self> {
        Self::from_second(i64::from_value(value)?).ok()
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}
