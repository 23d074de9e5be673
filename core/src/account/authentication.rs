//! The methods with which a person authenticated.

use crate::wire_enum::wire_enum;

wire_enum! {
    /// A method of authentication, named as in the claim `amr` where RFC 8176 has a name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum AuthenticationMethod {
        /// A password that was verified or just chosen.
        Password = "pwd",
        /// The token of the application service that has just created the account.
        ApplicationService = "application_service",
    }
}

/// The methods of one sign-in, in the order of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticationMethods(pub Vec<AuthenticationMethod>);

impl AuthenticationMethods {
    /// Formats the names, separated by spaces.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|method| method.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Parses the output of [`Self::to_text`]. Methods that only a newer release knows are ignored.
    pub fn from_text(text: &str) -> Option<Self> {
        Some(Self(text.split(' ').filter_map(AuthenticationMethod::from_name).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_methods_are_read_from_their_text() {
        use AuthenticationMethod::{ApplicationService, Password};
        for (text, methods) in [
            ("pwd", vec![Password]),
            ("pwd application_service", vec![Password, ApplicationService]),
            ("", vec![]),
        ] {
            let methods = AuthenticationMethods(methods);
            assert_eq!(methods.to_text(), text);
            assert_eq!(AuthenticationMethods::from_text(text), Some(methods));
        }
        let with_newer = AuthenticationMethods::from_text("pwd newer");
        assert_eq!(with_newer, Some(AuthenticationMethods(vec![Password])));
    }
}
