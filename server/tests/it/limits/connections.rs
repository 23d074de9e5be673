//! Calls over real connections: each is counted once, however it arrives.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::Process;

/// [125]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_streams_of_one_connection_are_counted_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(folder.path(), &[]);
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..1000 {
        let request = client.get(format!("{}/x", server.url));
        calls.spawn(async move { request.send().await.unwrap().status() });
    }
    let statuses = calls.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 404).count(), 300);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 700);
}

/// [125]
#[tokio::test]
async fn pipelined_calls_and_those_of_http_1_0_are_counted_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(folder.path(), &[]);
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
    let mut calls = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n".repeat(303);
    calls += "GET /x HTTP/1.0\r\n\r\n";
    let (mut reading, mut writing) = stream.split();
    let mut answers = String::new();
    let (written, read) =
        tokio::join!(writing.write_all(calls.as_bytes()), reading.read_to_string(&mut answers));
    written.unwrap();
    read.unwrap();
    assert_eq!(answers.matches("HTTP/1.1 404").count(), 300);
    assert_eq!(answers.matches(" 429 ").count(), 4);
}
