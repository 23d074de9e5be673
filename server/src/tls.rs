//! HTTPS from a certificate and a key file, read again when they change.

use std::fs;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Makes a connection secure, with the newest certificate. Connections that are open keep the one
/// they began with.
#[derive(Clone)]
pub struct Tls {
    files: config::Tls,
    current: Arc<RwLock<Arc<ServerConfig>>>,
}

/// Why the certificate or key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {path} for TLS: {reason}")]
pub struct TlsError {
    path: String,
    reason: String,
}

impl Tls {
    /// Reads the files.
    pub fn load(files: config::Tls) -> Result<Self, TlsError> {
        let current = Arc::new(RwLock::new(Arc::new(read(&files)?)));
        Ok(Self { files, current })
    }

    /// What secures the next connection.
    #[must_use]
    pub fn acceptor(&self) -> TlsAcceptor {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&current))
    }

    /// Reads the files again whenever they change, for ever. Files that cannot be used, because
    /// only one of the two has been replaced yet, leave the old certificate in place.
    pub async fn watch(self) {
        let mut seen = changed_at(&self.files);
        loop {
            tokio::time::sleep(LOOK).await;
            let now = changed_at(&self.files);
            if now == seen {
                continue;
            }
            match read(&self.files) {
                Ok(config) => {
                    *self.current.write().unwrap_or_else(PoisonError::into_inner) =
                        Arc::new(config);
                    tracing::info!(certificate = %self.files.certificate.display(), "certificate reloaded");
                    seen = now;
                }
                Err(error) => tracing::warn!(%error, "the old certificate stays in use"),
            }
        }
    }
}

fn changed_at(files: &config::Tls) -> [Option<SystemTime>; 2] {
    [&files.certificate, &files.key].map(|path| fs::metadata(path).ok()?.modified().ok())
}

fn read(files: &config::Tls) -> Result<ServerConfig, TlsError> {
    let failed =
        |path: &Path, reason: String| TlsError { path: path.display().to_string(), reason };
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(&files.certificate, error.to_string()))?;
    if certificates.is_empty() {
        return Err(failed(&files.certificate, "there is no certificate in it".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| failed(&files.key, error.to_string()))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| failed(&files.certificate, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
