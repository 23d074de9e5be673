//! The sign-up of a new account, checked as a whole.

use std::fmt;

use thiserror::Error;

use super::account::{FieldError, check_email, check_free_name, check_password};
use super::validation::ValidationErrors;
use crate::secret::Secret;

/// A field of a sign-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The name of the account.
    Username,
    /// The e-mail address.
    Email,
    /// The password.
    Password,
    /// Whether the rules of the server are agreed to.
    Agreement,
}

impl Field {
    /// The field as it is sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Username => "username",
            Self::Email => "email",
            Self::Password => "password",
            Self::Agreement => "agreement",
        }
    }

    /// The key of its name in the caller's language.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Username => "account-field-username",
            Self::Email => "account-field-email",
            Self::Password => "account-field-password",
            Self::Agreement => "account-field-agreement",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Username => "Username",
            Self::Email => "E-mail address",
            Self::Password => "Password",
            Self::Agreement => "Service agreement",
        })
    }
}

/// A field and what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{field} {error}")]
pub struct AccountError {
    /// The field.
    pub field: Field,
    /// What is wrong.
    pub error: FieldError,
}

/// A sign-up as it was sent, and then as it was checked.
#[derive(Debug, Clone)]
pub struct SignUp {
    /// The name of the account.
    pub username: String,
    /// The e-mail address.
    pub email: String,
    /// The password.
    pub password: Secret,
    /// Whether the rules of the server are agreed to: `true` or `1`.
    pub agreement: String,
}

impl SignUp {
    /// Takes a sign-up from decoded pairs.
    #[must_use]
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut fields = [const { String::new() }; 4];
        let names = [Field::Username, Field::Email, Field::Password, Field::Agreement];
        for (name, value) in pairs {
            if let Some(place) = names.iter().position(|field| field.as_str() == name) {
                fields[place] = value;
            }
        }
        let [username, email, password, agreement] = fields;
        Self { username, email, password: Secret::new(password), agreement }
    }

    /// Checks the whole sign-up. Whether name and address are free is for the store to say.
    ///
    /// # Errors
    /// What is wrong with each field, the first thing of each.
    pub fn validate(self) -> Result<Self, ValidationErrors<AccountError>> {
        let wrong = [
            (Field::Username, check_free_name(&self.username)),
            (Field::Email, check_email(&self.email)),
            (Field::Password, check_password(&self.password)),
            (Field::Agreement, check_agreement(&self.agreement)),
        ];
        let wrong = wrong
            .into_iter()
            .filter_map(|(field, found)| found.err().map(|error| AccountError { field, error }))
            .collect();
        ValidationErrors::into_result(wrong, self)
    }
}

fn check_agreement(agreement: &str) -> Result<(), FieldError> {
    if matches!(agreement, "true" | "1") { Ok(()) } else { Err(FieldError::NotAccepted) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn good() -> SignUp {
        SignUp {
            username: "alice".into(),
            email: "alice@a.example".into(),
            password: Secret::new("correct horse"),
            agreement: "true".into(),
        }
    }

    #[test]
    fn a_good_sign_up_is_taken() {
        let checked = good().validate().unwrap();
        assert_eq!(
            (checked.username.as_str(), checked.email.as_str()),
            ("alice", "alice@a.example")
        );
    }

    #[test]
    fn the_rules_must_be_agreed_to() {
        for (agreement, accepted) in [
            ("true", true),
            ("1", true),
            ("", false),
            ("false", false),
            ("0", false),
            ("yes", false),
            ("TRUE", false),
        ] {
            let found = SignUp { agreement: agreement.into(), ..good() }.validate();
            assert_eq!(found.is_ok(), accepted, "{agreement}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let pairs =
            [("username", "admin"), ("email", "nope"), ("password", "short"), ("locale", "en")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let invalid = SignUp::from_pairs(pairs).validate().unwrap_err();
        assert_eq!(
            invalid.to_string(),
            "Validation failed: Username is reserved, \
             E-mail address is not a valid e-mail address, \
             Password is too short (minimum is 8 characters), \
             Service agreement must be accepted"
        );
        let details: Vec<(&str, &str, &str)> = invalid
            .iter()
            .map(|error| (error.field.as_str(), error.error.code(), error.error.key()))
            .collect();
        assert_eq!(
            details,
            [
                ("username", "ERR_RESERVED", "account-reserved"),
                ("email", "ERR_INVALID", "account-email-invalid"),
                ("password", "ERR_TOO_SHORT", "account-too-short"),
                ("agreement", "ERR_ACCEPTED", "account-not-accepted"),
            ]
        );
    }

    // As Mastodon was recorded to answer.
    #[test]
    fn a_sign_up_without_password_and_agreement_is_refused_in_mastodons_words() {
        let sign_up = SignUp { password: Secret::new(""), agreement: String::new(), ..good() };
        assert_eq!(
            sign_up.validate().unwrap_err().to_string(),
            "Validation failed: Password can't be blank, Service agreement must be accepted"
        );
    }

    #[test]
    fn a_taken_name_is_told_like_the_rest() {
        let taken = AccountError { field: Field::Username, error: FieldError::Taken };
        let invalid = ValidationErrors::single(taken);
        assert_eq!(invalid.to_string(), "Validation failed: Username has already been taken");
        assert_eq!(taken.error.code(), "ERR_TAKEN");
    }

    proptest! {
        #[test]
        fn any_sign_up_is_taken_or_refused(
            username in any::<String>(),
            email in any::<String>(),
            password in any::<String>(),
            agreement in any::<String>(),
        ) {
            let password = Secret::new(password);
            let _ = SignUp { username, email, password, agreement }.validate();
        }
    }
}
