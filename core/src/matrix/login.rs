//! The body of a `POST` of `login`.

use thiserror::Error;

use super::PASSWORD;
use crate::json;
use crate::rules::RuleError;
use crate::rules::fields::{At, Fields};
use crate::secret::Secret;

/// Who wants to sign in.
#[derive(Debug, Clone)]
pub struct Login {
    /// A name, or the whole id of a user.
    pub user: String,
    /// The password.
    pub password: Secret,
    /// The name of the device, if it has one already.
    pub device_id: Option<String>,
}

/// Why the body does not say who wants to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    /// It is not read.
    #[error(transparent)]
    Body(#[from] RuleError),
    /// It wants another way to sign in.
    #[error("this server knows only the login type m.login.password")]
    Type,
    /// It names the user in another way.
    #[error("this server knows only the identifier type m.id.user")]
    Identifier,
}

impl Login {
    /// Reads the body. Besides `identifier` the older `user` is understood.
    ///
    /// # Errors
    /// When it lacks something, or wants what is not served.
    pub fn read(body: &[u8]) -> Result<Self, LoginError> {
        let mut fields = Fields::of(json::read(body).map_err(RuleError::from)?, At::Body)?;
        if fields.need_string("type")? != PASSWORD {
            return Err(LoginError::Type);
        }
        let user = match fields.take("identifier") {
            Some(identifier) => {
                let mut identifier = Fields::of(identifier, At::Field("identifier"))?;
                if identifier.need_string("type")? != "m.id.user" {
                    return Err(LoginError::Identifier);
                }
                identifier.need_string("user")?
            }
            None => match fields.take_string("user")? {
                Some(user) => user,
                None => return Err(RuleError::MissingField("identifier".to_owned()).into()),
            },
        };
        let password = Secret::new(fields.need_string("password")?);
        let device_id = fields.take_string("device_id")?.filter(|id| !id.is_empty());
        Ok(Self { user, password, device_id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Class;

    #[test]
    fn a_user_is_named_by_an_identifier_or_as_of_old() {
        for body in [
            r#"{"type":"m.login.password","identifier":{"type":"m.id.user","user":"alice"},"password":"p"}"#,
            r#"{"type":"m.login.password","user":"alice","password":"p","device_id":""}"#,
            r#"{"type":"m.login.password","user":"alice","password":"p","initial_device_display_name":"x"}"#,
        ] {
            let login = Login::read(body.as_bytes()).unwrap();
            assert_eq!((login.user.as_str(), login.password.reveal()), ("alice", "p"), "{body}");
            assert_eq!(login.device_id, None, "{body}");
        }
        let body = r#"{"type":"m.login.password","user":"a","password":"p","device_id":"DEV"}"#;
        assert_eq!(Login::read(body.as_bytes()).unwrap().device_id.as_deref(), Some("DEV"));
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for (body, text) in [
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
                "this server knows only the identifier type m.id.user",
            ),
            (
                r#"{"type":"m.login.token","token":"x"}"#,
                "this server knows only the login type m.login.password",
            ),
        ] {
            assert_eq!(Login::read(body.as_bytes()).unwrap_err().to_string(), text, "{body}");
        }
        let LoginError::Body(refusal) = Login::read(b"{").unwrap_err() else { panic!() };
        assert_eq!(refusal.class(), Class::NotJson);
    }
}
