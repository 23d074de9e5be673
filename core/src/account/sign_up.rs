//! Sign-up fields and their validation.

use std::iter;

use thiserror::Error;

use super::{FieldError, check_email, check_password, check_sign_up_name};
use crate::form::{self, Pairs};
use crate::secret::Secret;
use crate::validation::ValidationErrors;
use crate::wire_enum::wire_enum;

wire_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Field {
        Username = "username",
        Email = "email",
        Password = "password",
        Agreement = "agreement",
    }
}

impl Field {
    /// Returns the field name in error messages.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Username => "Username",
            Self::Email => "E-mail address",
            Self::Password => "Password",
            Self::Agreement => "Service agreement",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{} {error}", .field.label())]
pub struct InvalidField {
    pub field: Field,
    pub error: FieldError,
}

/// The sign-up fields, not yet validated.
#[derive(Debug, Clone)]
pub struct SignUp {
    pub username: String,
    /// `None` if it is optional and was left blank.
    pub email: Option<String>,
    pub password: Secret,
    /// `true` or `1` if the server's rules are accepted.
    pub agreement: String,
}

impl SignUp {
    pub fn from_pairs(pairs: &Pairs) -> Self {
        let field_value = |field: Field| form::last_value(pairs, field.as_str()).to_owned();
        Self {
            username: field_value(Field::Username),
            email: Some(field_value(Field::Email)),
            password: Secret::new(field_value(Field::Password)),
            agreement: field_value(Field::Agreement),
        }
    }

    /// Marks the rules as accepted, for a page that shows none.
    pub fn with_rules_accepted(self) -> Self {
        Self { agreement: "true".to_owned(), ..self }
    }

    /// Removes a blank e-mail address, for a page where it is optional.
    pub fn with_optional_email(self) -> Self {
        Self { email: self.email.filter(|email| !email.trim().is_empty()), ..self }
    }

    /// Validates the fields and reports the first error of each. `is_exclusive` returns whether an
    /// application service has reserved a name; it is called only if there are no other errors.
    pub fn validate(
        self,
        is_exclusive: impl FnOnce(&str) -> bool,
    ) -> Result<NewAccount, ValidationErrors<InvalidField>> {
        let Self { username: name, email, password, agreement } = self;
        let mut errors = Vec::new();
        let mut record_result = |field, result: Result<(), FieldError>| {
            if let Err(error) = result {
                errors.push(InvalidField { field, error });
            }
        };
        record_result(Field::Username, check_sign_up_name(&name));
        record_result(Field::Email, email.as_deref().map_or(Ok(()), check_email));
        let identifiers = iter::once(&*name).chain(email.as_deref());
        record_result(Field::Password, check_password(&password, identifiers));
        let is_accepted = matches!(agreement.as_str(), "true" | "1");
        record_result(
            Field::Agreement,
            if is_accepted { Ok(()) } else { Err(FieldError::NotAccepted) },
        );
        if errors.is_empty() && is_exclusive(&name) {
            errors.push(InvalidField { field: Field::Username, error: FieldError::Reserved });
        }
        ValidationErrors::ok_if_empty(errors, NewAccount { name, email, password })
    }
}

/// A valid new account, whose name no application service has reserved. The store checks whether
/// its name and e-mail address are already taken.
#[derive(Debug, Clone)]
pub struct NewAccount {
    name: String,
    email: Option<String>,
    password: Secret,
}

impl NewAccount {
    /// Returns the name, e-mail address and password.
    pub fn into_parts(self) -> (String, Option<String>, Secret) {
        (self.name, self.email, self.password)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::form::tests::to_pairs;

    fn not_exclusive(_: &str) -> bool {
        false
    }

    fn valid_sign_up() -> SignUp {
        SignUp {
            username: "alice".into(),
            email: Some("alice@a.example".into()),
            password: Secret::new("correct horse"),
            agreement: "true".into(),
        }
    }

    #[test]
    fn a_valid_sign_up_is_accepted() {
        let (name, email, password) = valid_sign_up().validate(not_exclusive).unwrap().into_parts();
        assert_eq!((&*name, email.as_deref()), ("alice", Some("alice@a.example")));
        assert_eq!(password.reveal(), "correct horse");
    }

    #[test]
    fn a_name_that_an_application_service_has_reserved_is_rejected() {
        let error = valid_sign_up().validate(|_| true).unwrap_err().to_string();
        assert_eq!(error, "Validation failed: Username is reserved");
    }

    #[test]
    fn a_password_equal_to_the_name_or_email_address_is_rejected() {
        for (password, expected) in [
            ("username9", Err(FieldError::PasswordCommon)),
            ("UserName9", Err(FieldError::PasswordCommon)),
            ("Alice@A.example", Err(FieldError::PasswordCommon)),
            ("username9 of mine", Ok(())),
            ("alice@a.example.org", Ok(())),
        ] {
            let username = "username9".to_owned();
            let password = Secret::new(password);
            let result = SignUp { username, password, ..valid_sign_up() }.validate(not_exclusive);
            let expected = expected.map_err(|error| {
                ValidationErrors(vec![InvalidField { field: Field::Password, error }])
            });
            assert_eq!(result.map(drop), expected);
        }
    }

    #[test]
    fn the_agreement_must_be_accepted() {
        for (agreement, is_accepted) in [
            ("true", true),
            ("1", true),
            ("", false),
            ("false", false),
            ("0", false),
            ("yes", false),
            ("TRUE", false),
        ] {
            let result =
                SignUp { agreement: agreement.into(), ..valid_sign_up() }.validate(not_exclusive);
            assert_eq!(result.is_ok(), is_accepted, "{agreement}");
        }
    }

    #[test]
    fn a_page_without_rules_needs_no_agreement() {
        let sign_up = SignUp { agreement: String::new(), ..valid_sign_up() };
        assert!(sign_up.with_rules_accepted().validate(not_exclusive).is_ok());
    }

    #[test]
    fn a_blank_email_address_is_an_error_unless_it_is_optional() {
        for email in ["", " "] {
            let sign_up = || SignUp { email: Some(email.into()), ..valid_sign_up() };
            let error = sign_up().validate(not_exclusive).unwrap_err().to_string();
            assert_eq!(error, "Validation failed: E-mail address can't be blank");
            let account = sign_up().with_optional_email().validate(not_exclusive).unwrap();
            assert_eq!(account.into_parts().1, None);
        }
        let sign_up = SignUp { email: Some("nope".into()), ..valid_sign_up() };
        assert!(sign_up.with_optional_email().validate(not_exclusive).is_err());
        let account = valid_sign_up().with_optional_email().validate(not_exclusive).unwrap();
        assert_eq!(account.into_parts().1.as_deref(), Some("alice@a.example"));
    }

    #[test]
    fn all_errors_are_reported() {
        let pairs =
            [("username", "admin"), ("email", "nope"), ("password", "short"), ("locale", "en")];
        let errors = SignUp::from_pairs(&to_pairs(&pairs)).validate(not_exclusive).unwrap_err();
        assert_eq!(
            errors.to_string(),
            "Validation failed: Username is reserved, \
             E-mail address is not a valid e-mail address, \
             Password is too short (minimum is 8 characters), \
             Service agreement must be accepted"
        );
        let details: Vec<(&str, &str)> =
            errors.0.iter().map(|invalid| (invalid.field.as_str(), invalid.error.code())).collect();
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
    fn missing_password_and_agreement_are_reported_as_in_mastodon() {
        let sign_up =
            SignUp { password: Secret::new(""), agreement: String::new(), ..valid_sign_up() };
        assert_eq!(
            sign_up.validate(not_exclusive).unwrap_err().to_string(),
            "Validation failed: Password can't be blank, Service agreement must be accepted"
        );
    }

    #[test]
    fn a_taken_name_is_reported_like_other_errors() {
        let taken_name = InvalidField { field: Field::Username, error: FieldError::Taken };
        let errors = ValidationErrors(vec![taken_name]);
        assert_eq!(errors.to_string(), "Validation failed: Username has already been taken");
        assert_eq!(taken_name.error.code(), "ERR_TAKEN");
    }

    proptest! {
        #[test]
        fn validation_never_panics(
            username in any::<String>(),
            email in any::<Option<String>>(),
            password in any::<String>(),
            agreement in any::<String>(),
        ) {
            let password = Secret::new(password);
            let _ = SignUp { username, email, password, agreement }.validate(not_exclusive);
        }
    }
}
