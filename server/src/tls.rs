//! HTTPS with a certificate and a key file, which are reloaded when they change.

pub mod certificate;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{InconsistentKeys, ServerConfig};
use serde::{Deserialize, Serialize};
use tokio_rustls::TlsAcceptor;

use self::certificate::{Certificate, describe_pem_error};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// A PEM file with the certificate and its chain.
    pub certificate: PathBuf,
    /// A PEM file with the private key.
    pub key: PathBuf,
}

/// Time between checks of the files for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The current certificate. A reload does not affect open connections.
#[derive(Clone)]
pub struct Tls {
    files: TlsSettings,
    loaded_certificate: Arc<ArcSwap<LoadedCertificate>>,
}

struct LoadedCertificate {
    config: Arc<ServerConfig>,
    not_after: Timestamp,
}

/// An unusable certificate or key.
#[derive(Debug, thiserror::Error)]
#[error("{setting}: cannot use {path}: {reason}")]
pub struct TlsError {
    setting: &'static str,
    path: String,
    reason: String,
}

impl Tls {
    pub fn load(files: TlsSettings) -> Result<Self, TlsError> {
        let loaded_certificate = Arc::new(ArcSwap::from_pointee(load_files(&files)?));
        Ok(Self { files, loaded_certificate })
    }

    /// Returns an acceptor for the next connection, with the current certificate.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.loaded_certificate.load().config))
    }

    /// Returns the current certificate's expiry.
    pub fn not_after(&self) -> Timestamp {
        self.loaded_certificate.load().not_after
    }

    /// Reloads the files whenever they change. Never returns.
    pub async fn watch(self) {
        let mut detector = ChangeDetector::new(&self.files);
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            match detector.check_files() {
                Some(Ok(certificate)) => {
                    let file = self.files.certificate.display();
                    let expires = certificate.not_after;
                    tracing::info!(certificate = %file, %expires, "certificate reloaded");
                    self.loaded_certificate.store(Arc::new(certificate));
                }
                Some(Err(error)) => tracing::warn!(%error, "certificate not reloaded"),
                None => {}
            }
        }
    }
}

/// Detects changes to the files by their modification times.
struct ChangeDetector<'a> {
    files: &'a TlsSettings,
    /// The modification times of the files in use.
    loaded_times: [Option<SystemTime>; 2],
    /// The modification times of the unusable files last reported, to report each change once. The
    /// files are read again at every check, because a file may be written in several steps within
    /// one tick of the file system's clock.
    reported_times: Option<[Option<SystemTime>; 2]>,
}

impl<'a> ChangeDetector<'a> {
    fn new(files: &'a TlsSettings) -> Self {
        Self { files, loaded_times: modification_times(files), reported_times: None }
    }

    /// Returns the new configuration if the files have changed, or an error if they became
    /// unusable, such as a new certificate whose key has not been replaced yet. Returns `None` if
    /// nothing has changed, or the error was already returned.
    fn check_files(&mut self) -> Option<Result<LoadedCertificate, TlsError>> {
        let current_times = modification_times(self.files);
        if current_times == self.loaded_times {
            return None;
        }
        let result = load_files(self.files);
        if result.is_ok() {
            self.loaded_times = current_times;
        } else if self.reported_times.replace(current_times) == Some(current_times) {
            return None;
        }
        Some(result)
    }
}

fn modification_times(files: &TlsSettings) -> [Option<SystemTime>; 2] {
    [&files.certificate, &files.key].map(|path| fs::metadata(path).ok()?.modified().ok())
}

fn load_files(files: &TlsSettings) -> Result<LoadedCertificate, TlsError> {
    let tls_error = |setting, path: &Path, reason| {
        let path = path.display().to_string();
        TlsError { setting, path, reason }
    };
    let certificate_error = |reason| tls_error("tls.certificate", &files.certificate, reason);
    let key_error = |reason| tls_error("tls.key", &files.key, reason);
    let certificate = Certificate::read(&files.certificate).map_err(|reason| {
        let is_key = PrivateKeyDer::from_pem_file(&files.certificate).is_ok();
        let advice = if is_key { ", but a private key: exchange the two files" } else { "" };
        certificate_error(format!("{reason}{advice}"))
    })?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| key_error(describe_pem_error(&files.key, &error, "private key")))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificate.chain, key)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                let certificate = files.certificate.display();
                key_error(format!("it is not the key of the certificate {certificate}"))
            }
            error => certificate_error(error.to_string()),
        })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(LoadedCertificate { config: Arc::new(config), not_after: certificate.not_after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_pair_is_reported_once_per_change() {
        let dir = tempfile::tempdir().unwrap();
        let files = TlsSettings {
            certificate: dir.path().join("certificate.pem"),
            key: dir.path().join("key.pem"),
        };
        let mut seconds = 0;
        let mut write_file = |path: &Path, text: &str| {
            fs::write(path, text).unwrap();
            seconds += 1;
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        let [old_pair, new_pair] =
            [(); 2].map(|()| rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap());
        write_file(&files.certificate, &old_pair.cert.pem());
        write_file(&files.key, &old_pair.signing_key.serialize_pem());
        let mut detector = ChangeDetector::new(&files);
        assert!(detector.check_files().is_none());

        write_file(&files.key, &new_pair.signing_key.serialize_pem());
        assert!(detector.check_files().is_some_and(|result| result.is_err()));
        assert!(detector.check_files().is_none());
        write_file(&files.key, "not a key");
        assert!(detector.check_files().is_some_and(|result| result.is_err()));
        assert!(detector.check_files().is_none());

        write_file(&files.certificate, &new_pair.cert.pem());
        write_file(&files.key, &new_pair.signing_key.serialize_pem());
        assert!(detector.check_files().is_some_and(|result| result.is_ok()));
        assert!(detector.check_files().is_none());
    }
}
