//! File modes, the content of directories, certificates and their dates.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns the bytes of all files in a directory, except sockets.
pub(crate) fn read_all_files(dir: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes.extend(read_all_files(&path));
        } else if path.is_file() {
            bytes.extend(fs::read(&path).unwrap());
        }
    }
    bytes
}

/// Returns whether bytes contain a sequence.
pub(crate) fn contains(bytes: &[u8], sequence: &[u8]) -> bool {
    bytes.windows(sequence.len()).any(|window| window == sequence)
}

/// Writes a new certificate for this host to `certificate.pem`, and its key to `key.pem`. Returns
/// the certificate.
pub(crate) fn write_certificate(dir: &Path, host: &str) -> CertificateDer<'static> {
    write_certificate_with(dir, host, |_| {})
}

/// Like [`write_certificate`], with changed certificate parameters.
pub(crate) fn write_certificate_with(
    dir: &Path,
    host: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> CertificateDer<'static> {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([host.to_owned()]).unwrap();
    change(&mut params);
    let certificate = params.self_signed(&key).unwrap();
    fs::write(dir.join("key.pem"), key.serialize_pem()).unwrap();
    fs::write(dir.join("certificate.pem"), certificate.pem()).unwrap();
    certificate.der().clone()
}

/// Returns the time this many days from now, in the past if the number is negative.
#[expect(clippy::disallowed_methods, reason = "compared with the server's clock")]
pub(crate) fn days_from_now(days: i64) -> SystemTime {
    let offset = Duration::from_hours(24) * u32::try_from(days.unsigned_abs()).unwrap();
    let now = SystemTime::now();
    if days < 0 { now - offset } else { now + offset }
}
