//! Three nodes behind nginx are restarted one by one during concurrent writes, or upgraded and
//! rolled back if a binary of the previous release is given.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use test_engines::{Postgres, Proxy, Redis, free_port};

use crate::Result;
use crate::client::{Client, Request};
use crate::load::{Load, OnFailure};
use crate::node::Node;
use crate::outcome::Run;
use crate::workers::Workers;

const NODES: usize = 3;

/// Number of writes that must be acknowledged before each restart.
const WRITES: u64 = 100;

/// Maximum time until nginx sends requests to a restarted node.
const RETURN_TIMEOUT: Duration = Duration::from_mins(1);

/// The time that a stopping node waits for nginx to use each idle connection once more. Then the
/// node closes the connection.
const SHUTDOWN_DELAY: &str = "2s";

/// Restarts the nodes one by one in each round. If a binary of the previous release is given, the
/// rounds alternate between both binaries. No request may fail: nginx must not send a request to a
/// node that does not respond, unless it can retry the request on another node.
pub(crate) fn rolling_restarts(run: &mut Run) -> Result<()> {
    let postgres = Postgres::start()?;
    let redis = Redis::start()?;
    let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    // The previous release may not have the setting.
    let delay_setting = if run.settings.previous_belfry.is_none() {
        format!("[http]\nshutdown_delay = \"{SHUTDOWN_DELAY}\"\n")
    } else {
        String::new()
    };
    let settings = format!(
        "base_url = \"http://{proxy}\"\ntrusted_proxies = [\"127.0.0.1\"]\n{delay_setting}"
    );
    // Every request is counted, and none is rejected.
    let database = postgres.url();
    let redis_url = redis.url();
    let arguments = ["--limits", "shadow", "--database", &database, "--redis", &redis_url];
    let start_node = |_| Node::start_new(run, &arguments, &settings);
    let mut nodes: Vec<Node> = (0..NODES).map(start_node).collect::<Result<_>>()?;
    let _nginx = Proxy::nginx(proxy.port(), &nginx_configuration(proxy, &nodes))?;

    let mut workers = Workers::set_up(run, &[proxy])?.with_several_nodes();
    while let Some(round) = run.next_round() {
        let binary = match &run.settings.previous_belfry {
            Some(previous) if round % 2 == 0 => previous.clone(),
            _ => run.settings.belfry.clone(),
        };
        let delays_ms: Vec<u64> = nodes.iter().map(|_| run.rng.u64(1..=200)).collect();
        workers.run_load(run, OnFailure::Continue, |load| {
            for (node, delay_ms) in nodes.iter_mut().zip(delays_ms) {
                load.wait_for_acknowledgements(WRITES)?;
                thread::sleep(Duration::from_millis(delay_ms));
                node.binary.clone_from(&binary);
                restart(node, load)?;
            }
            load.wait_for_acknowledgements(WRITES)
        })?;
        workers.verify(run)?;
        run.end_round();
    }
    workers.verify_all(run)?;
    let failed = run.outcome.failed;
    run.outcome.check(failed == 0, || format!("{failed} requests failed"));
    Ok(())
}

/// Restarts a node, and waits until nginx sends requests to it again.
fn restart(node: &mut Node, load: &Load) -> Result<()> {
    node.terminate()?;
    load.wait_for_acknowledgements(1)?;
    node.start()?;
    let client = Client::new(node.address);
    let start = Instant::now();
    loop {
        let metrics = client.send_successfully(&Request::get("/metrics"))?.body;
        // Clients write rules all the time; they stop issuing tokens when they have enough.
        let is_rule_written = |line: &str| {
            line.starts_with("belfry_http_requests_total{") && line.contains("method=\"PUT\"")
        };
        if metrics.lines().any(is_rule_written) {
            return Ok(());
        }
        if start.elapsed() > RETURN_TIMEOUT {
            return Err("nginx does not send requests to a restarted node".into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns an nginx configuration with the upstream of docs/operating.md, "Rolling restarts".
fn nginx_configuration(proxy: SocketAddr, nodes: &[Node]) -> String {
    let server = |node: &Node| format!("server {} max_fails=1 fail_timeout=1s;\n", node.address);
    let servers: String = nodes.iter().map(server).collect();
    format!(
        "events {{ }}
        http {{
            access_log off;
            client_body_temp_path body;
            proxy_temp_path proxy;
            upstream belfry {{
                {servers}
                keepalive 32;
                keepalive_timeout 30s;
            }}
            server {{
                listen {proxy};
                location / {{
                    proxy_pass http://belfry;
                    proxy_http_version 1.1;
                    proxy_set_header Connection \"\";
                    proxy_set_header X-Forwarded-For $remote_addr;
                }}
            }}
        }}"
    )
}
