//! As much of an HTTP client as it takes to ask once.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::request::Request;

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Sends the request and reads the answer to its end.
pub(super) fn send(address: SocketAddr, request: &Request) -> io::Result<Response> {
    let Request { method, path, headers, body, .. } = request.example();
    let mut head = vec![
        format!("{method} {path} HTTP/1.1"),
        format!("host: {address}"),
        "connection: close".to_owned(),
        format!("content-length: {}", body.len()),
    ];
    head.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));

    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(stream, "{}\r\n\r\n{body}", head.join("\r\n"))?;
    let mut answer = vec![];
    stream.read_to_end(&mut answer)?;
    parse(&answer).ok_or_else(|| {
        let answer = String::from_utf8_lossy(&answer);
        io::Error::other(format!("no answer that we understand to {method} {path}: {answer}"))
    })
}

fn parse(answer: &[u8]) -> Option<Response> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = str::from_utf8(&answer[..end]).ok()?;
    let (first, rest) = head.split_once("\r\n").unwrap_or((head, ""));
    let status = first.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let headers: Vec<(String, String)> = rest
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    // Its body is in pieces, and we cannot put them together.
    let whole = !headers.iter().any(|(name, _)| name == "transfer-encoding");
    whole.then(|| Response { status, headers, body: answer[end + 4..].to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_status_headers_and_body() {
        let answer =
            b"HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nx: a:b\r\n\r\nding\r\n\r\n";
        let headers =
            vec![("content-type".into(), "text/plain".into()), ("x".into(), "a:b".into())];
        let body = b"ding\r\n\r\n".to_vec();
        assert_eq!(parse(answer), Some(Response { status: 201, headers, body }));
        assert_eq!(parse(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap().status, 204);
    }

    #[test]
    fn what_is_no_answer_or_in_pieces_is_refused() {
        for answer in [
            &b""[..],
            b"HTTP/1.1 200 OK",
            b"HTTP/1.1 2\r\n\r\n",
            b"SSH-2.0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        ] {
            assert_eq!(parse(answer), None, "{}", String::from_utf8_lossy(answer));
        }
    }
}
