//! The contents of the packages: the binary, documents, licences, completions and the manual page.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::dependencies::BinaryCrates;
use crate::tree::Tree;
use crate::{PackagingError, licences, programs};

/// The contents of the packages.
#[derive(Debug)]
pub(crate) struct Contents {
    /// The version that the binary prints.
    pub(crate) version: String,
    /// The `description` in `server/Cargo.toml`.
    pub(crate) summary: String,
    /// Source timestamp, as Unix time in seconds.
    pub(crate) time: u64,
    /// `time` in RFC 3339 format.
    pub(crate) date: String,
    pub(crate) binary: Vec<u8>,
    /// A configuration file with every setting and its default.
    pub(crate) example_settings: String,
    /// The manual page and completions, with their paths below `/usr`.
    pub(crate) shared_files: Vec<(&'static str, String)>,
    /// `README.md`, the documents next to it, and `docs/`, with their paths in the repository.
    pub(crate) documents: Vec<(String, Vec<u8>)>,
    /// File names and contents: the licences of Belfry and of everything that is compiled into it.
    pub(crate) licences: Vec<(&'static str, String)>,
}

impl Contents {
    /// Reads the files, and runs the binary for its version, settings, manual page and completions.
    pub(crate) fn collect(
        root: &Path,
        binary: &Path,
        time: u64,
        crates: &BinaryCrates,
    ) -> Result<Self, PackagingError> {
        let run_belfry = |arguments: &[&str]| programs::run(Command::new(binary).args(arguments));
        // Prints `belfry 1.2.3`, optionally followed by the commit id.
        let output = run_belfry(&["--version"])?;
        let mut words = output.split_whitespace();
        let (Some("belfry"), Some(version)) = (words.next(), words.next()) else {
            return Err(format!("{} is not a belfry binary", binary.display()).into());
        };
        let manifest = fs::read_to_string(root.join("server/Cargo.toml"))?;
        let summary = manifest.lines().find_map(|line| line.strip_prefix("description = \""));
        let date_arguments = ["-u", "-d", &format!("@{time}"), "+%Y-%m-%dT%H:%M:%SZ"];
        let read_licence = |name: &str| fs::read_to_string(root.join(name));
        let mut documents = vec![];
        for path in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs"] {
            read_files(root, path, &mut documents)?;
        }
        Ok(Self {
            version: version.to_owned(),
            summary: summary.unwrap_or_default().trim_end_matches('"').to_owned(),
            time,
            date: programs::run(Command::new("date").args(date_arguments))?.trim().to_owned(),
            binary: fs::read(binary)?,
            example_settings: run_belfry(&["config", "example"])?,
            shared_files: vec![
                ("share/bash-completion/completions/belfry", run_belfry(&["completions", "bash"])?),
                ("share/zsh/vendor-completions/_belfry", run_belfry(&["completions", "zsh"])?),
                (
                    "share/fish/vendor_completions.d/belfry.fish",
                    run_belfry(&["completions", "fish"])?,
                ),
            ],
            documents,
            licences: vec![
                ("LICENSE-MIT", read_licence("LICENSE-MIT")?),
                ("LICENSE-APACHE", read_licence("LICENSE-APACHE")?),
                ("THIRD-PARTY-LICENSES.txt", licences::list_third_party_licences(crates)?),
            ],
        })
    }

    /// Adds documents and licences below a directory.
    pub(crate) fn add_documents_and_licences(&self, tree: &mut Tree, directory: &str) {
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

/// Returns the source timestamp, as Unix time in seconds: `SOURCE_DATE_EPOCH`, or the time of the
/// last commit.
pub fn source_time(root: &Path) -> Result<u64, PackagingError> {
    let text = if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        text
    } else {
        let git_arguments = ["log", "-1", "--format=%ct"];
        programs::run(Command::new("git").args(git_arguments).current_dir(root)).map_err(
            |error| format!("{error}\nset SOURCE_DATE_EPOCH to build outside a git repository"),
        )?
    };
    text.trim()
        .parse()
        .map_err(|_| format!("SOURCE_DATE_EPOCH must be a number of seconds, not {text:?}").into())
}

/// Reads a file, or all files below a directory, and appends them to `files`.
fn read_files(
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
        let name = entry?
            .file_name()
            .into_string()
            .map_err(|name| format!("{path}/{}: file name is not valid UTF-8", name.display()))?;
        read_files(root, &format!("{path}/{name}"), files)?;
    }
    Ok(())
}
