//! Release packages of Belfry: an archive, a Debian package and a container image, with checksums
//! and an SBOM.
//!
//! All of them contain the same binary, which the caller has built for this machine. Builds are
//! reproducible: entries are sorted, and have the time of the sources.

mod archive;
mod contents;
mod debian;
mod dependencies;
mod image;
mod libraries;
mod licences;
mod platform;
mod programs;
mod sbom;
mod tree;

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use self::contents::Contents;
pub use self::contents::source_time;
use self::dependencies::BinaryCrates;
use self::libraries::Libraries;
use self::platform::Platform;

/// The reason why a package cannot be built.
pub type PackagingError = Box<dyn Error + Send + Sync>;

/// The packages in the output directory.
#[derive(Debug, Clone)]
pub struct Packages {
    /// `belfry-VERSION-ARCHITECTURE-linux.tar.gz`
    pub archive: PathBuf,
    /// `belfry_VERSION_ARCHITECTURE.deb`
    pub debian: PathBuf,
    /// `belfry-VERSION-ARCHITECTURE-image.tar`, for `docker load` and as an OCI archive.
    pub image: PathBuf,
    /// `belfry-VERSION.cdx.json`, the components of the binary in the `CycloneDX` format.
    pub sbom: PathBuf,
    /// `SHA256SUMS` of the other files.
    pub checksums: PathBuf,
}

/// Packages a binary that was built for this machine from the repository at `root`. Deletes the
/// previous contents of the output directory.
///
/// `time` is the modification time of all packaged files, as Unix time in seconds.
pub fn build(
    root: &Path,
    binary: &Path,
    time: u64,
    out: &Path,
) -> Result<Packages, PackagingError> {
    let platform = Platform::current()?;
    let libraries = Libraries::find(binary)?;
    let crates = BinaryCrates::read(root)?;
    let contents = Contents::collect(root, binary, time, &crates)?;
    let version = &contents.version;
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    fs::create_dir_all(out)?;

    let packages = Packages {
        archive: out.join(format!("belfry-{version}-{}-linux.tar.gz", platform.machine)),
        debian: out.join(format!(
            "belfry_{}_{}.deb",
            debian::format_version(version),
            platform.debian
        )),
        image: out.join(format!("belfry-{version}-{}-image.tar", platform.debian)),
        sbom: out.join(format!("belfry-{version}.cdx.json")),
        checksums: out.join("SHA256SUMS"),
    };
    fs::write(&packages.archive, archive::build(&contents, &platform)?)?;
    fs::write(&packages.debian, debian::build(&contents, &libraries, &platform)?)?;
    fs::write(&packages.image, image::build(&contents, &libraries, &platform)?)?;
    fs::write(&packages.sbom, sbom::build(&contents, &crates)?)?;

    let mut checksums = String::new();
    for path in [&packages.archive, &packages.debian, &packages.image, &packages.sbom] {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        writeln!(checksums, "{}  {name}", programs::sha256(&fs::read(path)?)?)?;
    }
    fs::write(&packages.checksums, checksums)?;
    Ok(packages)
}
