//! Static files, compiled in. Their paths contain a hash of the content, so that browsers can cache
//! them forever.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::paths::STATIC;

/// A static file.
#[derive(Debug)]
pub struct Asset {
    name: &'static str,
    extension: &'static str,
    /// Its content.
    pub content: &'static str,
    path: OnceLock<String>,
}

/// The style sheet.
pub static STYLE: Asset = Asset::new("belfry", "css", include_str!("../../static/belfry.css"));
/// The icon.
pub static BELL: Asset = Asset::new("bell", "svg", include_str!("../../static/bell.svg"));
/// The copy button of the code page.
pub static COPY: Asset = Asset::new("copy", "js", include_str!("../../static/copy.js"));
/// Submits the form of `form_post`.
pub static SUBMIT: Asset = Asset::new("submit", "js", include_str!("../../static/submit.js"));
/// Ignores accidental clicks on the consent page.
pub static CLICK_GUARD: Asset =
    Asset::new("click-guard", "js", include_str!("../../static/click-guard.js"));

/// Shows times in the time zone of the browser.
pub static LOCAL_TIMES: Asset =
    Asset::new("local-times", "js", include_str!("../../static/local-times.js"));
/// Tells the server when the next morning begins.
pub static NEXT_MORNING: Asset =
    Asset::new("next-morning", "js", include_str!("../../static/next-morning.js"));

/// Every file.
pub static ALL: [&Asset; 7] =
    [&STYLE, &BELL, &COPY, &SUBMIT, &CLICK_GUARD, &LOCAL_TIMES, &NEXT_MORNING];

impl Asset {
    const fn new(name: &'static str, extension: &'static str, content: &'static str) -> Self {
        Self { name, extension, content, path: OnceLock::new() }
    }

    /// The file of this name below `/static`.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|asset| asset.file_name() == name)
    }

    fn file_name(&self) -> &str {
        file_name(self.path())
    }

    /// Its path, such as `/static/belfry-0123abcd.css`.
    pub fn path(&self) -> &str {
        self.path.get_or_init(|| hashed_path(self.name, self.extension, self.content.as_bytes()))
    }

    /// Its media type.
    pub fn content_type(&self) -> &'static str {
        match self.extension {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            _ => "image/svg+xml",
        }
    }
}

/// The path of a file with this content, which a hash of the content is part of.
pub(super) fn hashed_path(name: &str, extension: &str, content: &[u8]) -> String {
    let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(content).into();
    let hash = u32::from_be_bytes([a, b, c, d]);
    format!("{STATIC}/{name}-{hash:08x}.{extension}")
}

/// The name of a file below `/static`, by its path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_name() {
        for asset in ALL {
            assert_eq!(Asset::find(asset.file_name()).unwrap().content, asset.content);
        }
        for name in ["", "static", "belfry.css", "belfry-00000000.css"] {
            assert!(Asset::find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_path_changes_with_the_content() {
        let old = Asset::new("a", "css", "");
        // The SHA-256 of the empty string begins with these digits.
        assert_eq!(old.path(), "/static/a-e3b0c442.css");
        assert_ne!(Asset::new("a", "css", " ").path(), old.path());
    }

    #[test]
    fn no_file_loads_anything_from_another_origin() {
        for asset in ALL {
            let content = asset.content.replace("http://www.w3.org/2000/svg", "");
            for reference in ["http:", "https:", "//cdn", "url(", "@import", "import "] {
                assert!(!content.contains(reference), "{}: {reference}", asset.path());
            }
        }
    }
}
