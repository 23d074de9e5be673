//! Secrets in files of their own: `database_file`, `redis_file`, `as_token_file` and the
//! credentials that systemd passes to a service.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use belfry_core::secret::Secret;
use belfry_store::SecretUrl;

use super::{Config, ConfigError};

/// Maximum size of a secret, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The name of the source of a URL that systemd passes.
const CREDENTIAL: &str = "systemd credential";

/// Where the URL of the database or of Redis comes from. The secret itself is not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlSource {
    /// The flag, variable or key that gives the URL or its file.
    pub(super) setting: String,
    /// The file that contains the URL, if the setting names one.
    pub(super) file: Option<PathBuf>,
}

impl UrlSource {
    /// A setting whose value is the URL.
    pub(super) fn value(setting: impl Into<String>) -> Self {
        Self { setting: setting.into(), file: None }
    }

    /// Whether it is a credential of systemd.
    pub(super) fn is_credential(&self) -> bool {
        self.setting == CREDENTIAL
    }

    /// A setting whose value is the path of a file with the URL.
    pub(super) fn file(setting: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { setting: setting.into(), file: Some(path.into()) }
    }
}

impl std::fmt::Display for UrlSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.file {
            Some(path) => write!(f, "{} ({})", path.display(), self.setting),
            None => f.write_str(&self.setting),
        }
    }
}

/// The secret in a file, without newlines at its end. An error names the file and never shows its
/// content, nor a URL that was given in place of a path.
pub(super) fn read(path: &Path) -> Result<Secret, String> {
    if path.to_string_lossy().contains("://") {
        return Err("this is a URL, but must be the path of a file that contains it".to_owned());
    }
    let failed = |reason: String| format!("cannot read {}: {reason}", path.display());
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(format!("it has more than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text".to_owned()))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(failed("it is empty".to_owned())),
        secret => Ok(Secret::new(secret)),
    }
}

fn read_url(
    path: &Path,
    parse: fn(&str) -> Result<SecretUrl, String>,
) -> Result<SecretUrl, String> {
    let secret = read(path)?;
    parse(secret.reveal()).map_err(|error| format!("{}: {error}", path.display()))
}

impl Config {
    /// Reads the URLs that are in files. A URL that no flag, variable or key gives is read from the
    /// credentials `belfry.database` and `belfry.redis` in this directory, if they exist.
    pub(super) fn read_secret_files(
        &mut self,
        credentials: Option<&Path>,
    ) -> Result<(), ConfigError> {
        let parse_redis: fn(&str) -> _ = SecretUrl::parse_redis;
        for (name, url, source, parse) in [
            ("belfry.database", &mut self.database, &mut self.sources.database, str::parse as _),
            ("belfry.redis", &mut self.redis, &mut self.sources.redis, parse_redis),
        ] {
            if let (None, Some(directory)) = (&source, credentials) {
                let path = directory.join(name);
                *source = path.exists().then(|| UrlSource::file(CREDENTIAL, path));
            }
            if let Some(UrlSource { setting, file: Some(path) }) = source {
                let read = read_url(path, parse);
                *url = Some(read.map_err(|error| ConfigError(format!("{setting}: {error}")))?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CONTENT: &str = "postgres://me:hunter2@db/belfry";

    #[test]
    fn newlines_at_the_end_of_a_secret_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        for end in ["", "\n", "\r\n", "\n\n"] {
            fs::write(&path, format!("{CONTENT}{end}")).unwrap();
            assert_eq!(read(&path).unwrap().reveal(), CONTENT, "{end:?}");
        }
        fs::write(&path, " a \nb\n").unwrap();
        assert_eq!(read(&path).unwrap().reveal(), " a \nb");
    }

    #[test]
    fn a_url_in_place_of_a_path_is_not_shown() {
        let error = read(Path::new(CONTENT)).unwrap_err();
        assert_eq!(error, "this is a URL, but must be the path of a file that contains it");
    }

    #[test]
    fn an_error_names_the_file_and_never_shows_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let too_long = "hunter2".repeat(10_000);
        for (content, problem) in [
            (&b"\n"[..], "it is empty"),
            (b"hunter2\xff", "it is not UTF-8 text"),
            (b"hunter2", "not a URL with a scheme"),
            (too_long.as_bytes(), "it has more than 65536 bytes"),
        ] {
            fs::write(&path, content).unwrap();
            let error = read_url(&path, str::parse).unwrap_err();
            assert!(error.contains(path.to_str().unwrap()) && error.contains(problem), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = read(&folder.path().join("missing")).unwrap_err();
        assert!(error.contains("missing: No such file"), "{error}");
    }

    #[test]
    fn a_credential_is_used_only_if_nothing_else_gives_the_url() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("belfry.database"), format!("{CONTENT}\n")).unwrap();

        let mut config = Config::default();
        config.read_secret_files(None).unwrap();
        assert!(config.database.is_none());
        config.read_secret_files(Some(folder.path())).unwrap();
        assert_eq!(config.database.as_ref().unwrap().reveal(), CONTENT);
        let shown = config.sources.database.unwrap().to_string();
        assert!(shown.ends_with("/belfry.database (systemd credential)"), "{shown}");
        assert!(config.redis.is_none());

        let mut config =
            Config { database: CONTENT.replace("db", "other").parse().ok(), ..Config::default() };
        config.sources.database = Some(UrlSource::value("--database"));
        config.read_secret_files(Some(folder.path())).unwrap();
        assert_eq!(config.database.unwrap().reveal(), "postgres://me:hunter2@other/belfry");
    }
}
