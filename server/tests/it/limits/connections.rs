//! Requests over real connections: each is counted once, however it arrives.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::ServerProcess;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_streams_of_one_connection_are_counted_once_each() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let mut requests = JoinSet::new();
    for _ in 0..1000 {
        let request = client.get(format!("{}/x", server.url));
        requests.spawn(async move { request.send().await.unwrap().status() });
    }
    let statuses = requests.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 404).count(), 300);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 700);
}

#[tokio::test]
async fn pipelined_and_http_1_0_requests_are_counted_once_each() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
    let mut requests = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n".repeat(303);
    requests += "GET /x HTTP/1.0\r\n\r\n";
    let (mut reader, mut writer) = stream.split();
    let mut responses = String::new();
    let (write_result, read_result) =
        tokio::join!(writer.write_all(requests.as_bytes()), reader.read_to_string(&mut responses));
    write_result.unwrap();
    read_result.unwrap();
    assert_eq!(responses.matches("HTTP/1.1 404").count(), 300);
    assert_eq!(responses.matches(" 429 ").count(), 4);
}
