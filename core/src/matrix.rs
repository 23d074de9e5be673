//! Matrix client-server API besides push rules: versions, login and registration.

mod device;
mod error_code;
mod ids;
mod login;
mod register;

pub use device::{Device, RequestedDevice};
pub use error_code::MatrixErrorCode;
pub use ids::{localpart, user_id};
pub use login::{LoginError, LoginRequest};
pub use register::{RegisterRequest, RegistrationStage, RegistrationType};

/// The only supported login type.
pub const LOGIN_PASSWORD: &str = "m.login.password";

/// The only authentication stage of a registration. It requires nothing from the client.
pub const STAGE_DUMMY: &str = "m.login.dummy";

/// The login type of an application service that registers one of its users.
pub const APPLICATION_SERVICE: &str = "m.login.application_service";

/// Supported versions of the Matrix specification.
pub const VERSIONS: &[&str] = &[
    "r0.0.1", "r0.1.0", "r0.2.0", "r0.3.0", "r0.4.0", "r0.5.0", "r0.6.0", "r0.6.1", "v1.1", "v1.2",
    "v1.3", "v1.4", "v1.5", "v1.6", "v1.7", "v1.8", "v1.9", "v1.10", "v1.11", "v1.12", "v1.13",
    "v1.14", "v1.15", "v1.16", "v1.17", "v1.18", "v1.19",
];
