//! Static files. Their paths contain a hash of the content, so browsers can cache them forever.

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

/// Embeds files from `server/static/`.
macro_rules! embed {
    ($($(#[$doc:meta])* $file:ident: $name:literal, $extension:literal;)*) => {
        $($(#[$doc])*
        pub static $file: LazyLock<StaticFile> = LazyLock::new(|| {
            let content = include_str!(concat!("../../static/", $name, ".", $extension));
            StaticFile::new($name, $extension, content)
        });)*

        pub fn embedded_files() -> impl Iterator<Item = &'static StaticFile> {
            [$(&$file),*].into_iter().map(|file| &**file)
        }
    };
}

embed! {
    STYLE: "belfry", "css";
    /// The bell: the icon of the pages, and the avatar of all accounts.
    BELL: "bell", "svg";
    /// The script of the copy button on the code page.
    COPY_SCRIPT: "copy", "js";
    SHOW_PASSWORD_SCRIPT: "show-password", "js";
    /// The script that submits the form for `response_mode=form_post`.
    SUBMIT_SCRIPT: "submit", "js";
    /// The script that ignores key presses and clicks that were not meant for the page.
    PRESS_GUARD_SCRIPT: "press-guard", "js";
    /// The script that shows times in the browser's time zone.
    LOCAL_TIMES_SCRIPT: "local-times", "js";
    /// The script that fills in the time of the next morning in the user's time zone.
    NEXT_MORNING_SCRIPT: "next-morning", "js";
    /// The script that offers time zones and fills in that of the browser.
    TIME_ZONES_SCRIPT: "time-zones", "js";
}

impl StaticFile {
    pub(super) fn new(name: &str, extension: &str, content: impl Into<Bytes>) -> Self {
        let content = content.into();
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(&content).into();
        let hash = u32::from_be_bytes([a, b, c, d]);
        let content_type = match extension {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            _ => "image/svg+xml",
        };
        Self { path: format!("{STATIC}/{name}-{hash:08x}.{extension}"), content_type, content }
    }

    /// Returns the style sheet with this accent colour, or with the default one.
    pub fn style_sheet(accent: Option<Accent>) -> Self {
        let Some(accent) = accent else { return STYLE.clone() };
        // Not an inline style, which the Content-Security-Policy forbids.
        let content = [&STYLE.content[..], accent.to_css().as_bytes()].concat();
        Self::new("belfry", "css", content)
    }

    /// Returns the path, such as `/oauth/static/belfry-0123abcd.css`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns whether the file has this name below `/oauth/static`.
    pub fn is_named(&self, name: &str) -> bool {
        self.path.rsplit('/').next() == Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_path_changes_with_its_content() {
        let file = StaticFile::new("a", "css", "");
        // The SHA-256 of the empty string begins with these digits.
        assert_eq!(file.path(), "/oauth/static/a-e3b0c442.css");
        assert_ne!(StaticFile::new("a", "css", " ").path(), file.path());
        assert!(file.is_named("a-e3b0c442.css"));
        for name in ["", "static", "a.css", "a-00000000.css"] {
            assert!(!file.is_named(name), "{name}");
        }
    }

    #[test]
    fn no_file_loads_anything_from_another_origin() {
        for file in embedded_files() {
            let content =
                str::from_utf8(&file.content).unwrap().replace("http://www.w3.org/2000/svg", "");
            for reference in ["http:", "https:", "//cdn", "url(", "@import", "import "] {
                assert!(!content.contains(reference), "{}: {reference}", file.path());
            }
        }
    }
}
