//! URLs with passwords in separate files: `database_file`, `redis_file` and the credentials that
//! systemd passes to a service.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use belfry_runtime::file_access::describe_file_error;
use belfry_store::SecretUrl;

use super::values::{parse_database_url, parse_redis_url};
use super::{Config, ConfigError};

/// Maximum size of a file, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads a URL from a file, without trailing newlines. An error names the file but never shows its
/// content, nor a URL that was given in place of a path.
fn read_url(
    path: &Path,
    parse: fn(&str) -> Result<SecretUrl, String>,
) -> Result<SecretUrl, String> {
    if path.to_string_lossy().contains("://") {
        return Err("this is a URL, but must be the path of a file that contains it".to_owned());
    }
    let read_error = |reason: String| format!("cannot read {}: {reason}", path.display());
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| read_error(describe_file_error(path, &error)))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(read_error(format!("it has more than {MAX_BYTES} bytes")));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| read_error("it is not UTF-8 text".to_owned()))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(read_error("it is empty".to_owned())),
        url => parse(url).map_err(|error| format!("{}: {error}", path.display())),
    }
}

impl Config {
    /// Reads the URLs that are in files. If neither a URL nor its file is configured, the URL is read
    /// from the systemd credential `belfry.database` or `belfry.redis` in `credentials_directory`, if it
    /// exists.
    pub(super) fn read_secret_files(
        &mut self,
        credentials_directory: Option<&Path>,
    ) -> Result<(), ConfigError> {
        for key in ["database", "redis"] {
            let is_redis = key == "redis";
            let file_key = format!("{key}_file");
            let (url, file) = if is_redis {
                (&self.redis, &mut self.redis_file)
            } else {
                (&self.database, &mut self.database_file)
            };
            if let (None, None, Some(directory)) = (url, &file, credentials_directory) {
                let path = directory.join(format!("belfry.{key}"));
                if path.exists() {
                    *file = Some(path);
                    self.origins.insert(file_key.clone(), "systemd credential".to_owned());
                }
            }
            let Some(path) = file.clone() else { continue };
            let parse = if is_redis { parse_redis_url } else { parse_database_url };
            let url = read_url(&path, parse).map_err(|error| {
                ConfigError::new(format!("{file_key}: {error}{}", self.format_place(&file_key)))
            })?;
            *(if is_redis { &mut self.redis } else { &mut self.database }) = Some(url);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const DATABASE_URL: &str = "postgres://me:hunter2@db/belfry";

    #[test]
    fn newlines_at_the_end_of_a_secret_are_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        for end in ["", "\n", "\r\n", "\n\n"] {
            fs::write(&path, format!("{DATABASE_URL}{end}")).unwrap();
            assert_eq!(
                read_url(&path, parse_database_url).unwrap().reveal(),
                DATABASE_URL,
                "{end:?}"
            );
        }
    }

    #[test]
    fn a_url_in_place_of_a_path_is_not_shown() {
        let error = read_url(Path::new(DATABASE_URL), parse_database_url).unwrap_err();
        assert_eq!(error, "this is a URL, but must be the path of a file that contains it");
    }

    #[test]
    fn an_error_names_the_file_and_never_shows_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let long_content = "hunter2".repeat(10_000);
        for (content, problem) in [
            (&b"\n"[..], "it is empty"),
            (b"hunter2\xff", "it is not UTF-8 text"),
            (b"hunter2", "not a URL with a scheme"),
            (long_content.as_bytes(), "it has more than 65536 bytes"),
        ] {
            fs::write(&path, content).unwrap();
            let error = read_url(&path, parse_database_url).unwrap_err();
            assert!(error.contains(path.to_str().unwrap()) && error.contains(problem), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = read_url(&dir.path().join("missing"), parse_database_url).unwrap_err();
        assert!(error.contains("missing: No such file"), "{error}");
    }

    #[test]
    fn a_credential_is_used_only_if_the_url_is_not_set() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("belfry.database"), format!("{DATABASE_URL}\n")).unwrap();

        let mut config = Config::default();
        config.read_secret_files(None).unwrap();
        assert!(config.database.is_none());
        config.read_secret_files(Some(dir.path())).unwrap();
        assert_eq!(config.database.as_ref().unwrap().reveal(), DATABASE_URL);
        assert_eq!(config.database_file, Some(dir.path().join("belfry.database")));
        assert_eq!(config.origins["database_file"], "systemd credential");
        assert!(config.redis.is_none());

        let mut config = Config {
            database: DATABASE_URL.replace("db", "other").parse().ok(),
            ..Config::default()
        };
        config.read_secret_files(Some(dir.path())).unwrap();
        assert_eq!(config.database.unwrap().reveal(), "postgres://me:hunter2@other/belfry");
    }
}
