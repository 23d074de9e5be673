//! Latency of other requests while two clients evaluate the most expensive rules and events that
//! the limits allow.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Bench;
use super::line::{ReportLine, Target};
use super::request::Request;
use super::setup::{Instance, Setup, belfry_command};

const PUSH_RULES: &str = "/_matrix/client/v3/pushrules/";
const JSON: &str = "application/json";

/// The duration of the measurement, as a multiple of the option `--seconds`.
const DURATION_FACTOR: u32 = 10;

/// Starts the server that `setup` describes, which has an application service with `service_token`,
/// and sends expensive requests to it. Meanwhile measures `/healthz`, the request of the setup, and
/// another user's explanations.
pub(super) fn measure(
    bench: &Bench,
    setup: &Setup,
    service_token: &str,
) -> Result<Vec<ReportLine>, Box<dyn Error>> {
    let instance = setup.start(&bench.current)?;
    let address = instance.server()?.address;
    let attacker_token = add_account(bench, &instance, "mallory")?;
    let other_token = add_account(bench, &instance, "alice")?;
    put_expensive_rules(address, &attacker_token)?;
    let explain = |token: &str, event: String| {
        let body = format!(r#"{{"event":{event},"room":{{"member_count":3}}}}"#);
        let request = Request::new("POST", &format!("{PUSH_RULES}explain"));
        request.with_bearer(token).with_body(JSON, body)
    };
    let server_name = address.ip();
    let member = format!(r#"{{"user_id":"@mallory:{server_name}"}}"#);
    let members = vec![member; 100].join(",");
    let evaluate = Request::new("POST", "/_matrix/app/v1/evaluate")
        .with_bearer(service_token)
        .with_body(JSON, format!(r#"{{"event":{},"members":[{members}]}}"#, expensive_event()));
    let attack_requests = [evaluate, explain(&attacker_token, expensive_event())];
    let measured_requests = [
        ("/healthz", Request::new("GET", "/healthz"), 99),
        ("a token request", instance.request.clone(), 99),
        ("another user's explain", explain(&other_token, expensive_event()), 100),
    ];
    let duration = Duration::from_secs(u64::from(bench.seconds * DURATION_FACTOR));
    let is_stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        let attackers = attack_requests.map(|request| {
            let is_stopped = &is_stopped;
            scope.spawn(move || {
                repeat_request(&request, address, || is_stopped.load(Ordering::Relaxed))
            })
        });
        let end = Instant::now() + duration;
        let clients = measured_requests.map(|(name, request, percentile)| {
            let client =
                scope.spawn(move || repeat_request(&request, address, || Instant::now() >= end));
            (name, percentile, client)
        });
        let mut lines = Vec::new();
        for (name, percentile, client) in clients {
            let latencies = client.join().map_err(|_| "a client panicked")??;
            lines.push(latency_line(name, percentile, latencies));
        }
        is_stopped.store(true, Ordering::Relaxed);
        for attacker in attackers {
            let latencies = attacker.join().map_err(|_| "a client panicked")??;
            let line = latency_line("expensive request", 50, latencies);
            lines.push(ReportLine { target: None, ..line });
        }
        Ok(lines)
    })
}

/// Repeats a request until `has_ended` returns true, and returns all latencies.
fn repeat_request(
    request: &Request,
    address: SocketAddr,
    has_ended: impl Fn() -> bool,
) -> io::Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    while !has_ended() {
        let start = Instant::now();
        request.send(address)?;
        latencies.push(start.elapsed());
    }
    Ok(latencies)
}

fn latency_line(name: &str, percentile: usize, mut latencies: Vec<Duration>) -> ReportLine {
    latencies.sort();
    let position = latencies.len().saturating_sub(1) * percentile / 100;
    let latency_ms =
        latencies.get(position).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1000.0);
    let target = if percentile < 100 { 100.0 } else { 1000.0 };
    let name = format!("{name} while expensive rules are evaluated, p{percentile}");
    let mut line = ReportLine::metric(&name, latency_ms, "ms", Some(Target::AtMost(target)));
    line.measured = format!("{} requests", latencies.len());
    line
}

fn add_account(bench: &Bench, instance: &Instance, name: &str) -> io::Result<String> {
    let run = |arguments: &[&str]| {
        let output = belfry_command(&bench.current.belfry, instance.dir(), arguments).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(io::Error::other(format!("belfry {}: {error}", arguments.join(" "))));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    };
    run(&["account", "add", name])?;
    run(&["token", "issue", name, "--scopes", "push"])
}

/// Stores a mebibyte of rules. [`expensive_event`] meets all conditions of each rule except the
/// last.
pub(super) fn put_expensive_rules(address: SocketAddr, token: &str) -> io::Result<()> {
    let condition = r#"{"kind":"event_match","key":"content.a","pattern":"*?a?a?a?b*"}"#;
    let unmet_condition = r#"{"kind":"room_member_count","is":"99999"}"#;
    let conditions = [vec![condition; 63], vec![unmet_condition]].concat().join(",");
    let rule = format!(r#"{{"actions":["notify"],"conditions":[{conditions}]}}"#);
    for number in 0..(1 << 20) / (rule.len() + 100) {
        let path = format!("{PUSH_RULES}global/override/{number}");
        let put = Request::new("PUT", &path).with_bearer(token).with_body(JSON, rule.as_str());
        put.send(address)?;
    }
    Ok(())
}

/// Returns a message of almost the maximum size.
pub(super) fn expensive_event() -> String {
    let text = "a".repeat(60_000);
    format!(
        r#"{{"type":"m.room.message","sender":"@b:x","content":{{"body":"hi","a":"{text}b"}}}}"#
    )
}
