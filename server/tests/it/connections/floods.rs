//! HTTP/2 frames that belong to no request.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::TIMEOUT;
use crate::support::ServerProcess;

/// More than the server reads without a request, and the buffers of both sockets.
const MAX_ACCEPTED_BYTES: usize = 32 * 1024 * 1024;

/// An HTTP/2 frame: its type, flags, stream and payload.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Sends a frame over and over until the server closes the connection.
async fn flood(address: &str, name: &str, opening: &[u8], repeated: &[u8]) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let hello = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, b""), opening];
    stream.write_all(&hello.concat()).await.unwrap();
    // The server answers some of the frames.
    let (mut reader, mut writer) = stream.split();
    // Reading until the server has answered: its settings, and a request on stream 1.
    let mut head = [0; 9];
    timeout(TIMEOUT, reader.read_exact(&mut head)).await.unwrap().unwrap();
    let frames = repeated.repeat(10_000);
    let send = async {
        for _ in 0..MAX_ACCEPTED_BYTES / frames.len() {
            if writer.write_all(&frames).await.is_err() {
                return;
            }
        }
        panic!("{name}: the connection is still open");
    };
    let receive = async { drop(copy(&mut reader, &mut sink()).await) };
    let flood = async {
        tokio::select! {
            () = send => {}
            () = receive => {}
        }
    };
    timeout(TIMEOUT, flood).await.unwrap_or_else(|_| panic!("{name}: the server does not read"));
}

#[tokio::test]
async fn a_flood_of_frames_closes_the_connection_and_writes_no_line() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let address = server.url.strip_prefix("http://").unwrap();
    let log = server.log();
    // GET and POST with http from HPACK's static table, and a path as a literal.
    let get = frame(1, 5, 1, b"\x82\x86\x04\x08/healthz");
    let post = frame(1, 4, 1, b"\x83\x86\x04\x0c/oauth/token");
    let unfinished_head = frame(1, 1, 1, b"\x82");
    for (name, opening, repeated) in [
        ("PING", &get, frame(6, 0, 0, &[7; 8])),
        ("PING acknowledgement", &get, frame(6, 1, 0, &[7; 8])),
        ("SETTINGS", &get, frame(4, 0, 0, b"")),
        ("SETTINGS acknowledgement", &get, frame(4, 1, 0, b"")),
        ("WINDOW_UPDATE", &get, frame(8, 0, 0, &[0, 0, 0, 1])),
        ("WINDOW_UPDATE of a closed stream", &get, frame(8, 0, 1, &[0, 0, 0, 1])),
        ("PRIORITY", &get, frame(2, 0, 1, &[0, 0, 0, 3, 1])),
        ("RST_STREAM of a closed stream", &get, frame(3, 0, 1, &[0, 0, 0, 8])),
        ("GOAWAY", &get, frame(7, 0, 0, &[0; 8])),
        ("an unknown type", &get, frame(200, 0, 0, b"")),
        ("empty DATA", &post, frame(0, 0, 1, b"")),
        ("padding in DATA", &post, frame(0, 8, 1, &[100; 101])),
        ("DATA of a closed stream", &get, frame(0, 0, 1, &[1; 100])),
        ("empty CONTINUATION", &unfinished_head, frame(9, 0, 1, b"")),
    ] {
        flood(address, name, opening, &repeated).await;
    }
    assert_eq!(server.log(), log);
    let client = reqwest::Client::builder().timeout(Duration::from_mins(1)).build().unwrap();
    let response = client.get(format!("{}/healthz", server.url)).send().await.unwrap();
    assert_eq!(response.status(), 200);
}
