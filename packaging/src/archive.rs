//! `belfry-VERSION-ARCHITECTURE-linux.tar.gz`: everything in one directory, for any distribution.

use crate::contents::Contents;
use crate::platform::Platform;
use crate::tree::Tree;
use crate::{PackagingError, programs};

const UNIT: &str = include_str!("../files/belfry.service");
const USER: &str = include_str!("../files/sysusers.conf");
const SETTINGS: &str = include_str!("../files/belfry.toml");

pub(crate) fn build(contents: &Contents, platform: &Platform) -> Result<Vec<u8>, PackagingError> {
    let directory = format!("belfry-{}-{}-linux", contents.version, platform.machine);
    let mut tree = Tree::default();
    tree.add_file(&format!("{directory}/belfry"), 0o755, contents.binary.as_slice());
    contents.add_documents(&mut tree, &directory);
    let files = [
        ("systemd/belfry.service", UNIT),
        ("systemd/sysusers.conf", USER),
        // Not next to the binary, because ./belfry.toml is read by default.
        ("systemd/belfry.toml", SETTINGS),
        ("belfry.example.toml", &contents.settings),
    ];
    let shared = contents.share.iter().map(|(path, text)| (*path, text.as_str()));
    for (path, text) in files.into_iter().chain(shared) {
        // Below /usr/local, zsh uses a different directory.
        let path = path.replace("zsh/vendor-completions", "zsh/site-functions");
        tree.add_file(&format!("{directory}/{path}"), 0o644, text);
    }
    programs::gzip(&tree.to_tar(contents.time)?)
}
