//! Errors of the store.

/// The reason why a database operation failed. `database` is a path, or a URL without its password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("cannot open the database {database}: {reason}")]
    Open { database: String, reason: String },
    /// The user that runs this process may not open the files, or their file system is read-only.
    #[error("cannot open the database {database}: {reason}")]
    Inaccessible { database: String, reason: String },
    /// The file is damaged or not a SQLite database.
    #[error("cannot open the database {database}: {reason}")]
    Damaged { database: String, reason: String },
    /// PostgreSQL cannot be reached, or does not accept connections yet.
    #[error("cannot open the database {database}: {reason}")]
    Unreachable { database: String, reason: String },
    #[error(
        "the database {database} was written by a newer belfry with schema version {version}; \
         this belfry {} supports schema version {supported_version}, but {compatible_from} is \
         required: upgrade this binary to the newer version, or restore a backup from before the \
         upgrade of the database",
        env!("CARGO_PKG_VERSION")
    )]
    Newer { database: String, version: i64, compatible_from: i64, supported_version: i64 },
    /// The database was created by a pre-release, which had different tables.
    #[error(
        "the database {database} was created by a pre-release of belfry (schema version {version}) \
         and cannot be upgraded: export what you need with the belfry that created it, move the \
         database away and start with a new one"
    )]
    PreRelease { database: String, version: i64 },
    /// The database cannot be reached, or its file or disk cannot be used; a retry may succeed.
    #[error("database unavailable: {0}")]
    Unavailable(String),
    /// A string contains a NUL character, which PostgreSQL cannot store.
    #[error("text with a NUL character cannot be stored")]
    Nul,
    /// A statement or a connection failed, and a retry would not succeed.
    #[error("statement failed: {0}")]
    Failed(String),
    /// A column has an unexpected value.
    #[error("stored {0} is invalid")]
    Unreadable(&'static str),
    /// All ids that were tried for a new row are taken.
    #[error("no free id was found; try again")]
    NoFreeId,
}
