//! The style sheet of the pages, with the accent colour of the operator.

use bytes::Bytes;

use super::assets::{STYLE, file_name, hashed_path};
use crate::config::Accent;

/// A style sheet that this server serves. Its path contains a hash of the content, so that browsers
/// can cache it forever.
#[derive(Debug, Clone)]
pub struct StyleSheet {
    path: String,
    /// Its content.
    pub content: Bytes,
}

impl StyleSheet {
    /// The style sheet with this accent colour, or with that of Belfry.
    pub fn new(accent: Option<Accent>) -> Self {
        let Some(accent) = accent else {
            let content = Bytes::from_static(STYLE.content.as_bytes());
            return Self { path: STYLE.path().to_owned(), content };
        };
        // Not an inline style, which the Content-Security-Policy forbids.
        let content = format!("{}{}", STYLE.content, accent.to_css());
        Self { path: hashed_path("belfry", "css", content.as_bytes()), content: content.into() }
    }

    /// Its path, such as `/static/belfry-0123abcd.css`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether this is its name below `/static`.
    pub fn is_named(&self, name: &str) -> bool {
        file_name(&self.path) == name
    }
}
