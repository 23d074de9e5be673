//! The engines start, stop, restart, and end with the process that started them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use test_engines::{Chromedriver, EngineError, Postgres, Proxy, Redis, free_port, programs};

/// Returns the engine. If it is not installed, the test is skipped with a message, or fails in CI.
fn require_engine<Engine>(result: Result<Engine, EngineError>) -> Option<Engine> {
    match result {
        Ok(engine) => Some(engine),
        Err(error @ EngineError::Missing(_)) if env::var_os("CI").is_none() => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn query(postgres: &Postgres, sql: &str) -> String {
    let psql = programs::find(&["psql"]).unwrap();
    let output = Command::new(psql).args([&postgres.url(), "-Atc", sql]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the first line of the response, or `None` if the connection fails or the response takes
/// longer than 300 ms.
fn send(address: &str, request: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(300))).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}

fn host_and_port(url: &str) -> String {
    url.split('@').next_back().unwrap().trim_start_matches("redis://").replace("/postgres", "")
}

fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn postgres_restarts_on_the_same_port_with_its_data() {
    let Some(mut postgres) = require_engine(Postgres::start()) else { return };
    let url = postgres.url();
    query(&postgres, "create table bells (name text); insert into bells values ('Émile')");
    postgres.stop().unwrap();
    assert!(TcpStream::connect(host_and_port(&url)).is_err());
    postgres.restart().unwrap();
    assert_eq!((postgres.url(), query(&postgres, "select name from bells")), (url, "Émile".into()));
}

#[test]
fn a_crash_of_postgres_is_reported_with_its_statement() {
    let Some(postgres) = require_engine(Postgres::start()) else { return };
    assert_eq!(postgres.crash_report().unwrap(), "");
    let kill_backend = "copy (select 1) to program 'kill -s KILL $PPID'";
    postgres.execute(kill_backend).unwrap_err();
    let is_reported = || {
        let report = postgres.crash_report().unwrap();
        report.contains("terminated by signal 9") && report.contains(kill_backend)
    };
    assert!(wait_until(is_reported));
}

#[test]
fn a_durable_postgres_has_fsync_and_synchronous_commit_enabled() {
    let Some(postgres) = require_engine(Postgres::start_durable()) else { return };
    assert_eq!(query(&postgres, "show fsync"), "on");
    assert_eq!(query(&postgres, "show synchronous_commit"), "on");
    assert_eq!(query(&postgres, "show max_connections"), "300");
}

#[test]
fn redis_restarts_on_the_same_port_without_data() {
    let Some(mut redis) = require_engine(Redis::start()) else { return };
    let address = host_and_port(&redis.url());
    assert_eq!(send(&address, "SET bell 1\r\n").as_deref(), Some("+OK"));
    redis.stop().unwrap();
    assert_eq!(send(&address, "PING\r\n"), None);
    redis.restart().unwrap();
    assert_eq!(send(&address, "GET bell\r\n").as_deref(), Some("$-1"));
}

#[test]
fn a_paused_redis_accepts_connections_and_responds_when_resumed() {
    let Some(mut redis) = require_engine(Redis::start()) else { return };
    let address = host_and_port(&redis.url());
    redis.pause().unwrap();
    assert!(TcpStream::connect(&address).is_ok());
    assert_eq!(send(&address, "PING\r\n"), None);
    redis.resume().unwrap();
    assert!(wait_until(|| send(&address, "PING\r\n").as_deref() == Some("+PONG")));
}

#[test]
fn nginx_uses_the_given_configuration() {
    let port = free_port().unwrap();
    let configuration = format!(
        "events {{}} http {{ access_log off; server {{ listen 127.0.0.1:{port}; return 204; }} }}"
    );
    let Some(_nginx) = require_engine(Proxy::nginx(port, &configuration)) else { return };
    let status = send(&format!("127.0.0.1:{port}"), "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status.as_deref(), Some("HTTP/1.1 204 No Content"));
}

#[test]
fn caddy_uses_the_given_configuration() {
    let port = free_port().unwrap();
    let configuration = format!("{{\nadmin off\n}}\nhttp://127.0.0.1:{port} {{\nrespond 204\n}}\n");
    let Some(_caddy) = require_engine(Proxy::caddy(port, &configuration)) else { return };
    let status = send(&format!("127.0.0.1:{port}"), "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert_eq!(status.as_deref(), Some("HTTP/1.1 204 No Content"));
}

#[test]
fn an_invalid_nginx_configuration_is_reported_with_the_log() {
    let error = match Proxy::nginx(free_port().unwrap(), "nonsense;") {
        Err(error @ EngineError::Failed { .. }) => error.to_string(),
        other => return assert!(require_engine(other).is_none()),
    };
    assert!(error.contains("unknown directive \"nonsense\""), "{error}");
}

#[test]
fn chromedriver_responds_to_status_requests() {
    let Some(driver) = require_engine(Chromedriver::start()) else { return };
    let address = driver.url().replace("http://", "");
    let status = send(&address, "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status.as_deref(), Some("HTTP/1.1 200 OK"));
}

#[test]
fn engines_stop_when_their_owner_is_killed() {
    // The owner is a second process of this test binary, which the test can kill.
    if env::var_os("OWN_ENGINES").is_some() {
        return own_engines();
    }
    // Writable by every user, like /tmp, because PostgreSQL may run as another user.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    let mut owner = Command::new(env::current_exe().unwrap())
        .args(["engines_stop_when_their_owner_is_killed", "--nocapture"])
        .env("OWN_ENGINES", "yes")
        .env("TMPDIR", dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map_while(Result::ok);
    let urls = lines.find_map(|line| Some(line.split_once("engines at ")?.1.to_owned()));
    let Some(urls) = urls else {
        assert!(owner.wait().unwrap().success(), "the engines did not start");
        return;
    };
    let addresses: Vec<String> = urls.trim().split(' ').map(host_and_port).collect();
    assert!(addresses.iter().all(|address| TcpStream::connect(address).is_ok()));

    owner.kill().unwrap();
    owner.wait().unwrap();
    for address in &addresses {
        assert!(wait_until(|| TcpStream::connect(address).is_err()), "{address} is still open");
    }
    let is_empty = || dir.path().read_dir().unwrap().next().is_none();
    assert!(wait_until(is_empty), "a directory is left in {}", dir.path().display());
}

/// Starts engines, prints their URLs and waits to be killed.
fn own_engines() {
    let (Some(redis), Some(postgres)) =
        (require_engine(Redis::start()), require_engine(Postgres::start()))
    else {
        return;
    };
    println!("\nengines at {} {}", redis.url(), postgres.url());
    thread::sleep(Duration::from_mins(1));
}
