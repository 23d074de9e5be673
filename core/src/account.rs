//! Account roles, and validation of account names, e-mail addresses and passwords.

pub mod authentication;
pub mod password_hash;
pub mod sign_up;

use std::time::Duration;

use strum::IntoStaticStr;
use thiserror::Error;

use crate::secret::Secret;
use crate::wire_enum::wire_enum;

wire_enum! {
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Role {
        #[default]
        User = "user",
        /// May be granted `admin:*` scopes, and may use the admin API with them.
        Admin = "admin",
    }
}

/// Maximum length of an account name, in characters.
pub const MAX_NAME_LENGTH: usize = 64;
/// Maximum length of a name that a person chooses on a page or in Mastodon's API, in characters.
pub const MAX_SIGN_UP_NAME_LENGTH: usize = 30;
/// Maximum length of an e-mail address, in characters.
pub const MAX_EMAIL_LENGTH: usize = 320;
/// Minimum length of a password, in characters.
pub const MIN_PASSWORD_LENGTH: usize = 8;
/// The maximum length of a password, in characters, which bounds the cost of hashing. Passwords are
/// never truncated.
pub const MAX_PASSWORD_LENGTH: usize = 128;

/// The time between an owner's request to delete an account and its deletion.
pub const DELETION_DELAY: Duration = Duration::from_hours(24);

/// Names that could be mistaken for the service or its operators.
const RESERVED_NAMES: &str = "abuse account accounts admin administrator administrators admins api \
    belfry help helpdesk hostmaster instance mod moderator moderators mods no-reply noreply oauth \
    owner postmaster root security staff support system webmaster";

/// Common passwords in lower case, one per line.
const COMMON_PASSWORDS: &str = include_str!("account/common.txt");

/// The reason an account field is invalid. The message is shown after the field name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum FieldError {
    #[error("can't be blank")]
    Blank,
    #[error(
        "must contain only lowercase letters, digits and underscores; dots and hyphens are allowed \
         except at the start or end"
    )]
    NameInvalid,
    #[error("is not a valid e-mail address")]
    EmailInvalid,
    #[error("is too long (maximum is {0} characters)")]
    TooLong(usize),
    #[error("is too short (minimum is {0} characters)")]
    TooShort(usize),
    /// The password is common, or it is the account's name or one of its e-mail addresses, with or
    /// without digits and punctuation around it.
    #[error("is too easy to guess; choose a different one")]
    PasswordCommon,
    #[error("is reserved")]
    Reserved,
    #[error("has already been taken")]
    Taken,
    #[error("must be accepted")]
    NotAccepted,
}

impl FieldError {
    /// Returns the error code in the `details` of Mastodon's API.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Blank => "ERR_BLANK",
            Self::NameInvalid | Self::EmailInvalid | Self::PasswordCommon => "ERR_INVALID",
            Self::TooLong(_) => "ERR_TOO_LONG",
            Self::TooShort(_) => "ERR_TOO_SHORT",
            Self::Reserved => "ERR_RESERVED",
            Self::Taken => "ERR_TAKEN",
            Self::NotAccepted => "ERR_ACCEPTED",
        }
    }

    /// Returns the length that the message names, if any.
    pub const fn count(self) -> Option<usize> {
        match self {
            Self::TooLong(count) | Self::TooShort(count) => Some(count),
            _ => None,
        }
    }
}

/// The reason a text cannot be the name of an account. The message is shown after the field name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NameError {
    #[error("can't be blank")]
    Blank,
    #[error("must contain only the letters a to z, digits and . _ = - /")]
    Invalid,
    #[error("is too long (maximum is {MAX_NAME_LENGTH} characters)")]
    TooLong,
    #[error("is reserved")]
    Reserved,
    #[error("has already been taken")]
    Taken,
}

/// Parses an account name with Matrix's grammar of localparts, and converts capitals. Reserved
/// names are valid here: operators may use them.
pub fn parse_name(text: &str) -> Result<String, NameError> {
    let name = text.to_ascii_lowercase();
    check_name(&name).map(|()| name)
}

/// Checks that a text is an account name: up to 64 of `a-z 0-9 . _ = - /`.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let is_allowed = |b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'=' | b'-' | b'/');
    if name.is_empty() {
        Err(NameError::Blank)
    } else if !name.bytes().all(is_allowed) {
        Err(NameError::Invalid)
    } else if name.len() > MAX_NAME_LENGTH {
        Err(NameError::TooLong)
    } else {
        Ok(())
    }
}

/// Returns whether users cannot register a name, because it could be mistaken for the service or
/// its operators.
pub fn is_reserved_name(name: &str) -> bool {
    RESERVED_NAMES.split_ascii_whitespace().any(|reserved| reserved == name)
}

/// Checks a name that a person chooses on a page or in Mastodon's API: 1 to 30 lower-case letters,
/// digits and underscores, and dots and hyphens that are neither first nor last.
///
/// Upper-case letters are rejected rather than converted, so the name in the user id is always the
/// one that was typed.
pub fn check_sign_up_name(name: &str) -> Result<(), FieldError> {
    if name.is_empty() {
        return Err(FieldError::Blank);
    }
    let is_allowed = |b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-');
    let has_outer_mark = name.starts_with(['.', '-']) || name.ends_with(['.', '-']);
    if has_outer_mark || !name.bytes().all(is_allowed) {
        return Err(FieldError::NameInvalid);
    }
    if name.len() > MAX_SIGN_UP_NAME_LENGTH {
        return Err(FieldError::TooLong(MAX_SIGN_UP_NAME_LENGTH));
    }
    if is_reserved_name(name) {
        return Err(FieldError::Reserved);
    }
    Ok(())
}

/// Checks the syntax of an e-mail address.
pub fn check_email(email: &str) -> Result<(), FieldError> {
    if email.trim().is_empty() {
        return Err(FieldError::Blank);
    }
    if email.chars().count() > MAX_EMAIL_LENGTH {
        return Err(FieldError::TooLong(MAX_EMAIL_LENGTH));
    }
    let is_label = |label: &str| {
        let has_outer_hyphen = label.starts_with('-') || label.ends_with('-');
        let is_allowed = |c: char| c.is_alphanumeric() || c == '-';
        !label.is_empty() && !has_outer_hyphen && label.chars().all(is_allowed)
    };
    let is_forbidden =
        |c: char| c.is_whitespace() || c.is_control() || "@\"(),:;<>[\\]".contains(c);
    let is_valid = email.rsplit_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && !local.contains(is_forbidden) && domain.split('.').all(is_label)
    });
    if is_valid { Ok(()) } else { Err(FieldError::EmailInvalid) }
}

/// Checks a new password: its length, and that it is neither common nor one of `identifiers`, with
/// or without digits and punctuation around it. `identifiers` are the account's name and e-mail
/// addresses.
pub fn check_password<'a>(
    password: &Secret,
    identifiers: impl IntoIterator<Item = &'a str>,
) -> Result<(), FieldError> {
    let password = password.reveal();
    let resembles_password = |identifier: &str| {
        let letters = trim_to_letters(identifier);
        identifier.to_lowercase() == password.trim().to_lowercase()
            || !letters.is_empty() && letters == trim_to_letters(password)
    };
    match password.chars().count() {
        _ if password.trim().is_empty() => Err(FieldError::Blank),
        ..MIN_PASSWORD_LENGTH => Err(FieldError::TooShort(MIN_PASSWORD_LENGTH)),
        length if length > MAX_PASSWORD_LENGTH => Err(FieldError::TooLong(MAX_PASSWORD_LENGTH)),
        _ if is_common(password) => Err(FieldError::PasswordCommon),
        _ if identifiers.into_iter().any(resembles_password) => Err(FieldError::PasswordCommon),
        _ => Ok(()),
    }
}

/// Returns the text in lower case, from its first letter to its last.
fn trim_to_letters(text: &str) -> String {
    text.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase()
}

/// Returns whether a password is one repeated character or a listed common password, ignoring case.
fn is_common(password: &str) -> bool {
    let password = password.to_lowercase();
    let first_character = password.chars().next();
    password.chars().all(|c| Some(c) == first_character)
        || COMMON_PASSWORDS.lines().any(|common| common == password)
}

#[cfg(test)]
mod tests;
