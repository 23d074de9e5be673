//! Body of `POST login`.

use thiserror::Error;

use super::{LOGIN_PASSWORD, RequestedDevice};
use crate::json::{Fields, JsonError, Location};
use crate::secret::Secret;

#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// A localpart or a complete user id.
    pub user: String,
    /// The password in clear text, to be verified.
    pub password: Secret,
    pub device: RequestedDevice,
}

/// The reason a login request is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("this server supports only the login type m.login.password")]
    UnsupportedLoginType,
    #[error("this server supports only the identifier type m.id.user")]
    UnsupportedIdentifierType,
}

impl LoginRequest {
    /// Parses the body. The deprecated `user` field is accepted instead of `identifier`.
    pub fn parse(body: &[u8]) -> Result<Self, LoginError> {
        let mut fields = Fields::parse(body)?;
        if fields.require_string("type")? != LOGIN_PASSWORD {
            return Err(LoginError::UnsupportedLoginType);
        }
        let user = match fields.take("identifier") {
            Some(identifier) => {
                let mut identifier = Fields::new(identifier, Location::Field("identifier"))?;
                if identifier.require_string("type")? != "m.id.user" {
                    return Err(LoginError::UnsupportedIdentifierType);
                }
                identifier.require_string("user")?
            }
            None => fields
                .take_string("user")?
                .ok_or_else(|| JsonError::MissingField("identifier".to_owned()))?,
        };
        let password = Secret::new(fields.require_string("password")?);
        Ok(Self { user, password, device: RequestedDevice::from_fields(&mut fields)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_read_from_the_identifier_or_the_deprecated_field() {
        for body in [
            r#"{"type":"m.login.password","identifier":{"type":"m.id.user","user":"alice"},"password":"p"}"#,
            r#"{"type":"m.login.password","user":"alice","password":"p","device_id":""}"#,
        ] {
            let request = LoginRequest::parse(body.as_bytes()).unwrap();
            assert_eq!(
                (request.user.as_str(), request.password.reveal()),
                ("alice", "p"),
                "{body}"
            );
            assert_eq!(request.device, RequestedDevice::default(), "{body}");
        }
        let body = r#"{"type":"m.login.password","user":"a","password":"p","device_id":"DEV"}"#;
        let device = LoginRequest::parse(body.as_bytes()).unwrap().device.into_device([0; 10]);
        assert_eq!(device.id(), "DEV");
    }

    #[test]
    fn invalid_bodies_are_rejected_with_the_reason() {
        for (body, message) in [
            ("{}", "type is missing"),
            ("[]", "the body must be a JSON object"),
            (r#"{"type":1}"#, "type must be a string"),
            (r#"{"type":"m.login.password"}"#, "identifier is missing"),
            (r#"{"type":"m.login.password","user":"a"}"#, "password is missing"),
            (r#"{"type":"m.login.password","user":"a","password":1}"#, "password must be a string"),
            (
                r#"{"type":"m.login.password","identifier":"alice","password":"p"}"#,
                "identifier must be a JSON object",
            ),
            (
                r#"{"type":"m.login.password","identifier":{"type":"m.id.user"},"password":"p"}"#,
                "identifier.user is missing",
            ),
            (
                r#"{"type":"m.login.password","identifier":{"type":"m.id.phone"},"password":"p"}"#,
                "this server supports only the identifier type m.id.user",
            ),
            (
                r#"{"type":"m.login.token","token":"x"}"#,
                "this server supports only the login type m.login.password",
            ),
        ] {
            let error = LoginRequest::parse(body.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), message, "{body}");
        }
        let LoginError::Json(error) = LoginRequest::parse(b"{").unwrap_err() else { panic!() };
        assert!(error.is_syntax_error());
    }
}
