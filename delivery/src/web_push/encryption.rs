//! Encryption of a message with the keys of a subscription: `aes128gcm` of RFC 8291, and the older
//! `aesgcm` of its draft 4, which some clients still need.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::keys::{InvalidKey, WebPushKeys};
use belfry_core::push::message::MAX_WEB_PUSH_BYTES;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom, SystemRandom};

/// The size of a P-256 public key in the uncompressed form, in bytes. Part of both encodings.
const PUBLIC_KEY_LENGTH: u8 = 65;
const PUBLIC_KEY_BYTES: usize = PUBLIC_KEY_LENGTH as usize;
/// The record size in the header of an `aes128gcm` message, which consists of one record.
const RECORD_SIZE: u32 = 4096;

const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentEncoding {
    /// RFC 8291.
    Aes128Gcm,
    /// Draft 4 of RFC 8291. The salt and the sender's public key are in headers.
    AesGcm,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptedMessage {
    pub body: Vec<u8>,
    /// `None` for `aes128gcm`, whose body contains these values.
    pub aes_gcm_headers: Option<AesGcmHeaders>,
}

/// The values in the headers `Encryption` and `Crypto-Key` of an `aesgcm` message, in base64url.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AesGcmHeaders {
    pub salt: String,
    /// The sender's public key, the parameter `dh` of `Crypto-Key`.
    pub public_key: String,
}

/// Checks that the public key is a point of the curve, by attempting a key agreement.
pub fn check_public_key(keys: &WebPushKeys) -> Result<(), InvalidKey> {
    let private_key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new());
    let public_key = UnparsedPublicKey::new(&ECDH_P256, keys.public_key);
    private_key
        .and_then(|private_key| agree_ephemeral(private_key, &public_key, |_| ()))
        .map_err(|_| InvalidKey::PublicKey)
}

/// Encrypts a message of at most [`MAX_WEB_PUSH_BYTES`] with a new key pair and a new salt. Fails
/// with [`AttemptError::Encryption`] if the operating system provides no randomness, or if the
/// public key is not a point of the curve.
pub fn encrypt(
    encoding: ContentEncoding,
    keys: &WebPushKeys,
    plaintext: &[u8],
) -> Result<EncryptedMessage, AttemptError> {
    if plaintext.len() > MAX_WEB_PUSH_BYTES {
        return Err(AttemptError::TooLarge);
    }
    let failed = |_| AttemptError::Encryption;
    let random = SystemRandom::new();
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt).map_err(failed)?;
    let private_key = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(failed)?;
    let sender_key = private_key.compute_public_key().map_err(failed)?;
    let sender_key = sender_key.as_ref().try_into().map_err(|_| AttemptError::Encryption)?;
    let recipient_key = UnparsedPublicKey::new(&ECDH_P256, keys.public_key);
    let content_keys = agree_ephemeral(private_key, &recipient_key, |shared_secret| {
        ContentKeys::derive(encoding, keys, shared_secret, &sender_key, &salt)
    });
    Ok(content_keys.map_err(failed)?.encode_message(encoding, &sender_key, &salt, plaintext))
}

/// The content-encryption key and nonce of one message (RFC 8188).
#[derive(PartialEq, Eq)]
struct ContentKeys {
    key: [u8; KEY_BYTES],
    nonce: [u8; NONCE_BYTES],
}

impl ContentKeys {
    fn derive(
        encoding: ContentEncoding,
        keys: &WebPushKeys,
        shared_secret: &[u8],
        sender_key: &[u8; PUBLIC_KEY_BYTES],
        salt: &[u8; SALT_BYTES],
    ) -> Self {
        let recipient_key = &keys.public_key;
        match encoding {
            ContentEncoding::Aes128Gcm => {
                let info: [&[u8]; 3] = [b"WebPush: info\0", recipient_key, sender_key];
                let secret: [u8; 32] = hkdf(&keys.auth, shared_secret, &info);
                Self::aes128gcm(&secret, salt)
            }
            ContentEncoding::AesGcm => {
                let info: [&[u8]; 1] = [b"Content-Encoding: auth\0"];
                let secret: [u8; 32] = hkdf(&keys.auth, shared_secret, &info);
                let length = [0, PUBLIC_KEY_LENGTH];
                let info = |prefix: &'static [u8]| -> [&[u8]; 6] {
                    [prefix, b"P-256\0", &length, recipient_key, &length, sender_key]
                };
                Self {
                    key: hkdf(salt, &secret, &info(b"Content-Encoding: aesgcm\0")),
                    nonce: hkdf(salt, &secret, &info(b"Content-Encoding: nonce\0")),
                }
            }
        }
    }

    /// Derives the key and nonce of a message with one record, as RFC 8188 defines.
    fn aes128gcm(secret: &[u8], salt: &[u8; SALT_BYTES]) -> Self {
        Self {
            key: hkdf(salt, secret, &[b"Content-Encoding: aes128gcm\0"]),
            nonce: hkdf(salt, secret, &[b"Content-Encoding: nonce\0"]),
        }
    }

    /// Encrypts the plaintext, and adds the salt and public key from which the recipient derives the
    /// key.
    fn encode_message(
        self,
        encoding: ContentEncoding,
        sender_key: &[u8; PUBLIC_KEY_BYTES],
        salt: &[u8; SALT_BYTES],
        plaintext: &[u8],
    ) -> EncryptedMessage {
        match encoding {
            ContentEncoding::Aes128Gcm => {
                // The byte 2 after the plaintext marks the last record.
                let mut body =
                    [salt, &RECORD_SIZE.to_be_bytes()[..], &[PUBLIC_KEY_LENGTH], sender_key]
                        .concat();
                body.extend(self.encrypt([plaintext, &[2]].concat()));
                EncryptedMessage { body, aes_gcm_headers: None }
            }
            ContentEncoding::AesGcm => {
                // Two bytes before the plaintext are the length of the padding.
                let body = self.encrypt([&[0, 0], plaintext].concat());
                let aes_gcm_headers = Some(AesGcmHeaders {
                    salt: BASE64_URL_SAFE_NO_PAD.encode(salt),
                    public_key: BASE64_URL_SAFE_NO_PAD.encode(sender_key),
                });
                EncryptedMessage { body, aes_gcm_headers }
            }
        }
    }

    fn encrypt(&self, mut plaintext: Vec<u8>) -> Vec<u8> {
        let key = UnboundKey::new(&AES_128_GCM, &self.key).expect("the key has 16 bytes");
        let nonce = Nonce::assume_unique_for_key(self.nonce);
        LessSafeKey::new(key)
            .seal_in_place_append_tag(nonce, Aad::empty(), &mut plaintext)
            .expect("a message of 4 KiB is not too large for AES-GCM");
        plaintext
    }
}

/// Derives `N` bytes from a secret with HKDF-SHA-256.
fn hkdf<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> [u8; N] {
    struct Length(usize);
    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut output = [0; N];
    Salt::new(HKDF_SHA256, salt)
        .extract(secret)
        .expand(info, Length(N))
        .and_then(|key| key.fill(&mut output))
        .expect("HKDF-SHA-256 returns up to 8,160 bytes");
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode<const N: usize>(text: &str) -> [u8; N] {
        BASE64_URL_SAFE_NO_PAD.decode(text).unwrap().try_into().unwrap()
    }

    /// The example of RFC 8188, section 3.1. After the header of 21 bytes, it has one record.
    #[test]
    fn the_example_of_rfc_8188_is_encrypted() {
        let secret: [u8; 16] = decode("yqdlZ-tYemfogSmv7Ws5PQ");
        let content_keys = ContentKeys::aes128gcm(&secret, &decode("I1BsxtFttlv3u_Oo94xnmw"));
        assert_eq!(content_keys.key, decode("_wniytB-ofscZDh4tbSjHw"));
        assert_eq!(content_keys.nonce, decode("Bcs8gkIRKLI8GeI8"));
        let message: [u8; 53] =
            decode("I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg");
        assert_eq!(content_keys.encrypt(b"I am the walrus\x02".to_vec()), message[21..]);
    }

    /// The example of RFC 8291, appendix A. Its private key cannot be imported, so the shared secret
    /// is the input.
    #[test]
    fn the_example_of_rfc_8291_is_encrypted() {
        let keys = WebPushKeys {
            public_key: decode(
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            ),
            auth: decode("BTBZMqHH6r4Tts7J_aSIgg"),
        };
        let shared_secret = decode::<32>("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let sender_key = decode::<65>(
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
        );
        let salt = decode("DGv6ra1nlYgDCS1FRnbzlw");
        let encoding = ContentEncoding::Aes128Gcm;
        let content_keys = ContentKeys::derive(encoding, &keys, &shared_secret, &sender_key, &salt);
        assert_eq!(content_keys.key, decode("oIhVW04MRdy2XN9CiKLxTg"));
        assert_eq!(content_keys.nonce, decode("4h_95klXJ5E_qnoN"));
        let text = b"When I grow up, I want to be a watermelon";
        let message = content_keys.encode_message(encoding, &sender_key, &salt, text);
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc\
                        InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV\
                        WGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(BASE64_URL_SAFE_NO_PAD.encode(&message.body), expected);
        assert_eq!(message.aes_gcm_headers, None);
    }

    /// Decrypts a message as its recipient, with the private key that belongs to `keys`.
    fn decrypt(
        encoding: ContentEncoding,
        keys: &WebPushKeys,
        private_key: EphemeralPrivateKey,
        message: &EncryptedMessage,
    ) -> Vec<u8> {
        let (salt, sender_key, mut text) = if let Some(values) = &message.aes_gcm_headers {
            (decode(&values.salt), decode(&values.public_key), message.body.clone())
        } else {
            let (header, text) = message.body.split_at(SALT_BYTES + 5 + PUBLIC_KEY_BYTES);
            assert_eq!(header[SALT_BYTES..SALT_BYTES + 5], [0, 0, 0x10, 0, 65]);
            let salt = &header[..SALT_BYTES];
            let sender_key = &header[SALT_BYTES + 5..];
            (salt.try_into().unwrap(), sender_key.try_into().unwrap(), text.to_vec())
        };
        let public_key = UnparsedPublicKey::new(&ECDH_P256, sender_key);
        let content_keys = agree_ephemeral(private_key, &public_key, |shared_secret| {
            ContentKeys::derive(encoding, keys, shared_secret, &sender_key, &salt)
        })
        .unwrap();
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &content_keys.key).unwrap());
        let nonce = Nonce::assume_unique_for_key(content_keys.nonce);
        let text = key.open_in_place(nonce, Aad::empty(), &mut text).unwrap();
        match encoding {
            ContentEncoding::Aes128Gcm => text.strip_suffix(&[2]).unwrap().to_vec(),
            ContentEncoding::AesGcm => text.strip_prefix(&[0, 0]).unwrap().to_vec(),
        }
    }

    fn subscribe() -> (WebPushKeys, EphemeralPrivateKey) {
        let private_key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public_key = private_key.compute_public_key().unwrap();
        let public_key = public_key.as_ref().try_into().unwrap();
        (WebPushKeys { public_key, auth: [7; 16] }, private_key)
    }

    #[test]
    fn the_recipient_can_decrypt_a_message() {
        for encoding in [ContentEncoding::Aes128Gcm, ContentEncoding::AesGcm] {
            for text in [&b""[..], b"message", &[0; MAX_WEB_PUSH_BYTES]] {
                let (keys, private_key) = subscribe();
                let message = encrypt(encoding, &keys, text).unwrap();
                assert!(message.body.len() <= 4096, "{} bytes", message.body.len());
                assert_eq!(decrypt(encoding, &keys, private_key, &message), text, "{encoding:?}");
            }
        }
    }

    #[test]
    fn every_message_has_a_new_key_and_salt() {
        let (keys, _) = subscribe();
        let [one, two] =
            [(); 2].map(|()| encrypt(ContentEncoding::AesGcm, &keys, b"message").unwrap());
        let [one, two] = [one, two].map(|message| message.aes_gcm_headers.unwrap());
        assert_ne!(one.salt, two.salt);
        assert_ne!(one.public_key, two.public_key);
    }

    #[test]
    fn a_message_that_is_too_large_is_rejected() {
        let (keys, _) = subscribe();
        for encoding in [ContentEncoding::Aes128Gcm, ContentEncoding::AesGcm] {
            let result = encrypt(encoding, &keys, &[0; MAX_WEB_PUSH_BYTES + 1]);
            assert_eq!(result, Err(AttemptError::TooLarge));
        }
    }

    #[test]
    fn a_public_key_that_is_not_on_the_curve_is_rejected() {
        let (valid, _) = subscribe();
        assert_eq!(check_public_key(&valid), Ok(()));
        let mut off_curve = valid.public_key;
        off_curve[64] ^= 1;
        for public_key in [[4; 65], [0; 65], [0xff; 65], off_curve] {
            let keys = WebPushKeys { public_key, ..valid.clone() };
            assert_eq!(check_public_key(&keys), Err(InvalidKey::PublicKey), "{public_key:?}");
            let result = encrypt(ContentEncoding::Aes128Gcm, &keys, b"message");
            assert_eq!(result, Err(AttemptError::Encryption));
        }
    }
}
