//! The configured logo, which pages show next to the title.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use belfry_runtime::file_access::describe_file_error;

use super::StaticFile;

/// The maximum size of a logo, in bytes. Bounded because every first visit downloads it.
const MAX_LOGO_BYTES: u64 = 256 * 1024;

impl StaticFile {
    /// Reads a logo from an SVG or PNG file.
    pub fn read_logo(path: &Path) -> Result<Self, String> {
        let describe_failure = |reason: &dyn std::fmt::Display| {
            format!("instance.logo: cannot use {}: {reason}", path.display())
        };
        let mut content = Vec::new();
        let file = File::open(path)
            .map_err(|error| describe_failure(&describe_file_error(path, &error)))?;
        file.take(MAX_LOGO_BYTES + 1)
            .read_to_end(&mut content)
            .map_err(|error| describe_failure(&error))?;
        if content.len() as u64 > MAX_LOGO_BYTES {
            return Err(describe_failure(&format!(
                "it is larger than {} KiB",
                MAX_LOGO_BYTES / 1024
            )));
        }
        Self::logo_from_bytes(content)
            .ok_or_else(|| describe_failure(&"it is neither an SVG nor a PNG image"))
    }

    /// Creates a logo. Returns `None` if the content is neither an SVG nor a PNG image.
    pub fn logo_from_bytes(content: Vec<u8>) -> Option<Self> {
        let is_svg = |text: &str| {
            let text = text.trim_start_matches('\u{feff}').trim_start();
            text.starts_with('<') && text.contains("<svg")
        };
        let is_png = content.starts_with(b"\x89PNG\r\n\x1a\n");
        if !is_png && !str::from_utf8(&content).is_ok_and(is_svg) {
            return None;
        }
        Some(Self::new("logo", if is_png { "png" } else { "svg" }, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>";

    #[test]
    fn the_logo_format_is_detected_from_the_content() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        let contents = [
            (SVG.as_bytes().to_vec(), Some("image/svg+xml")),
            (format!("\u{feff} {SVG}").into_bytes(), Some("image/svg+xml")),
            (png, Some("image/png")),
            (b"\xff\xd8\xff\xe0".to_vec(), None),
            (b"<!doctype html><p>".to_vec(), None),
            (b"\xff<svg>".to_vec(), None),
            (Vec::new(), None),
        ];
        for (content, expected) in contents {
            let logo = StaticFile::logo_from_bytes(content.clone());
            assert_eq!(logo.as_ref().map(|logo| logo.content_type), expected, "{content:?}");
        }
    }

    #[test]
    fn a_logo_path_changes_with_its_content() {
        let [logo, other_logo] =
            [SVG, "<svg/>"].map(|svg| StaticFile::logo_from_bytes(svg.into()).unwrap());
        assert_ne!(logo.path(), other_logo.path());
        let name = logo.path().strip_prefix("/oauth/static/").unwrap();
        let extension = name.split('.').next_back();
        assert!(name.starts_with("logo-") && extension == Some("svg"), "{name}");
        assert!(logo.is_named(name) && !other_logo.is_named(name) && !logo.is_named("logo.svg"));
    }

    #[test]
    fn an_error_names_the_file_that_cannot_be_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logo.svg");
        let read_error = || StaticFile::read_logo(&path).unwrap_err();
        assert!(read_error().contains("logo.svg: No such file"), "{}", read_error());
        std::fs::write(&path, "hello").unwrap();
        assert!(
            read_error().ends_with("logo.svg: it is neither an SVG nor a PNG image"),
            "{}",
            read_error()
        );
        std::fs::write(&path, format!("{SVG}{}", " ".repeat(256 * 1024))).unwrap();
        assert!(read_error().ends_with("it is larger than 256 KiB"), "{}", read_error());
        std::fs::write(&path, SVG).unwrap();
        assert_eq!(
            StaticFile::read_logo(&path),
            Ok(StaticFile::logo_from_bytes(SVG.into()).unwrap())
        );
    }
}
