//! Stored password hashes: Argon2, and the formats of systems that accounts are imported from.
//!
//! Hash parameters are bounded, because every sign-in attempt computes the hash again.

use base64::Engine;
use base64::alphabet::BCRYPT;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use subtle::ConstantTimeEq;
use thiserror::Error;

/// Maximum bcrypt cost: 2 to the power of 14 rounds, about a second.
pub const MAX_BCRYPT_COST: u32 = 14;
pub const MAX_ARGON2_MEMORY_KIB: u32 = 128 * 1024;
/// Maximum product of Argon2's memory in KiB and its passes, about a second.
pub const MAX_ARGON2_MEMORY_PASSES: u32 = 512 * 1024;
/// Maximum number of Argon2 lanes.
pub const MAX_ARGON2_LANES: u32 = 16;

/// Maximum length of a hash with its parameters, in bytes.
const MAX_HASH_BYTES: usize = 512;
/// Number of password bytes that bcrypt uses.
const BCRYPT_PASSWORD_BYTES: usize = 72;

/// The base64 variant of bcrypt. It accepts trailing bits, because the last character of a salt has
/// unused bits that some implementations set.
const BCRYPT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &BCRYPT,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordHash {
    /// Argon2 in the PHC string format. It is verified from the stored text.
    Argon2,
    /// bcrypt: `$2a$`, `$2b$` or `$2y$`, which name the same algorithm.
    Bcrypt(Bcrypt),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bcrypt {
    /// Binary logarithm of the number of rounds.
    pub cost: u32,
    /// The random salt, decoded.
    pub salt: [u8; 16],
    digest: [u8; 23],
}

/// The reason a hash is rejected. The message is shown after the field name. It does not repeat the
/// hash, which is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PasswordHashError {
    #[error("must be a hash by Argon2 or bcrypt: $argon2id$… or $2b$…")]
    UnknownFormat,
    #[error("is malformed; expected {0}")]
    Malformed(&'static str),
    #[error("is too expensive to verify at each sign-in: its {parameter} is above {max}")]
    TooExpensive { parameter: &'static str, max: u32 },
}

const MALFORMED_ARGON2: PasswordHashError =
    PasswordHashError::Malformed("$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH, in base64");
const MALFORMED_BCRYPT: PasswordHashError =
    PasswordHashError::Malformed("$2b$12$ followed by 53 characters: the salt and the hash");
impl PasswordHash {
    pub fn parse(text: &str) -> Result<Self, PasswordHashError> {
        let unknown_format = PasswordHashError::UnknownFormat;
        if text.len() > MAX_HASH_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(unknown_format);
        }
        let (format, parameters) =
            text.strip_prefix('$').and_then(|text| text.split_once('$')).ok_or(unknown_format)?;
        match format {
            "argon2id" | "argon2i" | "argon2d" => check_argon2(parameters).map(|()| Self::Argon2),
            "2a" | "2b" | "2y" => Bcrypt::parse(parameters).map(Self::Bcrypt),
            _ => Err(unknown_format),
        }
    }

    /// Returns whether the hash distinguishes this password from all others. bcrypt ignores
    /// everything after 72 bytes, so a successful verification does not prove that a longer
    /// password was entered exactly. Such a hash must not be replaced by one of the entered
    /// password.
    pub fn covers_whole_password(&self, password: &str) -> bool {
        !matches!(self, Self::Bcrypt(_)) || password.len() <= BCRYPT_PASSWORD_BYTES
    }

    /// Returns whether the password can be the one that was hashed. bcrypt hashes some passwords
    /// with NUL characters like others without, and the systems that accounts are imported from do
    /// not accept NUL characters.
    pub fn can_match(&self, password: &str) -> bool {
        *self == Self::Argon2 || !password.contains('\0')
    }
}

impl Bcrypt {
    fn parse(text: &str) -> Result<Self, PasswordHashError> {
        let (cost, salt_and_digest) = text.split_once('$').ok_or(MALFORMED_BCRYPT)?;
        let is_number = cost.len() == 2 && cost.bytes().all(|byte| byte.is_ascii_digit());
        let cost: u32 =
            cost.parse().ok().filter(|cost| is_number && *cost >= 4).ok_or(MALFORMED_BCRYPT)?;
        check_maximum("bcrypt cost", cost, MAX_BCRYPT_COST)?;
        let (salt, digest) = salt_and_digest.split_at_checked(22).ok_or(MALFORMED_BCRYPT)?;
        let decode = |text: &str| BCRYPT_BASE64.decode(text).map_err(|_| MALFORMED_BCRYPT);
        let salt = decode(salt)?.try_into().map_err(|_| MALFORMED_BCRYPT)?;
        let digest = decode(digest)?.try_into().map_err(|_| MALFORMED_BCRYPT)?;
        Ok(Self { cost, salt, digest })
    }

    /// Returns the key for bcrypt: the password and a NUL, at most 72 bytes.
    pub fn key(password: &str) -> Vec<u8> {
        password.bytes().chain([0]).take(BCRYPT_PASSWORD_BYTES).collect()
    }

    /// Compares with a computed hash in constant time. The last byte of a hash is never stored.
    pub fn matches(&self, computed: &[u8; 24]) -> bool {
        self.digest.ct_eq(&computed[..23]).into()
    }
}

/// Checks the rest of an Argon2 hash: `v=19$m=19456,t=2,p=1$SALT$HASH`.
fn check_argon2(text: &str) -> Result<(), PasswordHashError> {
    let [version, parameters, salt, digest] = split_parts(text).ok_or(MALFORMED_ARGON2)?;
    let parameters: Option<Vec<u32>> = parameters
        .split(',')
        // The empty fourth name makes a fourth parameter an error.
        .zip(["m=", "t=", "p=", ""])
        .map(|(parameter, name)| parse_number(parameter.strip_prefix(name)?))
        .collect();
    let [memory, passes, lanes] =
        parameters.ok_or(MALFORMED_ARGON2)?.try_into().map_err(|_| MALFORMED_ARGON2)?;
    check_maximum("memory in KiB", memory, MAX_ARGON2_MEMORY_KIB)?;
    check_maximum(
        "product of memory (KiB) and passes",
        memory.saturating_mul(passes),
        MAX_ARGON2_MEMORY_PASSES,
    )?;
    check_maximum("number of lanes", lanes, MAX_ARGON2_LANES)?;
    let decoded_length = |text: &str| STANDARD_NO_PAD.decode(text).map_or(0, |bytes| bytes.len());
    let is_valid = matches!(version, "v=16" | "v=19")
        && passes > 0
        && lanes > 0
        && memory >= 8 * lanes
        && (8..=48).contains(&decoded_length(salt))
        && (16..=64).contains(&decoded_length(digest));
    if is_valid { Ok(()) } else { Err(MALFORMED_ARGON2) }
}

fn check_maximum(parameter: &'static str, value: u32, max: u32) -> Result<(), PasswordHashError> {
    if value <= max { Ok(()) } else { Err(PasswordHashError::TooExpensive { parameter, max }) }
}

fn split_parts<const N: usize>(text: &str) -> Option<[&str; N]> {
    text.split('$').collect::<Vec<_>>().try_into().ok()
}

/// Parses a decimal number without leading zeros. Numbers that fit only a `u64` become `u32::MAX`.
fn parse_number(text: &str) -> Option<u32> {
    let is_number = text == "0" || text.starts_with(|c: char| ('1'..='9').contains(&c));
    // A number above the range of the type is above every maximum.
    let parse = || text.parse::<u64>().ok().map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    if is_number { parse() } else { None }
}

#[cfg(test)]
mod tests;
