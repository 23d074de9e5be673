//! Private instances of the servers that Belfry works with, for tests and development tasks.
//!
//! Each listens on a free port of 127.0.0.1 and stores its data in a temporary directory. It stops
//! when dropped, and if the process is killed or exits without dropping it, for example from a
//! `static`.
//!
//! ```no_run
//! use test_engines::{Postgres, Redis};
//!
//! let mut postgres = Postgres::start()?;
//! let redis = Redis::start()?;
//! println!("{} {}", postgres.url(), redis.url());
//! postgres.stop()?; // connections are refused
//! postgres.restart()?; // same port, same data
//! # Ok::<(), test_engines::EngineError>(())
//! ```

mod chromedriver;
mod cpu;
mod error;
mod firefox;
mod launch;
mod pgbouncer;
mod port;
mod postgres;
pub mod process_group;
pub mod programs;
mod proxy;
mod redis;
mod redis_cluster;
mod redis_node_line;
mod server;
pub mod shared;

pub use self::chromedriver::Chromedriver;
pub use self::error::EngineError;
pub use self::firefox::Firefox;
pub use self::pgbouncer::PgBouncer;
pub use self::port::free_port;
pub use self::postgres::Postgres;
pub use self::process_group::ProcessGroup;
pub use self::proxy::Proxy;
pub use self::redis::Redis;
pub use self::redis_cluster::{RedisCluster, SHARDS, SlotMove};
pub use self::server::Server;
