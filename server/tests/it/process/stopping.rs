//! The end of the process: what is in flight is finished, and nothing else holds it up.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::support::Process;
use crate::support::process::{add_account, run_well};

/// A server that would wait for longer than any test.
fn patient(folder: &Path) -> Process {
    let settings = "[http]\nshutdown_timeout = '1h'\nheader_timeout = '1h'\nidle_timeout = '1h'\n\
                    body_timeout = '1h'\n";
    std::fs::write(folder.join("belfry.toml"), settings).unwrap();
    Process::start(folder, &[])
}

/// A connection on which this has been said, and has probably been read.
fn having_said(server: &Process, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream.write_all(bytes).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    stream
}

#[test]
fn half_a_head_does_not_delay_the_end() {
    for head in ["GET /healthz HTTP/1.1\r\nHost: a", "G", "PRI * HT"] {
        let folder = tempfile::tempdir().unwrap();
        let mut server = patient(folder.path());
        let mut first = having_said(&server, head.as_bytes());
        let mut second = having_said(&server, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(second.read(&mut [0; 1024]).unwrap() > 0);
        second.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(100));

        server.signal("TERM");

        assert_eq!(server.wait(), Some(0), "{head}");
        assert!(!server.logged().contains("shutdown timeout"), "{}", server.logged());
        for stream in [&mut first, &mut second] {
            // Closed or reset, but not answered.
            assert_eq!(stream.read(&mut [0; 1024]).unwrap_or(0), 0, "{head}");
        }
    }
}

/// It has said which protocol it speaks, and never anything more.
#[test]
fn a_mute_peer_of_http_2_does_not_delay_the_end_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = patient(folder.path());
    let _mute = having_said(&server, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(!server.logged().contains("shutdown timeout"), "{}", server.logged());
}

#[test]
fn a_call_in_flight_is_finished_while_half_a_head_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = patient(folder.path());
    add_account(folder.path(), "alice");
    let token = run_well(folder.path(), &["token", "issue", "alice", "--scopes", "push"]);
    let head = format!(
        "PUT /_matrix/client/v3/pushrules/global/room/a HTTP/1.1\r\nHost: a\r\n\
         Authorization: Bearer {}\r\nContent-Length: 14\r\nExpect: 100-continue\r\n\r\n",
        token.trim_end()
    );
    let mut call = having_said(&server, head.as_bytes());
    // Then it is in flight, however slow the machine is.
    let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut told = [0; 25];
    call.read_exact(&mut told).unwrap();
    assert_eq!(&told, go_on);
    let mut half = having_said(&server, b"GET /healthz HTTP/1.1\r\n");

    server.signal("TERM");

    assert_eq!(half.read(&mut [0; 1024]).unwrap_or(0), 0);
    call.write_all(br#"{"actions":[]}"#).unwrap();
    let mut answer = String::new();
    call.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("{}"), "{answer}");
    assert_eq!(server.wait(), Some(0));
    drop(call);

    let server = Process::start(folder.path(), &[]);
    let url = format!("{}/_matrix/client/v3/pushrules/global/room/a", server.url);
    let mut again = having_said(
        &server,
        format!(
            "GET {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
            url.strip_prefix(&server.url).unwrap(),
            token.trim_end()
        )
        .as_bytes(),
    );
    let mut answer = String::new();
    again.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "what was answered is kept: {answer}");
}
