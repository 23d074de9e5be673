//! The write-ahead log (WAL) of a database file: emptying it, and checking that it belongs to the
//! file.
//!
//! SQLite replays the log of a killed process over any file with the matching name, even over a
//! backup that was copied back. To detect that, every generation of the log is marked. A generation
//! begins with the first write after the whole log was copied into the database file. SQLite then
//! writes two new salts to the log's header; the second, random one identifies the generation. A
//! transaction right after that first write stores this salt in the header of the database
//! (`user_version`), together with the previous generation's salt (`application_id`). A log belongs
//! to a database file if the file's `user_version` is the current or the previous salt of the log's
//! mark.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::access::with_suffix;

/// Size in bytes above which the log is emptied as soon as no reader needs it.
pub(super) const TRUNCATE_ABOVE_BYTES: u32 = 16 * 1024 * 1024;

/// Maximum time that writers wait while the log is emptied.
const TRUNCATE_TIMEOUT: Duration = Duration::from_millis(100);

/// Maximum time that a statement waits for a lock.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Size of the log's header.
const HEADER_BYTES: u64 = 32;

/// Offsets in the log's header: the page size, and the two salts.
const PAGE_SIZE_OFFSET: u64 = 8;
const SALTS_OFFSET: u64 = 16;

/// Size of a frame's header, which begins with the page number. The page follows it.
const FRAME_HEADER_BYTES: u64 = 24;

/// Offset of the two salts in a frame's header.
const FRAME_SALTS_OFFSET: u64 = 8;

/// Offsets in the first page of a database.
const USER_VERSION_OFFSET: u64 = 60;
const APPLICATION_ID_OFFSET: u64 = 68;

/// The log of a database, and the generation that is known to be marked.
pub(super) struct Wal {
    path: PathBuf,
    marked_generation: Option<u32>,
}

/// The mark of a generation: its salt, and the previous generation's salt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GenerationMark {
    previous: u32,
    current: u32,
}

impl Wal {
    pub(super) fn new(database: &Path) -> Self {
        Self { path: with_suffix(database, "-wal"), marked_generation: None }
    }

    /// Returns the size of the file; 0 if there is none.
    pub(super) fn bytes(&self) -> u64 {
        self.path.metadata().map_or(0, |file| file.len())
    }

    /// Returns the random salt of the current generation; `None` while the log is empty.
    fn generation(&self) -> Option<u32> {
        read_salts(&File::open(&self.path).ok()?, SALTS_OFFSET).ok().map(|[_, random]| random)
    }

    /// Marks the current generation, unless it is marked already. Call it after every commit.
    pub(super) fn mark_generation(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let generation = self.generation();
        if generation.is_none() || generation == self.marked_generation {
            return Ok(());
        }
        connection.execute_batch("begin immediate")?;
        let outcome = self.write_mark(connection);
        connection.execute_batch(if outcome.is_ok() { "commit" } else { "rollback" })?;
        let previous = outcome?;
        // This transaction may itself have started a new generation; `previous` still applies to
        // it.
        while let Some(generation) =
            self.generation().filter(|&salt| Some(salt) != self.marked_generation)
        {
            let mark = GenerationMark { previous, current: generation };
            connection.execute_batch(&mark.to_sql())?;
            self.marked_generation = Some(generation);
        }
        Ok(())
    }

    /// Marks the current generation in the header, and returns the salt that the header contained
    /// before.
    fn write_mark(&mut self, connection: &Connection) -> rusqlite::Result<u32> {
        let previous = read_pragma(connection, "user_version")?;
        let current = self.generation().unwrap_or(previous);
        if current != previous {
            connection.execute_batch(&GenerationMark { previous, current }.to_sql())?;
        }
        self.marked_generation = Some(current);
        Ok(previous)
    }

    /// Marks the log and copies it into the database file, so that the file's header differs from
    /// that of every earlier copy. The next write begins a new generation.
    pub(super) fn begin_generation(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let current = read_pragma(connection, "user_version")?;
        connection.pragma_update(None, "user_version", current.cast_signed())?;
        self.mark_generation(connection)?;
        truncate(connection)
    }
}

impl GenerationMark {
    fn to_sql(self) -> String {
        let previous = self.previous.cast_signed();
        let current = self.current.cast_signed();
        format!("pragma application_id = {previous}; pragma user_version = {current}")
    }
}

/// Copies the log into the database and empties it. If a reader still needs the log after
/// [`TRUNCATE_TIMEOUT`], copies as much as possible and does not empty the log.
pub(super) fn truncate(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(TRUNCATE_TIMEOUT)?;
    let outcome = connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    outcome
}

/// Checks that the log next to a database file, if there is one, belongs to it.
///
/// # Errors
///
/// If the log cannot be read, or belongs to a different file. The message then says how to
/// continue.
pub(super) fn check_matches_database(database: &Path) -> Result<(), String> {
    let wal = Wal::new(database);
    loop {
        let Some(mark) = wal.read_mark().map_err(|error| error.to_string())? else {
            return Ok(());
        };
        // A file that cannot be read without its log is incomplete, because the disk became full or
        // the process was killed while the log was copied into it. Only the log completes it.
        let Some(generation) = file_generation(database) else { return Ok(()) };
        if [mark.current, mark.previous].contains(&generation) {
            return Ok(());
        }
        // Read again, because another process may have written in between.
        if file_generation(database) == Some(generation) && wal.read_mark().ok() == Some(Some(mark))
        {
            let wal_path = wal.path.display();
            return Err(format!(
                "{wal_path} belongs to a different file: {} was replaced after a server or command \
                 had been killed. To use the current file, move {wal_path} and the -shm file \
                 elsewhere. To return to the earlier state, restore the file that was replaced",
                database.display()
            ));
        }
    }
}

/// Returns the generation in the header of the database file itself, without the log: 0 if the file
/// is missing, `None` if it is not a complete database.
fn file_generation(database: &Path) -> Option<u32> {
    if !database.exists() {
        return Some(0);
    }
    // Not read directly: closing the file would release the locks of other connections of this
    // process.
    let connection = open_ignoring_wal(database).ok()?;
    read_pragma(&connection, "user_version").ok()
}

/// Opens a database file for reading as if it had no log.
pub(crate) fn open_ignoring_wal(database: &Path) -> rusqlite::Result<Connection> {
    open_with_parameter(database, "immutable=1")
}

/// Opens a database file with its log, read-only and without locks; the WAL index is in process
/// memory. No other process may have the database open.
pub(super) fn open_unshared(database: &Path) -> rusqlite::Result<Connection> {
    let connection = open_with_parameter(database, "vfs=unix-none")?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    Ok(connection)
}

fn open_with_parameter(database: &Path, parameter: &str) -> rusqlite::Result<Connection> {
    let path = database.to_string_lossy().replace('%', "%25").replace('?', "%3f");
    let uri = format!("file:{}?{parameter}", path.replace('#', "%23"));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags)
}

impl Wal {
    /// Finds the mark of the log's generation. Returns `None` if the log is missing, empty or not
    /// marked.
    fn read_mark(&self) -> io::Result<Option<GenerationMark>> {
        let Ok(file) = File::open(&self.path) else { return Ok(None) };
        let file_bytes = file.metadata()?.len();
        if file_bytes < HEADER_BYTES {
            return Ok(None);
        }
        let frame_bytes = FRAME_HEADER_BYTES + u64::from(read_u32(&file, PAGE_SIZE_OFFSET)?);
        let salts = read_salts(&file, SALTS_OFFSET)?;
        let mut last_mark = None;
        let mut frame_offset = HEADER_BYTES;
        while frame_offset + frame_bytes <= file_bytes
            && read_salts(&file, frame_offset + FRAME_SALTS_OFFSET)? == salts
        {
            let page_number = read_u32(&file, frame_offset)?;
            if page_number == 1 {
                let page_offset = frame_offset + FRAME_HEADER_BYTES;
                let mark = GenerationMark {
                    current: read_u32(&file, page_offset + USER_VERSION_OFFSET)?,
                    previous: read_u32(&file, page_offset + APPLICATION_ID_OFFSET)?,
                };
                if mark.current == salts[1] {
                    last_mark = Some(mark);
                }
            }
            frame_offset += frame_bytes;
        }
        Ok(last_mark)
    }
}

fn read_salts(file: &File, offset: u64) -> io::Result<[u32; 2]> {
    Ok([read_u32(file, offset)?, read_u32(file, offset + 4)?])
}

fn read_u32(file: &File, offset: u64) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(u32::from_be_bytes(bytes))
}

fn read_pragma(connection: &Connection, name: &str) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, name, |row| row.get(0)).map(i32::cast_unsigned)
}
