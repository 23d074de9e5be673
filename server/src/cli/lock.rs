//! The lock of the data directory of SQLite.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belfry_store::{Database, create_private_directory, must_be_writable};

use super::CliError;

/// Locks the data directory of SQLite: two servers on one file would not notice each other's
/// writes at once, and a restore replaces everything. Other commands do not need the lock.
pub(super) fn lock(database: &Database) -> Result<Option<File>, CliError> {
    let Database::Sqlite(path) = database else { return Ok(None) };
    let lock = lock_file(path);
    let failed = |task: &str, target: &Path, error: io::Error| {
        let (path, target, advice) = (path.display(), target.display(), must_be_writable());
        format!("cannot open the database {path}: cannot {task} {target}: {error}; {advice}")
    };
    if let Some(directory) = path.parent() {
        create_private_directory(directory)
            .map_err(|error| failed("create the directory", directory, error))?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(&lock);
    let file = file.map_err(|error| failed("lock", &lock, error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(format!(
            "another belfry is serving this data: {} is locked; stop it, choose another --data, \
             or use PostgreSQL for several nodes",
            lock.display()
        )
        .into()),
        Err(TryLockError::Error(error)) => Err(failed("lock", &lock, error).into()),
    }
}

fn lock_file(database: &Path) -> PathBuf {
    database.with_extension("lock")
}

/// The id of the process that has locked the data directory, as Linux lists it. Taking the lock to
/// find out could prevent a server from starting.
pub(super) fn lock_holder(database: &Database) -> Option<u32> {
    let Database::Sqlite(path) = database else { return None };
    let inode = fs::metadata(lock_file(path)).ok()?.ino();
    find_holder(&fs::read_to_string("/proc/locks").ok()?, inode)
}

/// Finds a lock in lines such as `1: FLOCK  ADVISORY  WRITE 4317 fe:00:8652324 0 EOF`.
fn find_holder(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let [_, "FLOCK", _, "WRITE", process, file, ..] =
            line.split_whitespace().collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let is_file = file.rsplit(':').next()?.parse() == Ok(inode);
        is_file.then(|| process.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_the_inode_of_the_file() {
        let locks = "1: POSIX  ADVISORY  WRITE 1 fe:00:7 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 2 fe:00:7 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 3 fe:00:77 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 4 fe:00:7 0 EOF\n";
        assert_eq!(find_holder(locks, 7), Some(4));
        assert_eq!(find_holder(locks, 8), None);
        assert_eq!(find_holder("", 7), None);
    }
}
