//! The Matrix client-server API other than push rules: versions, login and registration.

use serde_json::Value;
use thiserror::Error;

use crate::json::{Fields, JsonError, Location};
use crate::secret::Secret;
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

/// Maximum length of a device id, in characters.
const MAX_DEVICE_ID_LENGTH: usize = 255;

/// Maximum length of a display name, in characters. Longer names are truncated.
const MAX_DEVICE_NAME_LENGTH: usize = 100;

/// A device: an installation of a Matrix client, signed in to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    id: String,
    name: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestedDevice {
    id: Option<String>,
    name: Option<String>,
}

impl RequestedDevice {
    /// Reads `device_id` and `initial_device_display_name`. The name is only displayed, so it
    /// never causes an error: control characters become spaces, a long name is truncated, and a
    /// value that is not a string is ignored.
    fn from_fields(fields: &mut Fields) -> Result<Self, JsonError> {
        let id = fields.take_string("device_id")?.filter(|id| !id.is_empty());
        let is_invalid = |id: &String| {
            id.chars().count() > MAX_DEVICE_ID_LENGTH || id.contains(char::is_control)
        };
        if id.as_ref().is_some_and(is_invalid) {
            let expected = "at most 255 characters without control characters";
            return Err(JsonError::WrongType { field: "device_id".to_owned(), expected });
        }
        let name = fields.take("initial_device_display_name");
        let name = normalize_device_name(name.as_ref().and_then(Value::as_str).unwrap_or_default());
        Ok(Self { id, name: Some(name).filter(|name| !name.is_empty()) })
    }

    /// Returns the device, with an id of ten uppercase letters made from random bytes if none is
    /// requested.
    pub fn into_device(self, random_bytes: [u8; 10]) -> Device {
        let random_id = || random_bytes.map(|byte| char::from(b'A' + byte % 26)).iter().collect();
        Device { id: self.id.unwrap_or_else(random_id), name: self.name }
    }
}

impl Device {
    pub fn new(id: impl Into<String>, name: Option<String>) -> Self {
        Self { id: id.into(), name }
    }

    /// Returns the id, which is unique among an account's devices.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the display name, such as "Element on Pixel".
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// The body of `POST login`.
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
        Self::from_fields(Fields::parse(body)?)
    }

    fn from_fields(mut fields: Fields) -> Result<Self, LoginError> {
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

/// Reads `display_name` from the body of `PUT devices/{deviceId}`, in the form in which it is shown.
pub fn parse_device_name(body: &[u8]) -> Result<Option<String>, JsonError> {
    let name = Fields::parse(body)?.take_string("display_name")?;
    Ok(name.map(|name| normalize_device_name(&name)).filter(|name| !name.is_empty()))
}

/// Reads `auth` from the body of `DELETE devices/{deviceId}`: the user's password, like that of a
/// login. `None` if the client has not begun the authentication.
pub fn parse_device_deletion(body: &[u8]) -> Result<Option<LoginRequest>, LoginError> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    match Fields::parse(body)?.take("auth") {
        Some(auth) => {
            LoginRequest::from_fields(Fields::new(auth, Location::Field("auth"))?).map(Some)
        }
        None => Ok(None),
    }
}

/// Replaces control characters by spaces, and truncates a long name.
fn normalize_device_name(name: &str) -> String {
    let name = name.replace(char::is_control, " ");
    name.trim().chars().take(MAX_DEVICE_NAME_LENGTH).collect()
}

/// The body of `POST register`.
#[derive(Debug, Clone)]
pub struct RegisterRequest {
    pub kind: RegistrationType,
    /// Requested localpart; generated by the server if absent.
    pub username: Option<String>,
    pub password: Option<Secret>,
    /// Progress of the user-interactive authentication.
    pub stage: RegistrationStage,
    /// The device that is signed in with the new account.
    pub device: RequestedDevice,
    /// True if the account is created without issuing a token.
    pub inhibit_login: bool,
}

/// The kind of client that registers an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistrationType {
    /// A person, with user-interactive authentication.
    Interactive,
    /// An application service, with its token: [`LOGIN_APPLICATION_SERVICE`].
    ApplicationService,
}

/// Progress of user-interactive authentication during a registration. No session is stored, because
/// the only stage requires nothing from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistrationStage {
    /// The client has not completed a stage yet.
    NotStarted,
    Completed,
    /// The client claims to have completed a stage that the server does not offer.
    Unknown,
}

impl RegisterRequest {
    pub fn parse(body: &[u8]) -> Result<Self, JsonError> {
        let mut fields = Fields::parse(body)?;
        // Old clients send other types, which have no meaning here.
        let kind = match fields.take("type") {
            Some(login_type) if login_type == LOGIN_APPLICATION_SERVICE => {
                RegistrationType::ApplicationService
            }
            _ => RegistrationType::Interactive,
        };
        let stage = match fields.take("auth") {
            None => RegistrationStage::NotStarted,
            Some(auth) => match Fields::new(auth, Location::Field("auth"))?.take_string("type")? {
                Some(stage) if stage == STAGE_DUMMY => RegistrationStage::Completed,
                Some(_) => RegistrationStage::Unknown,
                None => RegistrationStage::NotStarted,
            },
        };
        Ok(Self {
            kind,
            username: fields.take_string("username")?,
            password: fields.take_string("password")?.map(Secret::new),
            stage,
            device: RequestedDevice::from_fields(&mut fields)?,
            inhibit_login: fields.take_bool("inhibit_login")?.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests;
