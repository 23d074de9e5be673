//! The private engines: they start, stop, come back, and end with their owner.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use xtask::engines::{Chromedriver, EngineError, Postgres, Proxy, Redis, free_port};
use xtask::programs;

/// The engine; at a desk without it the test says so and is left out, in CI it fails.
fn here<Engine>(started: Result<Engine, EngineError>) -> Option<Engine> {
    match started {
        Ok(engine) => Some(engine),
        Err(error @ EngineError::Missing(_)) if env::var_os("CI").is_none() => {
            eprintln!("left out: {error}");
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

/// What Redis answers; `None` if it does not within a moment.
fn ask(address: &str, request: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(300))).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}

fn address(url: &str) -> String {
    url.split('@').next_back().unwrap().trim_start_matches("redis://").replace("/postgres", "")
}

fn soon(mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(30);
    while Instant::now() < end {
        if done() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_stopped_postgres_comes_back_on_its_port_with_its_data() {
    let Some(mut postgres) = here(Postgres::start()) else { return };
    let url = postgres.url();
    query(&postgres, "create table bells (name text); insert into bells values ('Émile')");
    postgres.stop().unwrap();
    assert!(TcpStream::connect(address(&url)).is_err());
    postgres.start_again().unwrap();
    assert_eq!((postgres.url(), query(&postgres, "select name from bells")), (url, "Émile".into()));
}

#[test]
fn a_postgres_for_measurements_waits_for_the_disk() {
    let Some(postgres) = here(Postgres::start_durable()) else { return };
    assert_eq!(query(&postgres, "show fsync"), "on");
    assert_eq!(query(&postgres, "show synchronous_commit"), "on");
    assert_eq!(query(&postgres, "show max_connections"), "300");
}

#[test]
fn a_stopped_redis_comes_back_on_its_port_empty() {
    let Some(mut redis) = here(Redis::start()) else { return };
    let address = address(&redis.url());
    assert_eq!(ask(&address, "SET bell 1\r\n").as_deref(), Some("+OK"));
    redis.stop().unwrap();
    assert_eq!(ask(&address, "PING\r\n"), None);
    redis.start_again().unwrap();
    assert_eq!(ask(&address, "GET bell\r\n").as_deref(), Some("$-1"));
}

#[test]
fn a_paused_redis_takes_connections_and_answers_when_it_goes_on() {
    let Some(mut redis) = here(Redis::start()) else { return };
    let address = address(&redis.url());
    redis.pause().unwrap();
    assert!(TcpStream::connect(&address).is_ok());
    assert_eq!(ask(&address, "PING\r\n"), None);
    redis.resume().unwrap();
    assert!(soon(|| ask(&address, "PING\r\n").as_deref() == Some("+PONG")));
}

#[test]
fn nginx_serves_what_its_configuration_says() {
    let port = free_port().unwrap();
    let configuration = format!(
        "events {{}} http {{ access_log off; server {{ listen 127.0.0.1:{port}; return 204; }} }}"
    );
    let Some(_nginx) = here(Proxy::nginx(port, &configuration)) else { return };
    let status = ask(&format!("127.0.0.1:{port}"), "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status.as_deref(), Some("HTTP/1.1 204 No Content"));
}

#[test]
fn caddy_serves_what_its_configuration_says() {
    let port = free_port().unwrap();
    let configuration = format!("{{\nadmin off\n}}\nhttp://127.0.0.1:{port} {{\nrespond 204\n}}\n");
    let Some(_caddy) = here(Proxy::caddy(port, &configuration)) else { return };
    let status = ask(&format!("127.0.0.1:{port}"), "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert_eq!(status.as_deref(), Some("HTTP/1.1 204 No Content"));
}

#[test]
fn a_configuration_that_nginx_refuses_is_reported_in_its_words() {
    let error = match Proxy::nginx(free_port().unwrap(), "nonsense;") {
        Err(error @ EngineError::Failed { .. }) => error.to_string(),
        other => return assert!(here(other).is_none()),
    };
    assert!(error.contains("unknown directive \"nonsense\""), "{error}");
}

#[test]
fn chromedriver_speaks() {
    let Some(driver) = here(Chromedriver::start()) else { return };
    let address = driver.url().replace("http://", "");
    let status = ask(&address, "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status.as_deref(), Some("HTTP/1.1 200 OK"));
}

#[test]
fn an_engine_ends_with_its_owner_even_when_that_is_killed() {
    // This test is also the owner: it runs itself again in a process that it can kill.
    if env::var_os("OWN_ENGINES").is_some() {
        return own_engines();
    }
    let mut owner = Command::new(env::current_exe().unwrap())
        .args(["an_engine_ends_with_its_owner", "--nocapture"])
        .env("OWN_ENGINES", "yes")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut said = |word: &str| {
        lines.find_map(|line| line.split_once(word).map(|(_, rest)| rest.trim().to_owned()))
    };
    let Some(urls) = said("engines at") else {
        assert!(owner.wait().unwrap().success(), "the engines did not start");
        return;
    };
    let addresses: Vec<String> = urls.split(' ').map(address).collect();
    assert!(addresses.iter().all(|address| TcpStream::connect(address).is_ok()));

    owner.kill().unwrap();
    owner.wait().unwrap();
    for address in &addresses {
        assert!(soon(|| TcpStream::connect(address).is_err()), "{address} still answers");
    }
    let left = || {
        let mut folders = env::temp_dir().read_dir().unwrap().flatten();
        let mark = format!("-{}-", owner.id());
        folders.any(|folder| folder.file_name().to_string_lossy().contains(&mark))
    };
    assert!(soon(|| !left()), "a folder is left in {}", env::temp_dir().display());
}

/// Starts engines, says where they are, and waits to be killed.
fn own_engines() {
    let (Some(redis), Some(postgres)) = (here(Redis::start()), here(Postgres::start())) else {
        return;
    };
    println!("\nengines at {} {}", redis.url(), postgres.url());
    thread::sleep(Duration::from_mins(1));
}
