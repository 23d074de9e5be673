//! Findings of `belfry doctor` about Redis.

use std::time::{Duration, Instant};

use belfry_runtime::clock::{Clock, SystemClock};
use jiff::SignedDuration;
use redis::{ConnectionInfo, RedisError, RedisResult};

use super::connection::{Connection, with_address, with_timeout};
use super::refresh::{TopologyView, read_view};
use super::slots::{ALL_SLOTS, SlotRange, find_hash_tag};

/// The state of a server that counts: the only one, or a primary of a cluster.
#[derive(Debug)]
pub struct RedisDiagnosis {
    pub address: String,
    /// The measurement, or the reason why the server cannot count.
    pub result: Result<RedisMeasurement, RedisError>,
}

/// Measured properties of a server that counts.
#[derive(Debug)]
pub struct RedisMeasurement {
    pub response_time: Duration,
    /// The server's clock minus this machine's; `None` if the Redis user may not read the server's
    /// clock.
    pub clock_offset: Option<SignedDuration>,
    /// True if the server rejects commands while another shard of its cluster has no primary; false
    /// if the Redis user may not read the setting.
    pub requires_full_coverage: bool,
}

/// Connects to every server that counts, and runs the rate-limit script as a node does at startup:
/// with a key that expires after a second. `time_limit` applies to reading the topology from an
/// address, and again to measuring a server. If no server responds, or several addresses are not
/// nodes of a cluster, returns the error of each address.
pub async fn diagnose(
    servers: &[ConnectionInfo],
    prefix: &str,
    time_limit: Duration,
) -> Vec<RedisDiagnosis> {
    let mut diagnoses = Vec::new();
    let mut nodes = Vec::new();
    for server in servers {
        match with_timeout(time_limit, read_view(server, servers.len())).await {
            Err(error) => {
                let address = server.addr().to_string();
                diagnoses.push(RedisDiagnosis { address, result: Err(error) });
                continue;
            }
            Ok(TopologyView::Single(info)) => nodes.push((info, find_hash_tag(&ALL_SLOTS))),
            Ok(TopologyView::Cluster(info, ranges)) => {
                let to_node = |range: SlotRange| {
                    Some((with_address(&info, &range.primary)?, find_hash_tag(&range.slots)))
                };
                nodes.extend(ranges.into_iter().filter_map(to_node));
                nodes.sort_by_key(|(info, _)| info.addr().to_string());
                nodes.dedup_by_key(|(info, _)| info.addr().to_string());
            }
        }
        diagnoses.clear();
        break;
    }
    for (info, tag) in nodes {
        let result = with_timeout(time_limit, measure_server(&info, prefix, &tag)).await;
        diagnoses.push(RedisDiagnosis { address: info.addr().to_string(), result });
    }
    diagnoses
}

async fn measure_server(
    info: &ConnectionInfo,
    prefix: &str,
    tag: &str,
) -> RedisResult<RedisMeasurement> {
    let mut connection = Connection::open(info).await?;
    // Loads the script if the server does not have it.
    connection.test_write(prefix, Some(tag)).await?;
    let start = Instant::now();
    connection.test_write(prefix, Some(tag)).await?;
    let response_time = start.elapsed();
    let now = SystemClock.now();
    let start = Instant::now();
    let clock_offset = connection.server_time().await.ok().map(|server_time| {
        let one_way_delay = SignedDuration::try_from(start.elapsed() / 2).unwrap_or_default();
        server_time - now.as_duration() - one_way_delay
    });
    let requires_full_coverage = connection.requires_full_coverage().await.unwrap_or(false);
    Ok(RedisMeasurement { response_time, clock_offset, requires_full_coverage })
}
