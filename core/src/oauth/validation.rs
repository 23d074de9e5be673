//! Everything that is wrong with a form at once, as the API words it.

use std::fmt;

/// All that is wrong, in the order in which it is told. At least one thing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationErrors<E>(Vec<E>);

impl<E> ValidationErrors<E> {
    /// What was found to be wrong, or the value when nothing was.
    pub(super) fn into_result<T>(wrong: Vec<E>, value: T) -> Result<T, Self> {
        if wrong.is_empty() { Ok(value) } else { Err(Self(wrong)) }
    }

    /// One thing that is wrong, found later than all the others.
    #[must_use]
    pub fn single(wrong: E) -> Self {
        Self(vec![wrong])
    }

    /// The things that are wrong.
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
        for (place, wrong) in self.iter().enumerate() {
            let link = if place == 0 { ": " } else { ", " };
            write!(f, "{link}{wrong}")?;
        }
        Ok(())
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for ValidationErrors<E> {}
