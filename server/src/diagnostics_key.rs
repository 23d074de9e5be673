//! The key that `belfry doctor` and a running server use to authenticate each other.
//!
//! The server writes a random key to a file that only its user can read. The key is never sent: a
//! request proves knowledge of the key by an HMAC of its purpose and a nonce, and the response by
//! an HMAC of both and its content. Without the key, nobody gets details or can forge them, and an
//! earlier response does not match the nonce.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use belfry_core::secret::Sha256Digest;
use belfry_runtime::random;
use ring::hmac;
use strum::{Display, EnumString};
use tempfile::NamedTempFile;

/// The key of a process. Not `Debug`, because it is a secret.
pub struct DiagnosticsKey([u8; 32]);

impl DiagnosticsKey {
    /// Creates a new key.
    pub fn random() -> Self {
        Self(random::bytes())
    }

    /// Returns the path of a server's key file in its data directory. The path depends on the port,
    /// because several servers on PostgreSQL may share a directory.
    pub fn path(data: &Path, port: u16) -> PathBuf {
        data.join(format!("doctor-{port}.key"))
    }

    /// Writes the key to a new file with the mode 0600, which replaces an earlier one. The
    /// directory is not created: a server on PostgreSQL needs none.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut file = NamedTempFile::new_in(directory)?;
        file.write_all(&self.0)?;
        file.persist(path)?;
        Ok(())
    }

    /// Removes the file, unless another server has replaced it. Errors are ignored, because the key
    /// is useless after the server has stopped.
    pub fn remove(&self, path: &Path) {
        if Self::read(path).is_ok_and(|stored_key| stored_key.0 == self.0) {
            drop(fs::remove_file(path));
        }
    }

    /// Reads the key of a running server.
    pub fn read(path: &Path) -> io::Result<Self> {
        let key = fs::read(path)?.try_into();
        key.map(Self).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a key"))
    }

    /// Returns the HMAC-SHA-256 of a string, in hexadecimal digits.
    fn sign(&self, text: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let tag = hmac::sign(&key, text.as_bytes());
        tag.as_ref().iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    }

    /// Returns whether this is the signature of a string.
    fn verify(&self, text: &str, signature: &str) -> bool {
        // Compared as digests, whose equality takes constant time.
        Sha256Digest::compute(&self.sign(text)) == Sha256Digest::compute(signature)
    }
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum DiagnosticsPurpose {
    /// Reads the server's settings.
    Settings,
    /// Reports how the request arrived at the server, through any number of proxies.
    Arrival,
}

/// The challenge in the header of a request from `belfry doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The purpose of the request.
    pub purpose: DiagnosticsPurpose,
    /// A random string that is used once.
    nonce: String,
}

impl Challenge {
    /// Creates a new challenge.
    pub fn new(purpose: DiagnosticsPurpose) -> Self {
        Self { purpose, nonce: random::hex_id() }
    }

    /// Returns the header: purpose, nonce and signature.
    pub fn to_header(&self, key: &DiagnosticsKey) -> String {
        let Self { purpose, nonce } = self;
        format!("{purpose} {nonce} {}", key.sign(&format!("request {purpose} {nonce}")))
    }

    /// Parses a header; `None` if it was not signed with `key`.
    pub fn parse(header: &str, key: &DiagnosticsKey) -> Option<Self> {
        let (signed_part, signature) = header.rsplit_once(' ')?;
        if !key.verify(&format!("request {signed_part}"), signature) {
            return None;
        }
        let (purpose, nonce) = signed_part.split_once(' ')?;
        Some(Self { purpose: purpose.parse().ok()?, nonce: nonce.to_owned() })
    }

    /// Returns the signature of a response with this content.
    pub fn sign_response(&self, key: &DiagnosticsKey, content: &str) -> String {
        key.sign(&self.signed_text(content))
    }

    /// Returns whether this is the signature of a response with this content.
    pub fn verify_response(&self, key: &DiagnosticsKey, content: &str, signature: &str) -> bool {
        key.verify(&self.signed_text(content), signature)
    }

    /// Returns the text that a response's signature covers.
    fn signed_text(&self, content: &str) -> String {
        let Self { purpose, nonce } = self;
        format!("response {purpose} {nonce} {content}")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn requests_and_responses_are_valid_only_with_their_key() {
        let [key, other_key] = [(); 2].map(|()| DiagnosticsKey::random());
        let challenge = Challenge::new(DiagnosticsPurpose::Arrival);
        let header = challenge.to_header(&key);
        assert_eq!(Challenge::parse(&header, &key), Some(challenge.clone()));
        assert_eq!(Challenge::parse(&header, &other_key), None);
        let changed_header = header.replace("arrival", "settings");
        for invalid_header in
            [&*changed_header, "", " ", "arrival", "arrival 1", "arrival 1 2", "x y z"]
        {
            assert_eq!(Challenge::parse(invalid_header, &key), None, "{invalid_header}");
        }

        let signature = challenge.sign_response(&key, "{}");
        assert!(challenge.verify_response(&key, "{}", &signature));
        assert!(
            !challenge.verify_response(&key, "{ }", &signature),
            "the signature covers the content"
        );
        assert!(
            !challenge.verify_response(&other_key, "{}", &signature),
            "the signature depends on the key"
        );
        assert!(!challenge.verify_response(&key, "{}", ""), "a missing signature is rejected");
        let header_signature = header.rsplit(' ').next().unwrap();
        assert!(
            !challenge.verify_response(&key, "{}", header_signature),
            "the signature of the request is rejected"
        );
        let next_challenge = Challenge::new(DiagnosticsPurpose::Arrival);
        assert!(
            !next_challenge.verify_response(&key, "{}", &signature),
            "the response to an earlier challenge is rejected"
        );
        let settings_challenge = Challenge { purpose: DiagnosticsPurpose::Settings, ..challenge };
        assert!(
            !settings_challenge.verify_response(&key, "{}", &signature),
            "the signature covers the purpose"
        );
    }

    #[test]
    fn the_key_file_is_private_and_can_be_replaced_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = DiagnosticsKey::path(dir.path(), 8080);
        let challenge = Challenge::new(DiagnosticsPurpose::Settings);
        let mut headers = Vec::new();
        for _ in 0..2 {
            let key = DiagnosticsKey::random();
            key.write(&path).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            let stored_key = DiagnosticsKey::read(&path).unwrap();
            assert_eq!(challenge.to_header(&stored_key), challenge.to_header(&key));
            headers.push(challenge.to_header(&stored_key));
            // An earlier file that others may read.
            fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        }
        assert_ne!(headers[0], headers[1]);
        DiagnosticsKey::random().remove(&path);
        assert!(path.exists(), "the key of a different server is not removed");
        DiagnosticsKey::read(&path).unwrap().remove(&path);
        assert!(!path.exists());
        fs::write(&path, "short").unwrap();
        assert!(DiagnosticsKey::read(&path).is_err());
    }
}
