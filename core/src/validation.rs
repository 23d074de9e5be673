//! Validation errors of a form, formatted as in Mastodon's API.

use std::fmt;

/// One or more validation errors, in the order in which they are reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationErrors<E>(pub Vec<E>);

impl<E> ValidationErrors<E> {
    /// Returns the value if there are no errors.
    pub(crate) fn ok_if_empty<T>(errors: Vec<E>, value: T) -> Result<T, Self> {
        if errors.is_empty() { Ok(value) } else { Err(Self(errors)) }
    }
}

impl<E: fmt::Display> fmt::Display for ValidationErrors<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors: Vec<String> = self.0.iter().map(E::to_string).collect();
        write!(f, "Validation failed: {}", errors.join(", "))
    }
}
