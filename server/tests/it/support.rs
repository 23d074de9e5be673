//! Shared by all tests: databases, a service in this process with a fake clock, its clients, and
//! the real binary as a process.

pub(crate) mod browser;
pub(crate) mod caller;
pub(crate) mod client;
pub(crate) mod databases;
pub(crate) mod left_out;
pub(crate) mod process;
pub(crate) mod service;

pub(crate) use self::browser::Browser;
pub(crate) use self::caller::{Answer, Caller};
pub(crate) use self::client::Client;
pub(crate) use self::databases::TestDatabase;
pub(crate) use self::left_out::left_out;
pub(crate) use self::process::Process;
pub(crate) use self::service::Service;
