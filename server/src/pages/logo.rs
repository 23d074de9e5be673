//! The logo of the operator: a file that the pages show beside the title.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bytes::Bytes;

use super::assets::{file_name, hashed_path};

/// An image that this server serves. Its path contains a hash of the content, so that browsers can
/// cache it forever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logo {
    path: String,
    /// Its media type.
    pub content_type: &'static str,
    /// Its content.
    pub content: Bytes,
}

impl Logo {
    /// The maximum size, because every new browser loads it.
    const MAX_BYTES: u64 = 256 * 1024;

    /// Reads an SVG or PNG file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |reason: &dyn std::fmt::Display| {
            format!("instance.logo: cannot use {}: {reason}", path.display())
        };
        let mut content = Vec::new();
        let file = File::open(path).map_err(|error| failed(&error))?;
        file.take(Self::MAX_BYTES + 1).read_to_end(&mut content).map_err(|error| failed(&error))?;
        if content.len() as u64 > Self::MAX_BYTES {
            return Err(failed(&format!("it has more than {} bytes", Self::MAX_BYTES)));
        }
        Self::new(content).ok_or_else(|| failed(&"it is neither an SVG nor a PNG image"))
    }

    /// `None` if the content is neither an SVG nor a PNG image.
    pub fn new(content: Vec<u8>) -> Option<Self> {
        let is_svg = |text: &str| {
            let text = text.trim_start_matches('\u{feff}').trim_start();
            text.starts_with('<') && text.contains("<svg")
        };
        let (extension, content_type) = if content.starts_with(b"\x89PNG\r\n\x1a\n") {
            ("png", "image/png")
        } else if str::from_utf8(&content).is_ok_and(is_svg) {
            ("svg", "image/svg+xml")
        } else {
            return None;
        };
        let path = hashed_path("logo", extension, &content);
        Some(Self { path, content_type, content: content.into() })
    }

    /// Its path, such as `/static/logo-0123abcd.svg`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether this is its name below `/static`.
    pub fn is_named(&self, name: &str) -> bool {
        file_name(&self.path) == name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>";

    #[test]
    fn the_content_decides_the_format() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        let formats = [
            (SVG.as_bytes().to_vec(), Some("image/svg+xml")),
            (format!("\u{feff} {SVG}").into_bytes(), Some("image/svg+xml")),
            (png, Some("image/png")),
            (b"\xff\xd8\xff\xe0".to_vec(), None),
            (b"<!doctype html><p>".to_vec(), None),
            (b"\xff<svg>".to_vec(), None),
            (Vec::new(), None),
        ];
        for (content, expected) in formats {
            let logo = Logo::new(content.clone());
            assert_eq!(logo.as_ref().map(|logo| logo.content_type), expected, "{content:?}");
        }
    }

    #[test]
    fn a_path_changes_with_the_content() {
        let [one, other] = [SVG, "<svg/>"].map(|svg| Logo::new(svg.into()).unwrap());
        assert_ne!(one.path(), other.path());
        let name = one.path().strip_prefix("/static/").unwrap();
        let extension = name.split('.').next_back();
        assert!(name.starts_with("logo-") && extension == Some("svg"), "{name}");
        assert!(one.is_named(name) && !other.is_named(name) && !one.is_named("logo.svg"));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_an_error_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logo.svg");
        let error = || Logo::read(&path).unwrap_err();
        assert!(error().contains("logo.svg: No such file"), "{}", error());
        std::fs::write(&path, "hello").unwrap();
        assert!(error().ends_with("logo.svg: it is neither an SVG nor a PNG image"), "{}", error());
        std::fs::write(&path, format!("{SVG}{}", " ".repeat(256 * 1024))).unwrap();
        assert!(error().ends_with("it has more than 262144 bytes"), "{}", error());
        std::fs::write(&path, SVG).unwrap();
        assert_eq!(Logo::read(&path), Ok(Logo::new(SVG.into()).unwrap()));
    }
}
