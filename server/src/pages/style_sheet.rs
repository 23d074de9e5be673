//! The style sheet of the pages, with the accent colour of the operator.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::assets::STYLE;
use crate::config::Accent;
use crate::http::paths::STATIC;

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
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(&content).into();
        let hash = u32::from_be_bytes([a, b, c, d]);
        Self { path: format!("{STATIC}/belfry-{hash:08x}.css"), content: content.into() }
    }

    /// Its path, such as `/static/belfry-0123abcd.css`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether this is its name below `/static`.
    pub fn is_named(&self, name: &str) -> bool {
        self.path.rsplit('/').next() == Some(name)
    }
}
