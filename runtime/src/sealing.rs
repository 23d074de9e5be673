//! The sealing key, which encrypts the secrets in the database that Belfry must read again, such as
//! private keys, access tokens of subscriptions and the content of messages. An attacker who
//! obtains only the database or a backup cannot read them.

use std::io::{self, Read, Write};
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::hmac::{self, HMAC_SHA256};

use crate::family_key::FamilyKey;
use crate::random;

pub const KEY_BYTES: usize = 32;
const SALT_BYTES: usize = 24;

/// A key that seals data. Not `Debug`, because it is a secret.
#[derive(Clone)]
pub struct SealingKey([u8; KEY_BYTES]);

struct DerivedLength;

impl KeyType for DerivedLength {
    fn len(&self) -> usize {
        KEY_BYTES + NONCE_LEN
    }
}

impl SealingKey {
    pub fn random() -> Self {
        Self(random::bytes())
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// If the file cannot be read, or its size is not 32 bytes.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        let invalid_key_error = |_| {
            let problem = format!("not a sealing key, which has {KEY_BYTES} bytes");
            io::Error::new(io::ErrorKind::InvalidData, problem)
        };
        bytes.try_into().map(Self).map_err(invalid_key_error)
    }

    /// Writes the key to a new file with mode 0600. The file gets its name when it is complete, so a
    /// killed process leaves no partial key. Syncs it to disk, because data sealed with a lost key
    /// is lost.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn write_new(&self, path: &Path) -> io::Result<()> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&self.0)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path)?;
        std::fs::File::open(directory)?.sync_all()
    }

    /// Seals bytes. `context` names the row that they belong to. Opening them requires the same
    /// context, so sealed bytes cannot be moved to another row.
    pub fn seal(&self, context: &str, bytes: &[u8]) -> String {
        let salt: [u8; SALT_BYTES] = random::bytes();
        let (key, nonce) = self.derive(&salt);
        let mut sealed = bytes.to_vec();
        key.seal_in_place_append_tag(nonce, Aad::from(context), &mut sealed)
            .expect("the data is shorter than 64 GiB");
        BASE64_URL_SAFE_NO_PAD.encode([&salt[..], &sealed].concat())
    }

    /// Opens sealed bytes; `None` if they were sealed with a different key or context, or were
    /// modified.
    pub fn open(&self, context: &str, sealed_text: &str) -> Option<Vec<u8>> {
        let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(sealed_text).ok()?;
        let (salt, sealed) = bytes.split_at_mut_checked(SALT_BYTES)?;
        let (key, nonce) = self.derive(salt);
        let opened = key.open_in_place(nonce, Aad::from(context), sealed).ok()?;
        Some(opened.to_vec())
    }

    /// Derives the key of token families.
    pub fn family_key(&self) -> FamilyKey {
        let key = Salt::new(HKDF_SHA256, &[])
            .extract(&self.0)
            .expand(&[b"belfry token families"], HMAC_SHA256)
            .map(hmac::Key::from);
        FamilyKey::new(key.expect("the length is constant"))
    }

    /// Derives the key and nonce for one call of `seal`. If all calls shared a key, random nonces
    /// of 96 bits could repeat after billions of calls.
    fn derive(&self, salt: &[u8]) -> (LessSafeKey, Nonce) {
        let mut derived = [0; KEY_BYTES + NONCE_LEN];
        Salt::new(HKDF_SHA256, salt)
            .extract(&self.0)
            .expand(&[b"belfry sealing"], DerivedLength)
            .and_then(|output| output.fill(&mut derived))
            .expect("the length is constant");
        let (key, nonce) = derived.split_at(KEY_BYTES);
        let key = UnboundKey::new(&AES_256_GCM, key).expect("the length is constant");
        let nonce = Nonce::try_assume_unique_for_key(nonce).expect("the length is constant");
        (LessSafeKey::new(key), nonce)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn sealed_data_is_opened_only_with_its_key_and_context() {
        let [key, other_key] = [(); 2].map(|()| SealingKey::random());
        for text in [&b""[..], b"hunter2", &[0; 10_000]] {
            let sealed = key.seal("receiver 1/2", text);
            assert_eq!(key.open("receiver 1/2", &sealed).as_deref(), Some(text));
            assert_eq!(key.open("receiver 1/3", &sealed), None);
            assert_eq!(other_key.open("receiver 1/2", &sealed), None);
            assert_ne!(key.seal("receiver 1/2", text), sealed, "every call uses a new salt");
        }
        let sealed = key.seal("", b"hunter2");
        for position in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            assert_eq!(key.open("", std::str::from_utf8(&changed).unwrap()), None, "{position}");
        }
        for invalid_text in ["", "A", "not base64!", &sealed[..30]] {
            assert_eq!(key.open("", invalid_text), None, "{invalid_text}");
        }
    }

    #[test]
    fn a_key_file_is_private_never_replaced_and_has_32_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("belfry.key");
        let key = SealingKey::random();
        key.write_new(&path).unwrap();
        let metadata = path.metadata().unwrap();
        assert_eq!((metadata.permissions().mode() & 0o777, metadata.len()), (0o600, 32));
        let error = SealingKey::random().write_new(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let sealed = key.seal("a", b"text");
        assert_eq!(SealingKey::read(&path).unwrap().open("a", &sealed).unwrap(), b"text");
        for invalid_key in [&[][..], &[1; 31], &[1; 33]] {
            std::fs::write(&path, invalid_key).unwrap();
            let error = SealingKey::read(&path).map(drop).unwrap_err();
            assert_eq!(error.to_string(), "not a sealing key, which has 32 bytes");
        }
    }
}
