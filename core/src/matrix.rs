//! The Matrix client-server API other than push rules: versions, login and registration.

mod device;
mod login;
mod register;

pub use device::{Device, RequestedDevice};
pub use login::{LoginError, LoginRequest};
pub use register::{RegisterRequest, RegistrationStage, RegistrationType};

use crate::json::JsonError;
use crate::wire_enum::wire_enum;

/// The only supported login type.
pub const LOGIN_PASSWORD: &str = "m.login.password";

/// The only authentication stage of a registration. It requires nothing from the client.
pub const STAGE_DUMMY: &str = "m.login.dummy";

/// The login type of an application service that registers one of its users.
pub const LOGIN_APPLICATION_SERVICE: &str = "m.login.application_service";

pub const VERSIONS: &[&str] = &[
    "r0.0.1", "r0.1.0", "r0.2.0", "r0.3.0", "r0.4.0", "r0.5.0", "r0.6.0", "r0.6.1", "v1.1", "v1.2",
    "v1.3", "v1.4", "v1.5", "v1.6", "v1.7", "v1.8", "v1.9", "v1.10", "v1.11", "v1.12", "v1.13",
    "v1.14", "v1.15", "v1.16", "v1.17", "v1.18", "v1.19",
];

wire_enum! {
    /// Error code of a rejected Matrix request body or push rule.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MatrixErrorCode {
        NotJson = "M_NOT_JSON",
        BadJson = "M_BAD_JSON",
        MissingParam = "M_MISSING_PARAM",
        InvalidParam = "M_INVALID_PARAM",
        Unknown = "M_UNKNOWN",
        NotFound = "M_NOT_FOUND",
        TooLarge = "M_TOO_LARGE",
    }
}

impl From<&JsonError> for MatrixErrorCode {
    fn from(error: &JsonError) -> Self {
        match error {
            JsonError::MissingField(_) => Self::MissingParam,
            error if error.is_syntax_error() => Self::NotJson,
            _ => Self::BadJson,
        }
    }
}

/// Formats an account's user id: `@localpart:server`.
pub fn user_id(name: &str, server_name: &str) -> String {
    ["@", name, ":", server_name].concat()
}

/// Returns a user id's localpart; `None` if the id is malformed or belongs to another server.
pub fn localpart<'a>(id: &'a str, server_name: &str) -> Option<&'a str> {
    let (localpart, server) = id.strip_prefix('@')?.split_once(':')?;
    (server == server_name && !localpart.is_empty()).then_some(localpart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_user_ids_of_this_server_have_a_localpart() {
        for (id, name) in [
            (user_id("alice", "x.org:8448").as_str(), Some("alice")),
            ("@alice:x.org", None),
            ("@alice", None),
            ("alice:x.org:8448", None),
            ("@:x.org:8448", None),
            ("", None),
        ] {
            assert_eq!(localpart(id, "x.org:8448"), name, "{id}");
        }
    }
}
