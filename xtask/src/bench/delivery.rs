//! Web Push: the cost of a message compared with other implementations, and the time until an event
//! is delivered to many devices.

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use test_engines::Server;

use super::line::{ReportLine, Target, median};
use super::request::Request;
use super::setup::{Instance, Setup};
use super::{Bench, Build};
use crate::{cargo, python};

/// Number of accounts. Each has ten pushers.
pub(super) const ACCOUNTS: u32 = 1_000;
pub(super) const DEVICES: f64 = 10_000.0;

/// The number of messages that the other implementations send in a round.
const OTHER_MESSAGES: &str = "3000";

pub(super) const ROUNDS: u32 = 3;

const PYWEBPUSH: &str = "pywebpush==2.5.0";
const WEB_PUSH: &str = "web-push@3.6.7";

/// The device keys and the content of a message, as in Belfry's messages.
const MESSAGE: [&str; 3] = [
    "BKsiaJLo_FH-n1enrkeKiR_PgdGvlzcA6ZQsMx7V1jYY1aTe9sxjFeQvbthBHJZbFx__Y7qHOKc_gFy8hkjFxuo",
    "i8AmeDhS5GxHbglXd1KJzg",
    r#"{"event_id":"$0123456789abcdef0123456789abcdef","room_id":"!kitchen:ring.example","type":"m.room.message","sender":"@bob:ring.example","sender_display_name":"Bob","room_name":"Kitchen","prio":"high","content":{"msgtype":"m.text","body":"There is cake in the kitchen!"},"unread":0}"#,
];

/// Delivers events to ten pushers of each account, from the queue and through `notify`, which the
/// setup's request calls. The push service is a bare axum server.
pub(super) fn measure(bench: &Bench, setup: &Setup) -> Result<Vec<ReportLine>, Box<dyn Error>> {
    let instance = setup.start(&bench.current)?;
    let push_service = start_push_service(&bench.bare, instance.dir())?;
    let origin = format!("http://{}", push_service.address);
    let accounts = ACCOUNTS.to_string();
    run_bench(&bench.current, instance.dir(), &["pushers", &accounts, &origin])?;
    let python = install_pywebpush()?;
    let web_push_dir = install_web_push()?;
    let mut ours = vec![];
    let mut pywebpush = vec![];
    let mut web_push = vec![];
    let mut request_ms = vec![];
    let mut delivery_seconds = vec![];
    for round in 0..ROUNDS {
        let server = instance.server()?;
        let delivered = delivered_count(server)?;
        let cpu_before_us = server.cpu_time_us();
        run_bench(&bench.current, instance.dir(), &["queue", &accounts])?;
        wait_for_deliveries(server, delivered + DEVICES)?;
        ours.push(DEVICES * 1e6 / (server.cpu_time_us() - cpu_before_us));

        let script = include_str!("delivery/pywebpush_sender.py");
        pywebpush.push(run_sender(Command::new(&python).args(["-c", script]), &origin)?);
        let script = include_str!("delivery/web_push_sender.js");
        let mut node = Command::new("node");
        node.args(["-e", script]).env("NODE_PATH", web_push_dir.join("node_modules"));
        web_push.push(run_sender(&mut node, &origin)?);

        let times = notify(&instance, round)?;
        request_ms.push(times.request.as_secs_f64() * 1000.0);
        delivery_seconds.push(times.delivery.as_secs_f64());
    }
    let rate = median(ours);
    let compare = |name: &str, rates: Vec<f64>| {
        let other_rate = median(rates);
        let name = format!("Web Push messages per second of CPU time, against {name}");
        ReportLine {
            measured: format!("{rate:.0}"),
            reference: format!("{other_rate:.0}"),
            ..ReportLine::metric(&name, rate / other_rate, "times", Some(Target::AtLeast(8.0)))
        }
    };
    let metric =
        |name, values, unit, target| ReportLine::metric(name, median(values), unit, target);
    Ok(vec![
        compare("pywebpush", pywebpush),
        compare("web-push", web_push),
        metric("one event, notify request for 10,000 devices", request_ms, "ms", None),
        metric(
            "one event, delivered to 10,000 devices",
            delivery_seconds,
            "s",
            Some(Target::AtMost(5.0)),
        ),
    ])
}

fn start_push_service(bare: &Path, dir: &Path) -> io::Result<Server> {
    let body = dir.join("empty");
    fs::write(&body, "")?;
    let mut command = Command::new(bare);
    command.args(["--listen", "127.0.0.1:0", "--status", "201", "--body-file"]).arg(body);
    Server::start(command, dir)
}

pub(super) fn run_bench(build: &Build, dir: &Path, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(&build.bench).args(arguments).current_dir(dir).output()?;
    if output.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("belfry-bench {}: {error}", arguments.join(" "))))
}

/// Runs a program that sends messages, and returns their number per second of its CPU time.
fn run_sender(command: &mut Command, origin: &str) -> Result<f64, Box<dyn Error>> {
    let output = command.args([origin, OTHER_MESSAGES]).args(MESSAGE).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    let rate = String::from_utf8_lossy(&output.stdout).trim().parse();
    Ok(rate.map_err(|_| format!("messages cannot be sent: {error}"))?)
}

pub(super) struct EventTimes {
    /// Until the response of `notify`.
    request: Duration,
    /// Until the last message was delivered.
    pub(super) delivery: Duration,
}

/// Sends an event and waits until it is delivered to all devices.
pub(super) fn notify(instance: &Instance, round: u32) -> Result<EventTimes, Box<dyn Error>> {
    let server = instance.server()?;
    let body = instance.request.body.replace("{round}", &round.to_string());
    let request = Request { body, ..instance.request.clone() };
    let delivered = delivered_count(server)?;
    let start = Instant::now();
    request.send(server.address)?;
    let request_duration = start.elapsed();
    wait_for_deliveries(server, delivered + DEVICES)?;
    Ok(EventTimes { request: request_duration, delivery: start.elapsed() })
}

fn wait_for_deliveries(server: &Server, count: f64) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    while delivered_count(server)? < count {
        if start.elapsed() > Duration::from_mins(5) {
            return Err("the messages were not delivered in 5 minutes".into());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Returns the number of messages that the server has delivered since its start.
fn delivered_count(server: &Server) -> Result<f64, Box<dyn Error>> {
    let prefix = "belfry_delivery_attempts_total{outcome=\"delivered\"} ";
    let url = format!("http://{}/metrics", server.address);
    let metrics = minreq::get(url).with_timeout(10).send()?;
    let count = metrics.as_str()?.lines().find_map(|line| line.strip_prefix(prefix));
    Ok(count.ok_or("no metric for delivered messages")?.parse()?)
}

/// Installs pywebpush, unless it is installed, and returns the path of its Python.
fn install_pywebpush() -> io::Result<PathBuf> {
    Ok(python::install_program(PYWEBPUSH, "pywebpush")?.with_file_name("python"))
}

/// Installs web-push, unless it is installed, and returns its directory.
fn install_web_push() -> io::Result<PathBuf> {
    let dir = cargo::target_dir()?.join("xtask-tools").join(WEB_PUSH);
    if !dir.join("node_modules").exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-save", "--ignore-scripts", WEB_PUSH, "--prefix"]);
        let status = npm.arg(&dir).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("cannot install {WEB_PUSH}: {status}")));
        }
    }
    Ok(dir)
}
