//! The contents of the packages: the binary, documents, licences, completions and the manual page.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::dependencies::Dependencies;
use crate::tree::Tree;
use crate::{PackagingError, licences, programs};

/// The contents of the packages.
#[derive(Debug)]
pub(crate) struct Contents {
    /// The version that the binary prints.
    pub(crate) version: String,
    /// A sentence about Belfry, for package managers.
    pub(crate) summary: String,
    /// The time of the sources, in seconds since 1970.
    pub(crate) time: u64,
    /// `time` in the format of RFC 3339.
    pub(crate) date: String,
    pub(crate) binary: Vec<u8>,
    /// A configuration file with every setting and its default.
    pub(crate) settings: String,
    /// The manual page and completions, with their paths below `/usr`.
    pub(crate) share: Vec<(&'static str, String)>,
    /// `README.md`, the documents next to it, and `docs/`.
    pub(crate) documents: Vec<(String, Vec<u8>)>,
    /// The licences of Belfry and of everything that is compiled into it.
    pub(crate) licences: Vec<(&'static str, String)>,
}

impl Contents {
    pub(crate) fn collect(
        root: &Path,
        binary: &Path,
        time: u64,
        dependencies: &Dependencies,
    ) -> Result<Self, PackagingError> {
        let belfry = |arguments: &[&str]| programs::output(Command::new(binary).args(arguments));
        // `belfry 1.2.3`, and perhaps the commit id.
        let output = belfry(&["--version"])?;
        let mut words = output.split_whitespace();
        let (Some("belfry"), Some(version)) = (words.next(), words.next()) else {
            return Err("not a belfry binary".into());
        };
        let manifest = fs::read_to_string(root.join("server/Cargo.toml"))?;
        let summary = manifest.lines().find_map(|line| line.strip_prefix("description = \""));
        let date = ["-u", "-d", &format!("@{time}"), "+%Y-%m-%dT%H:%M:%SZ"];
        let read = |name: &str| fs::read_to_string(root.join(name));
        let mut documents = vec![];
        for path in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs"] {
            add_files(root, path, &mut documents)?;
        }
        Ok(Self {
            version: version.to_owned(),
            summary: summary.unwrap_or_default().trim_end_matches('"').to_owned(),
            time,
            date: programs::output(Command::new("date").args(date))?.trim().to_owned(),
            binary: fs::read(binary)?,
            settings: belfry(&["config", "example"])?,
            share: vec![
                ("share/man/man1/belfry.1", belfry(&["man"])?),
                ("share/bash-completion/completions/belfry", belfry(&["completions", "bash"])?),
                ("share/zsh/vendor-completions/_belfry", belfry(&["completions", "zsh"])?),
                ("share/fish/vendor_completions.d/belfry.fish", belfry(&["completions", "fish"])?),
            ],
            documents,
            licences: vec![
                ("LICENSE-MIT", read("LICENSE-MIT")?),
                ("LICENSE-APACHE", read("LICENSE-APACHE")?),
                ("THIRD-PARTY-LICENSES.txt", licences::text(dependencies)?),
            ],
        })
    }

    /// Adds documents and licences below a directory.
    pub(crate) fn add_documents(&self, tree: &mut Tree, directory: &str) {
        for (path, content) in &self.documents {
            tree.add_file(&format!("{directory}/{path}"), 0o644, content.as_slice());
        }
        self.add_licences(tree, directory);
    }

    /// Adds the licences below a directory.
    pub(crate) fn add_licences(&self, tree: &mut Tree, directory: &str) {
        for (name, text) in &self.licences {
            tree.add_file(&format!("{directory}/{name}"), 0o644, text.as_str());
        }
    }
}

/// Returns the time of the sources in seconds since 1970: `SOURCE_DATE_EPOCH`, or the time of the
/// last commit.
pub fn source_time(root: &Path) -> Result<u64, PackagingError> {
    let text = if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        text
    } else {
        let git = ["log", "-1", "--format=%ct"];
        programs::output(Command::new("git").args(git).current_dir(root)).map_err(|error| {
            format!("{error}\nset SOURCE_DATE_EPOCH to build outside a git repository")
        })?
    };
    text.trim().parse().map_err(|_| format!("{text:?} is not a number of seconds").into())
}

/// Adds a file, or all files below a directory, to `files`.
fn add_files(
    root: &Path,
    path: &str,
    files: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), PackagingError> {
    let full_path = root.join(path);
    if full_path.is_file() {
        files.push((path.to_owned(), fs::read(full_path)?));
        return Ok(());
    }
    for entry in fs::read_dir(full_path)? {
        let name = entry?.file_name().into_string().map_err(|name| name.display().to_string())?;
        add_files(root, &format!("{path}/{name}"), files)?;
    }
    Ok(())
}
