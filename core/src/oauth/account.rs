//! Who can have an account: what is checked of a name, an e-mail address and a password.

use thiserror::Error;

use crate::secret::Secret;

/// The longest name of an account, in characters.
pub const MAX_NAME_LENGTH: usize = 30;
/// The longest e-mail address, in characters.
pub const MAX_EMAIL_LENGTH: usize = 320;
/// The shortest password, in characters.
pub const MIN_PASSWORD_LENGTH: usize = 8;
/// The longest password, in characters. Nothing is cut off, and nobody can make the server hash a
/// book.
pub const MAX_PASSWORD_LENGTH: usize = 128;

/// Names that could be taken for the service itself or for those who run it.
const RESERVED: &str = "abuse account accounts admin administrator administrators admins api \
    belfry help helpdesk hostmaster instance mod moderator moderators mods noreply oauth owner \
    postmaster root security staff support system webmaster";

/// In small letters, one to a line.
const COMMON: &str = include_str!("account/common.txt");

/// What can be wrong with what a person gives for an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FieldError {
    /// Nothing was given.
    #[error("can't be blank")]
    Blank,
    /// A name with other characters than small letters, digits and underscores.
    #[error("must contain only small letters, numbers and underscores")]
    NameInvalid,
    /// Not an address.
    #[error("is not a valid e-mail address")]
    EmailInvalid,
    /// More than this many characters.
    #[error("is too long (maximum is {0} characters)")]
    TooLong(usize),
    /// Fewer than this many characters.
    #[error("is too short (minimum is {0} characters)")]
    TooShort(usize),
    /// A password that whoever guesses tries first.
    #[error("is too common; take one that nobody else would")]
    PasswordCommon,
    /// A name that the service keeps for itself.
    #[error("is reserved")]
    Reserved,
    /// Another account has it.
    #[error("has already been taken")]
    Taken,
    /// The rules were not agreed to.
    #[error("must be accepted")]
    NotAccepted,
}

impl FieldError {
    /// The code that stands in `details`.
    #[must_use]
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

    /// The key of its text in the caller's language.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Blank => "account-blank",
            Self::NameInvalid => "account-name-invalid",
            Self::EmailInvalid => "account-email-invalid",
            Self::TooLong(_) => "account-too-long",
            Self::TooShort(_) => "account-too-short",
            Self::PasswordCommon => "account-password-common",
            Self::Reserved => "account-reserved",
            Self::Taken => "account-taken",
            Self::NotAccepted => "account-not-accepted",
        }
    }

    /// The number that the text names, if it names one.
    #[must_use]
    pub const fn count(self) -> Option<usize> {
        match self {
            Self::TooLong(count) | Self::TooShort(count) => Some(count),
            _ => None,
        }
    }
}

/// Checks the form of a name: 1 to 30 small letters, digits and underscores.
///
/// Capital letters are refused, not lowered: a name is part of an identifier that others write
/// down, and nobody should learn later that it is not what they typed.
///
/// # Errors
/// The first thing that is wrong with the name. Whether it is reserved is not asked: who runs the
/// server may use any name.
pub fn check_name(name: &str) -> Result<(), FieldError> {
    if name.is_empty() {
        return Err(FieldError::Blank);
    }
    if !name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')) {
        return Err(FieldError::NameInvalid);
    }
    if name.len() > MAX_NAME_LENGTH {
        return Err(FieldError::TooLong(MAX_NAME_LENGTH));
    }
    Ok(())
}

/// Checks a name that a stranger asks for: its form, and that it is not reserved.
///
/// # Errors
/// The first thing that is wrong with the name.
pub fn check_free_name(name: &str) -> Result<(), FieldError> {
    check_name(name)?;
    if RESERVED.split_ascii_whitespace().any(|reserved| reserved == name) {
        return Err(FieldError::Reserved);
    }
    Ok(())
}

/// Checks the form of an e-mail address; only a letter to it could tell whether it works.
///
/// # Errors
/// The first thing that is wrong with the address.
pub fn check_email(email: &str) -> Result<(), FieldError> {
    if email.trim().is_empty() {
        return Err(FieldError::Blank);
    }
    if email.chars().count() > MAX_EMAIL_LENGTH {
        return Err(FieldError::TooLong(MAX_EMAIL_LENGTH));
    }
    let is_label = |label: &str| {
        let inside = |c: char| c.is_alphanumeric() || c == '-';
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(inside)
    };
    let is_strange = |c: char| c.is_whitespace() || c.is_control() || "@\"(),:;<>[\\]".contains(c);
    match email.rsplit_once('@') {
        Some((local, domain))
            if !local.is_empty()
                && !local.contains(is_strange)
                && domain.split('.').all(is_label) =>
        {
            Ok(())
        }
        _ => Err(FieldError::EmailInvalid),
    }
}

/// Checks a password that somebody chooses: its length, and that it is not one of those that
/// everybody chooses.
///
/// # Errors
/// The first thing that is wrong with the password.
pub fn check_password(password: &Secret) -> Result<(), FieldError> {
    if password.reveal().trim().is_empty() {
        return Err(FieldError::Blank);
    }
    match password.reveal().chars().count() {
        ..MIN_PASSWORD_LENGTH => Err(FieldError::TooShort(MIN_PASSWORD_LENGTH)),
        MIN_PASSWORD_LENGTH..=MAX_PASSWORD_LENGTH if is_common(password.reveal()) => {
            Err(FieldError::PasswordCommon)
        }
        MIN_PASSWORD_LENGTH..=MAX_PASSWORD_LENGTH => Ok(()),
        _ => Err(FieldError::TooLong(MAX_PASSWORD_LENGTH)),
    }
}

/// One character again and again, or one of a few hundred that every list of leaked passwords
/// begins with.
fn is_common(password: &str) -> bool {
    let password = password.to_lowercase();
    let first = password.chars().next();
    password.chars().all(|c| Some(c) == first) || COMMON.lines().any(|common| common == password)
}

#[cfg(test)]
mod tests;
