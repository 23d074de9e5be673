//! Static files. Their paths contain a hash of the content, so that browsers can cache them
//! forever.

use std::sync::LazyLock;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::config::Accent;
use crate::paths::STATIC;

/// A file that pages load from this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticFile {
    path: String,
    pub content_type: &'static str,
    pub content: Bytes,
}

/// Defines a file that is compiled in.
macro_rules! compiled_in {
    ($name:literal, $extension:literal) => {
        LazyLock::new(|| {
            let content = include_str!(concat!("../../static/", $name, ".", $extension));
            StaticFile::new($name, $extension, content)
        })
    };
}

/// The style sheet.
pub static STYLE: LazyLock<StaticFile> = compiled_in!("belfry", "css");
/// The bell, which is shown if the operator has no logo.
pub static BELL: LazyLock<StaticFile> = compiled_in!("bell", "svg");
/// The copy button of the code page.
pub static COPY: LazyLock<StaticFile> = compiled_in!("copy", "js");
/// Submits the form of `form_post`.
pub static SUBMIT: LazyLock<StaticFile> = compiled_in!("submit", "js");
/// Ignores presses of keys and pointers that were not meant for the page.
pub static PRESS_GUARD: LazyLock<StaticFile> = compiled_in!("press-guard", "js");
/// Shows times in the time zone of the browser.
pub static LOCAL_TIMES: LazyLock<StaticFile> = compiled_in!("local-times", "js");
/// Sends the time at which the next morning begins.
pub static NEXT_MORNING: LazyLock<StaticFile> = compiled_in!("next-morning", "js");

/// Returns every file that is compiled in.
pub fn all() -> impl Iterator<Item = &'static StaticFile> {
    [&STYLE, &BELL, &COPY, &SUBMIT, &PRESS_GUARD, &LOCAL_TIMES, &NEXT_MORNING]
        .into_iter()
        .map(|file| &**file)
}

impl StaticFile {
    pub(super) fn new(name: &str, extension: &str, content: impl Into<Bytes>) -> Self {
        let content = content.into();
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(&content).into();
        let hash = u32::from_be_bytes([a, b, c, d]);
        let content_type = match extension {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "png" => "image/png",
            _ => "image/svg+xml",
        };
        Self { path: format!("{STATIC}/{name}-{hash:08x}.{extension}"), content_type, content }
    }

    /// Returns the style sheet with this accent colour, or with that of Belfry.
    pub fn style_sheet(accent: Option<Accent>) -> Self {
        let Some(accent) = accent else { return STYLE.clone() };
        // Not an inline style, which the Content-Security-Policy forbids.
        let content = [&STYLE.content[..], accent.to_css().as_bytes()].concat();
        Self::new("belfry", "css", content)
    }

    /// Returns its path, such as `/static/belfry-0123abcd.css`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns whether this is its name below `/static`.
    pub fn is_named(&self, name: &str) -> bool {
        self.path.rsplit('/').next() == Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_changes_with_the_content() {
        let old = StaticFile::new("a", "css", "");
        // The SHA-256 of the empty string begins with these digits.
        assert_eq!(old.path(), "/static/a-e3b0c442.css");
        assert_ne!(StaticFile::new("a", "css", " ").path(), old.path());
        assert!(old.is_named("a-e3b0c442.css"));
        for name in ["", "static", "a.css", "a-00000000.css"] {
            assert!(!old.is_named(name), "{name}");
        }
    }

    #[test]
    fn no_file_loads_anything_from_another_origin() {
        for file in all() {
            let content =
                str::from_utf8(&file.content).unwrap().replace("http://www.w3.org/2000/svg", "");
            for reference in ["http:", "https:", "//cdn", "url(", "@import", "import "] {
                assert!(!content.contains(reference), "{}: {reference}", file.path());
            }
        }
    }
}
