//! What `belfry doctor` finds out about Redis.

use std::time::{Duration, Instant};

use jiff::SignedDuration;
use redis::{ConnectionInfo, RedisError};

use super::connection::Connection;
use crate::certificate_rejection;
use crate::clock::{Clock, SystemClock};

/// The state of a server that counts.
#[derive(Debug)]
pub struct RedisDiagnosis {
    /// The time that the script takes.
    pub response_time: Duration,
    /// By how much its clock is ahead of ours; `None` if its user may not read it.
    pub ahead: Option<SignedDuration>,
}

/// Connects, and runs the script of the limits as a server does at start: with a key that expires
/// after a second.
pub async fn diagnose(server: ConnectionInfo, prefix: &str) -> Result<RedisDiagnosis, String> {
    let opened = Connection::open(&server, &prefix.into()).await;
    let mut connection = opened.map_err(|error| describe(&error))?;
    let start = Instant::now();
    connection.probe().await.map_err(|error| describe(&error))?;
    let response_time = start.elapsed();
    let (now, start) = (SystemClock.now(), Instant::now());
    let ahead = connection.time().await.ok().map(|theirs| {
        let middle = SignedDuration::try_from(start.elapsed() / 2).unwrap_or_default();
        theirs - now.as_duration() - middle
    });
    Ok(RedisDiagnosis { response_time, ahead })
}

fn describe(error: &RedisError) -> String {
    match certificate_rejection::of(error) {
        Some(reason) => format!("its certificate {}", certificate_rejection::describe(&reason)),
        None => error.to_string(),
    }
}
