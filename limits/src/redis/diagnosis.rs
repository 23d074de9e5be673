//! Findings of `belfry doctor` about Redis.

use std::time::{Duration, Instant};

use redis::{ConnectionInfo, RedisError, RedisResult};

use super::connection::{Connection, with_address, with_timeout};
use super::refresh::{TopologyView, read_view};
use super::slots::{ALL_SLOTS, SlotRange, find_hash_tag};

/// The state of a server that counts: the only one, or a primary of a cluster.
#[derive(Debug)]
pub struct RedisDiagnosis {
    pub address: String,
    /// The time to count a request, or the reason why the server cannot count.
    pub result: Result<Duration, RedisError>,
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

async fn measure_server(info: &ConnectionInfo, prefix: &str, tag: &str) -> RedisResult<Duration> {
    let mut connection = Connection::open(info).await?;
    // Loads the script if the server does not have it.
    connection.test_write(prefix, Some(tag)).await?;
    let start = Instant::now();
    connection.test_write(prefix, Some(tag)).await?;
    Ok(start.elapsed())
}
