

pub mod cli;
pub mod clock;
pub mod config;
pub mod counters;
pub mod http;
pub mod log;
pub mod metrics;
pub mod passwords;
pub mod random;
pub mod serve;
pub mod store;
pub mod tls;
