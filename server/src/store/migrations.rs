//! The numbered changes of the schema, embedded in the binary and run at start.
//!
//! To add one, put `NNNN_name.sql` into both folders under `migrations/` and a line into
//! [`MIGRATIONS`]. A migration that has been released is never edited.

/// One step of the schema, in each engine's words.
pub(crate) struct Migration {
    pub(crate) number: i64,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

macro_rules! migrations {
    ($($number:literal $file:literal),* $(,)?) => {
        /// Every step, in order.
        pub(crate) const MIGRATIONS: &[Migration] = &[$(Migration {
            number: $number,
            sqlite: include_str!(concat!("../../migrations/sqlite/", $file)),
            postgres: include_str!(concat!("../../migrations/postgres/", $file)),
        }),*];
        #[cfg(test)]
        const FILES: &[&str] = &[$($file),*];
    };
}

migrations![
    1 "0001_begin.sql",
    2 "0002_requests.sql",
    3 "0003_came_from.sql",
];

/// Where each engine notes what it has run.
pub(crate) const TABLE: &str = "create table if not exists migrations (number bigint not null primary key, applied_at bigint not null)";

/// The steps that a database at `found` still needs, or `Err` with the newest known number when
/// the database is ahead of this binary.
pub(crate) fn pending(found: i64) -> Result<&'static [Migration], i64> {
    let newest = MIGRATIONS.last().map_or(0, |newest| newest.number);
    if found > newest {
        return Err(newest);
    }
    let done = MIGRATIONS.partition_point(|migration| migration.number <= found);
    Ok(&MIGRATIONS[done..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_both_folders_is_run_in_the_order_of_its_number() {
        for engine in ["sqlite", "postgres"] {
            let folder = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
            let mut files: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            files.sort();
            assert_eq!(files, FILES, "{engine}");
        }
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(usize::try_from(migration.number).unwrap(), index + 1);
            assert!(FILES[index].starts_with(&format!("{:04}_", migration.number)));
        }
    }

    #[test]
    fn a_database_gets_the_steps_it_lacks_and_a_newer_one_is_refused() {
        let newest = MIGRATIONS.last().unwrap().number;
        assert_eq!(pending(0).ok().map(<[_]>::len), Some(MIGRATIONS.len()));
        assert_eq!(pending(newest).ok().map(<[_]>::len), Some(0));
        assert_eq!(pending(newest + 1).err(), Some(newest));
    }
}
