//! `belfry_VERSION_ARCHITECTURE.deb`: the service with its user, settings and unit.

use std::fmt::Write;

use crate::contents::Contents;
use crate::libraries::Libraries;
use crate::platform::Platform;
use crate::tree::Tree;
use crate::{PackagingError, programs};

const SYSTEMD_UNIT: &str = include_str!("../files/belfry.service");
const SYSUSERS: &str = include_str!("../files/sysusers.conf");
const DEFAULT_SETTINGS: &str = include_str!("../files/belfry.toml");
/// `/usr/bin/belfry`, which runs the binary as the service's user, with the service's settings.
const WRAPPER_SCRIPT: &str = include_str!("../files/debian/belfry");
const MAINTAINER_SCRIPTS: [(&str, &str); 3] = [
    ("postinst", include_str!("../files/debian/postinst")),
    ("prerm", include_str!("../files/debian/prerm")),
    ("postrm", include_str!("../files/debian/postrm")),
];

/// The path of the binary in the package, without a leading slash.
const BINARY_PATH: &str = "usr/lib/belfry/belfry";
const DOCUMENT_DIR: &str = "usr/share/doc/belfry";

/// File name prefixes of the libraries that the binary may need, and the packages that contain
/// them. [`package_dependencies`] names these packages.
const LIBRARY_PACKAGES: [(&str, &str); 4] = [
    ("ld-linux", "libc6"),
    ("libc.so", "libc6"),
    ("libm.so", "libc6"),
    ("libgcc_s.so", "libgcc-s1"),
];

/// Converts a version to Debian's format, which sorts `1.0~rc.1` before `1.0`.
pub(crate) fn format_version(version: &str) -> String {
    version.replace('-', "~")
}

/// Builds the package: an `ar` archive of the control files and the installed files.
pub(crate) fn build(
    contents: &Contents,
    libraries: &Libraries,
    platform: &Platform,
) -> Result<Vec<u8>, PackagingError> {
    let files = installed_files(contents)?;
    let mut control = Tree::default();
    let depends = package_dependencies(libraries)?;
    control.add_file("control", 0o644, render_control(contents, platform, &files, &depends)?);
    control.add_file("conffiles", 0o644, "/etc/belfry/belfry.toml\n");
    control.add_file("md5sums", 0o644, md5sums(&files)?);
    for (name, script) in MAINTAINER_SCRIPTS {
        control.add_file(name, 0o755, script);
    }
    let control = programs::gzip(&control.to_tar(contents.time)?)?;
    let data = programs::gzip(&files.to_tar(contents.time)?)?;
    let mut package = b"!<arch>\n".to_vec();
    for (name, content) in
        [("debian-binary", b"2.0\n".to_vec()), ("control.tar.gz", control), ("data.tar.gz", data)]
    {
        let time = contents.time;
        let size = content.len();
        let header = format!("{name:<16}{time:<12}{0:<6}{0:<6}{1:<8}{size:<10}`\n", 0, 100_644);
        package.extend_from_slice(header.as_bytes());
        package.extend(content);
        // Members begin at even offsets.
        if size % 2 == 1 {
            package.push(b'\n');
        }
    }
    Ok(package)
}

/// Returns the installed files.
fn installed_files(contents: &Contents) -> Result<Tree, PackagingError> {
    let mut files = Tree::default();
    files.add_file(BINARY_PATH, 0o755, contents.binary.as_slice());
    files.add_file("usr/bin/belfry", 0o755, WRAPPER_SCRIPT);
    let unit = SYSTEMD_UNIT.replace("/usr/local/bin/belfry", &format!("/{BINARY_PATH}"));
    files.add_file("usr/lib/systemd/system/belfry.service", 0o644, unit);
    files.add_file("usr/lib/sysusers.d/belfry.conf", 0o644, SYSUSERS);
    // The postinst script makes it readable for the service.
    files.add_file("etc/belfry/belfry.toml", 0o640, DEFAULT_SETTINGS);
    contents.add_documents_and_licences(&mut files, DOCUMENT_DIR);
    files.add_file(
        &format!("{DOCUMENT_DIR}/belfry.example.toml"),
        0o644,
        contents.example_settings.as_str(),
    );
    let mut copyright =
        "Belfry is available under the MIT licence or the Apache licence 2.0, at your \
                         option; see LICENSE-MIT and LICENSE-APACHE. THIRD-PARTY-LICENSES.txt has \
                         the licences of the libraries that it contains.\n"
            .to_owned();
    // The first licence is MIT.
    for (_, licence) in contents.licences.iter().take(1) {
        write!(copyright, "\n{licence}")?;
    }
    files.add_file(&format!("{DOCUMENT_DIR}/copyright"), 0o644, copyright);
    for (path, text) in &contents.shared_files {
        let path = format!("usr/{path}");
        if path.contains("/man/") {
            files.add_file(&format!("{path}.gz"), 0o644, programs::gzip(text.as_bytes())?);
        } else {
            files.add_file(&path, 0o644, text.as_str());
        }
    }
    Ok(files)
}

/// Returns the `Depends` field: the packages that the binary and the scripts need. Fails if the
/// binary needs a library that [`LIBRARY_PACKAGES`] does not list.
fn package_dependencies(libraries: &Libraries) -> Result<String, PackagingError> {
    for path in &libraries.paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !LIBRARY_PACKAGES.iter().any(|(library, _)| name.starts_with(library)) {
            return Err(format!(
                "add the Debian package of {} to LIBRARY_PACKAGES",
                path.display()
            )
            .into());
        }
    }
    let min_glibc = &libraries.min_glibc;
    Ok(format!("libc6 (>= {min_glibc}), libgcc-s1, init-system-helpers (>= 1.52), systemd"))
}

/// Returns the `control` file, which describes the package.
fn render_control(
    contents: &Contents,
    platform: &Platform,
    files: &Tree,
    depends: &str,
) -> Result<String, PackagingError> {
    let bytes: usize = files.files().map(|(_, content)| content.len()).sum();
    let mut control = String::new();
    for (field, value) in [
        ("Package", "belfry"),
        ("Version", &format_version(&contents.version)),
        ("Architecture", platform.debian),
        ("Maintainer", "Belfry maintainers <maintainers@belfry.invalid>"),
        ("Installed-Size", &bytes.div_ceil(1024).to_string()),
        ("Depends", depends),
        ("Recommends", "ca-certificates"),
        ("Section", "net"),
        ("Priority", "optional"),
        ("Description", "OAuth 2.0, rate limits, push rules and delivery in one service"),
    ] {
        writeln!(control, "{field}: {value}")?;
    }
    for line in [
        "Belfry runs next to a chat, social or collaboration product. It issues tokens",
        "with Mastodon's API, applies rate limits to requests, and stores and evaluates",
        "push rules with Matrix's API.",
    ] {
        writeln!(control, " {line}")?;
    }
    Ok(control)
}

/// Returns the `md5sums` file, without configuration files, which the operator may change.
fn md5sums(files: &Tree) -> Result<String, PackagingError> {
    let mut sums = String::new();
    for (path, content) in files.files().filter(|(path, _)| !path.starts_with("etc/")) {
        writeln!(sums, "{}  {path}", programs::md5(content)?)?;
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prerelease_suffix_begins_with_a_tilde() {
        assert_eq!(format_version("1.2.0"), "1.2.0");
        assert_eq!(format_version("1.2.0-rc.1"), "1.2.0~rc.1");
    }

    #[test]
    fn a_library_without_a_known_package_is_an_error() {
        let libraries = |name: &str| Libraries {
            paths: vec!["/lib/libc.so.6".into(), name.into()],
            min_glibc: "2.34".to_owned(),
        };
        assert!(
            package_dependencies(&libraries("/lib/libm.so.6"))
                .unwrap()
                .starts_with("libc6 (>= 2.34), ")
        );
        assert!(package_dependencies(&libraries("/lib/libssl.so.3")).is_err());
    }
}
