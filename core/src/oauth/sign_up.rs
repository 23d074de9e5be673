//! The sign-up of a new account through the API.

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
    /// Whether the server's rules are accepted.
    Agreement,
}

impl Field {
    /// The field name in the request.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Username => "username",
            Self::Email => "email",
            Self::Password => "password",
            Self::Agreement => "agreement",
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

/// An invalid field of a sign-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{field} {error}")]
pub struct AccountError {
    /// The field.
    pub field: Field,
    /// The error.
    pub error: FieldError,
}

/// The fields of a sign-up.
#[derive(Debug, Clone)]
pub struct SignUp {
    /// The name of the account.
    pub username: String,
    /// The e-mail address.
    pub email: String,
    /// The password.
    pub password: Secret,
    /// Whether the server's rules are accepted: `true` or `1`.
    pub agreement: String,
}

impl SignUp {
    /// Collects the fields of a sign-up.
    #[must_use]
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut fields = [const { String::new() }; 4];
        let names = [Field::Username, Field::Email, Field::Password, Field::Agreement];
        for (name, value) in pairs {
            if let Some(index) = names.iter().position(|field| field.as_str() == name) {
                fields[index] = value;
            }
        }
        let [username, email, password, agreement] = fields;
        Self { username, email, password: Secret::new(password), agreement }
    }

    /// Validates the fields. The store checks whether name and address are free.
    ///
    /// # Errors
    /// The first error of each field.
    pub fn validate(self) -> Result<Self, ValidationErrors<AccountError>> {
        let results = [
            (Field::Username, check_free_name(&self.username)),
            (Field::Email, check_email(&self.email)),
            (Field::Password, check_password(&self.password)),
            (Field::Agreement, check_agreement(&self.agreement)),
        ];
        let errors = results
            .into_iter()
            .filter_map(|(field, result)| result.err().map(|error| AccountError { field, error }))
            .collect();
        ValidationErrors::into_result(errors, self)
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
    fn a_valid_sign_up_is_accepted() {
        let valid = good().validate().unwrap();
        assert_eq!((valid.username.as_str(), valid.email.as_str()), ("alice", "alice@a.example"));
    }

    #[test]
    fn the_agreement_must_be_accepted() {
        for (agreement, accepted) in [
            ("true", true),
            ("1", true),
            ("", false),
            ("false", false),
            ("0", false),
            ("yes", false),
            ("TRUE", false),
        ] {
            let result = SignUp { agreement: agreement.into(), ..good() }.validate();
            assert_eq!(result.is_ok(), accepted, "{agreement}");
        }
    }

    #[test]
    fn all_errors_are_reported() {
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
        let details: Vec<(&str, &str)> =
            invalid.iter().map(|it| (it.field.as_str(), it.error.code())).collect();
        assert_eq!(
            details,
            [
                ("username", "ERR_RESERVED"),
                ("email", "ERR_INVALID"),
                ("password", "ERR_TOO_SHORT"),
                ("agreement", "ERR_ACCEPTED"),
            ]
        );
    }

    // Recorded from Mastodon.
    #[test]
    fn missing_password_and_agreement_are_reported_as_mastodon_does() {
        let sign_up = SignUp { password: Secret::new(""), agreement: String::new(), ..good() };
        assert_eq!(
            sign_up.validate().unwrap_err().to_string(),
            "Validation failed: Password can't be blank, Service agreement must be accepted"
        );
    }

    #[test]
    fn a_taken_name_is_reported_like_other_errors() {
        let taken = AccountError { field: Field::Username, error: FieldError::Taken };
        let invalid = ValidationErrors::single(taken);
        assert_eq!(invalid.to_string(), "Validation failed: Username has already been taken");
        assert_eq!(taken.error.code(), "ERR_TAKEN");
    }

    proptest! {
        #[test]
        fn validation_never_panics(
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
