//! `belfry-VERSION-ARCHITECTURE-linux.tar.gz`: everything in one directory, for any distribution.

use crate::contents::Contents;
use crate::platform::Platform;
use crate::tree::Tree;
use crate::{PackagingError, programs};

const SYSTEMD_UNIT: &str = include_str!("../files/belfry.service");
const SYSUSERS: &str = include_str!("../files/sysusers.conf");
const DEFAULT_SETTINGS: &str = include_str!("../files/belfry.toml");

/// Builds the archive.
pub(crate) fn build(contents: &Contents, platform: &Platform) -> Result<Vec<u8>, PackagingError> {
    let directory = format!("belfry-{}-{}-linux", contents.version, platform.machine);
    let mut tree = Tree::default();
    tree.add_file(&format!("{directory}/belfry"), 0o755, contents.binary.as_slice());
    contents.add_documents_and_licences(&mut tree, &directory);
    let files = [
        ("systemd/belfry.service", SYSTEMD_UNIT),
        ("systemd/sysusers.conf", SYSUSERS),
        // Not next to the binary, because ./belfry.toml is read by default.
        ("systemd/belfry.toml", DEFAULT_SETTINGS),
        ("belfry.example.toml", &contents.example_settings),
    ];
    let shared_files = contents.shared_files.iter().map(|(path, text)| (*path, text.as_str()));
    for (path, text) in files.into_iter().chain(shared_files) {
        // Below /usr/local, zsh uses a different directory.
        let path = path.replace("zsh/vendor-completions", "zsh/site-functions");
        tree.add_file(&format!("{directory}/{path}"), 0o644, text);
    }
    programs::gzip(&tree.to_tar(contents.time)?)
}
