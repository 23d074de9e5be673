//! Who can have an account: what is checked of a name, an e-mail address and a password.

use thiserror::Error;

/// The longest name of an account, in characters.
pub const LONGEST_NAME: usize = 30;

/// Names that could be taken for the service itself or for those who run it.
const RESERVED: &[&str] = &[
    "abuse",
    "account",
    "accounts",
    "admin",
    "administrator",
    "administrators",
    "admins",
    "api",
    "belfry",
    "help",
    "helpdesk",
    "hostmaster",
    "instance",
    "mod",
    "moderator",
    "moderators",
    "mods",
    "noreply",
    "oauth",
    "owner",
    "postmaster",
    "root",
    "security",
    "staff",
    "support",
    "system",
    "webmaster",
];

/// Why a name cannot be the name of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NameError {
    /// Nothing was given.
    #[error("can't be blank")]
    Blank,
    /// A character other than those of a name.
    #[error("must contain only small letters, digits and underscores")]
    Invalid,
    /// More than [`LONGEST_NAME`] characters.
    #[error("is too long (maximum is {LONGEST_NAME} characters)")]
    TooLong,
    /// A name that the service keeps for itself.
    #[error("is reserved")]
    Reserved,
}

/// Checks the form of a name: 1 to 30 small letters, digits and underscores.
///
/// Capital letters are refused, not lowered: a name is part of an identifier that others write
/// down, and nobody should learn later that it is not what they typed.
///
/// # Errors
/// The first thing that is wrong with the name. Whether a name is reserved is not asked here:
/// see [`check_free_name`].
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Blank);
    }
    if !name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')) {
        return Err(NameError::Invalid);
    }
    if name.len() > LONGEST_NAME {
        return Err(NameError::TooLong);
    }
    Ok(())
}

/// Checks a name that a stranger asks for: its form, and that it is not reserved.
///
/// # Errors
/// The first thing that is wrong with the name.
pub fn check_free_name(name: &str) -> Result<(), NameError> {
    check_name(name)?;
    if RESERVED.contains(&name) { Err(NameError::Reserved) } else { Ok(()) }
}
