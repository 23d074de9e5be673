//! The body of a `POST` of `register`.

use super::DUMMY;
use crate::json;
use crate::rules::RuleError;
use crate::rules::fields::{At, Fields};
use crate::secret::Secret;

/// Who wants an account.
#[derive(Debug, Clone)]
pub struct Register {
    /// The name, or none when any will do.
    pub username: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// How far the registration has come.
    pub stage: Stage,
    /// The name of the device, if it has one already.
    pub device_id: Option<String>,
    /// Whether to make the account only, without a token.
    pub inhibit_login: bool,
}

/// How far a registration has come. Its only stage asks for nothing, so no session is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The client does not know yet what is asked.
    Begun,
    /// The client has done the one stage there is.
    Done,
    /// The client has done a stage that is not asked for.
    Unknown,
}

impl Register {
    /// Reads the body.
    ///
    /// # Errors
    /// When a member has the wrong type.
    pub fn read(body: &[u8]) -> Result<Self, RuleError> {
        let mut fields = Fields::of(json::read(body)?, At::Body)?;
        let stage = match fields.take("auth") {
            None => Stage::Begun,
            Some(auth) => match Fields::of(auth, At::Field("auth"))?.take_string("type")? {
                Some(stage) if stage == DUMMY => Stage::Done,
                Some(_) => Stage::Unknown,
                None => Stage::Begun,
            },
        };
        Ok(Self {
            username: fields.take_string("username")?,
            password: fields.take_string("password")?.map(Secret::new),
            stage,
            device_id: fields.take_string("device_id")?.filter(|id| !id.is_empty()),
            inhibit_login: fields.take_bool("inhibit_login")?.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_says_how_far_it_has_come() {
        for (body, stage) in [
            ("{}", Stage::Begun),
            (r#"{"auth":{"session":"x"}}"#, Stage::Begun),
            (r#"{"auth":{"type":"m.login.dummy"}}"#, Stage::Done),
            (r#"{"auth":{"type":"m.login.dummy","session":"x"}}"#, Stage::Done),
            (r#"{"auth":{"type":"m.login.recaptcha"}}"#, Stage::Unknown),
        ] {
            assert_eq!(Register::read(body.as_bytes()).unwrap().stage, stage, "{body}");
        }
    }

    #[test]
    fn members_are_read_and_wrong_ones_refused() {
        let body = br#"{"username":"a","password":"p","device_id":"D","inhibit_login":true}"#;
        let register = Register::read(body).unwrap();
        assert_eq!(register.username.as_deref(), Some("a"));
        assert_eq!(register.password.unwrap().reveal(), "p");
        assert_eq!(register.device_id.as_deref(), Some("D"));
        assert!(register.inhibit_login);
        for (body, text) in [
            (r#"{"username":1}"#, "username must be a string"),
            (r#"{"password":null}"#, "password must be a string"),
            (r#"{"auth":"x"}"#, "auth must be a JSON object"),
            (r#"{"auth":{"type":1}}"#, "auth.type must be a string"),
            (r#"{"inhibit_login":"yes"}"#, "inhibit_login must be a boolean"),
        ] {
            assert_eq!(Register::read(body.as_bytes()).unwrap_err().to_string(), text, "{body}");
        }
    }
}
