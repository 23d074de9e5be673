//! All validation errors of a form, in the text of Mastodon's API.

use std::fmt;

/// One or more validation errors, in the order in which they are reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationErrors<E>(Vec<E>);

impl<E> ValidationErrors<E> {
    /// The value if there are no errors.
    pub(super) fn into_result<T>(errors: Vec<E>, value: T) -> Result<T, Self> {
        if errors.is_empty() { Ok(value) } else { Err(Self(errors)) }
    }

    /// A single error, such as one that only the store can find.
    #[must_use]
    pub fn single(error: E) -> Self {
        Self(vec![error])
    }

    /// The errors, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, E> {
        self.0.iter()
    }
}

impl<'a, E> IntoIterator for &'a ValidationErrors<E> {
    type Item = &'a E;
    type IntoIter = std::slice::Iter<'a, E>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<E: fmt::Display> fmt::Display for ValidationErrors<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validation failed")?;
        for (index, error) in self.iter().enumerate() {
            let separator = if index == 0 { ": " } else { ", " };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for ValidationErrors<E> {}
