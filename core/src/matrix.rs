//! What Matrix clients ask before they speak of rules: who they are, and how to sign in.

mod device;
mod login;
mod register;
mod user_id;

pub use device::device_id;
pub use login::{Login, LoginError};
pub use register::{Register, Stage};
pub use user_id::{localpart, user_id};

/// The one way to sign in that is served.
pub const PASSWORD: &str = "m.login.password";

/// The one stage of a registration: nothing more is asked.
pub const DUMMY: &str = "m.login.dummy";

/// The versions of the specification whose push rules are served.
pub const VERSIONS: &[&str] = &[
    "r0.0.1", "r0.1.0", "r0.2.0", "r0.3.0", "r0.4.0", "r0.5.0", "r0.6.0", "r0.6.1", "v1.1", "v1.2",
    "v1.3", "v1.4", "v1.5", "v1.6", "v1.7", "v1.8", "v1.9", "v1.10", "v1.11", "v1.12", "v1.13",
    "v1.14", "v1.15", "v1.16", "v1.17", "v1.18", "v1.19",
];
