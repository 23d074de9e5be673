//! A directory tree in memory, written as a tar archive.

use std::collections::BTreeMap;
use std::io;

use tar::{Builder, EntryType, Header};

/// Files and directories by their path, without a leading slash. Everything belongs to root unless
/// added with a different owner.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tree(BTreeMap<String, Entry>);

#[derive(Debug, Clone)]
struct Entry {
    mode: u32,
    /// Used as user id and group id.
    owner: u64,
    /// The content of a file; `None` for a directory.
    content: Option<Vec<u8>>,
}

impl Tree {
    /// Adds a file, and the directories above it.
    pub(crate) fn add_file(&mut self, path: &str, mode: u32, content: impl Into<Vec<u8>>) {
        self.add_parents(path);
        let content = Some(content.into());
        self.0.insert(path.to_owned(), Entry { mode, owner: 0, content });
    }

    /// Adds a directory, and those above it.
    pub(crate) fn add_directory(&mut self, path: &str, mode: u32, owner: u64) {
        self.add_parents(path);
        self.0.insert(path.to_owned(), Entry { mode, owner, content: None });
    }

    fn add_parents(&mut self, path: &str) {
        for (end, _) in path.match_indices('/') {
            let directory = || Entry { mode: 0o755, owner: 0, content: None };
            self.0.entry(path[..end].to_owned()).or_insert_with(directory);
        }
    }

    /// Returns the files with their paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().filter_map(|(path, entry)| Some((path.as_str(), entry.content.as_deref()?)))
    }

    /// Returns the tar archive, sorted by path, with this mtime.
    pub(crate) fn to_tar(&self, mtime: u64) -> io::Result<Vec<u8>> {
        let mut builder = Builder::new(Vec::new());
        for (path, Entry { mode, owner, content }) in &self.0 {
            let mut header = Header::new_gnu();
            header.set_mode(*mode);
            header.set_uid(*owner);
            header.set_gid(*owner);
            header.set_mtime(mtime);
            if let Some(content) = content {
                header.set_size(content.len() as u64);
                builder.append_data(&mut header, path, content.as_slice())?;
            } else {
                header.set_entry_type(EntryType::Directory);
                header.set_size(0);
                builder.append_data(&mut header, format!("{path}/"), io::empty())?;
            }
        }
        builder.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_have_owners_modes_and_the_given_time() {
        let mut tree = Tree::default();
        tree.add_file("usr/bin/b", 0o755, "binary");
        tree.add_directory("var/lib/b", 0o700, 7);
        tree.add_file("etc/b", 0o640, "");
        let bytes = tree.to_tar(99).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                assert_eq!(header.mtime().unwrap(), 99);
                let path = entry.path().unwrap().display().to_string();
                (path, header.mode().unwrap(), header.uid().unwrap(), header.size().unwrap())
            })
            .collect();
        let expected = [
            ("etc/", 0o755, 0, 0),
            ("etc/b", 0o640, 0, 0),
            ("usr/", 0o755, 0, 0),
            ("usr/bin/", 0o755, 0, 0),
            ("usr/bin/b", 0o755, 0, 6),
            ("var/", 0o755, 0, 0),
            ("var/lib/", 0o755, 0, 0),
            ("var/lib/b/", 0o700, 7, 0),
        ];
        assert_eq!(
            entries,
            expected.map(|(path, mode, uid, size)| (path.to_owned(), mode, uid, size))
        );
    }
}
