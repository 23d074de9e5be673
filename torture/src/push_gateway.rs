//! A push gateway that records the messages it receives.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;
use crate::client::{Client, Request};

/// The time until a response, so that messages are in flight when the server is killed.
const RESPONSE_DELAY: Duration = Duration::from_millis(3);

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{\"rejected\":[]}";

/// A message for one device: the event id and the push key.
pub(crate) type MessageKey = (String, String);

/// A push gateway on 127.0.0.1, which accepts every message.
pub(crate) struct PushGateway {
    pub(crate) address: SocketAddr,
    records: Arc<Mutex<Records>>,
}

/// The messages that arrived, and the number of open connections.
#[derive(Default)]
struct Records {
    /// Of each message, the server processes that sent it. The nodes that run at the same time have
    /// the same number.
    senders: HashMap<MessageKey, Vec<u32>>,
    /// Number of the server processes that run now.
    process: u32,
    open_connections: usize,
}

impl PushGateway {
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let records = Arc::<Mutex<Records>>::default();
        let shared_records = Arc::clone(&records);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let records = Arc::clone(&shared_records);
                lock(&records).open_connections += 1;
                thread::spawn(move || {
                    // A connection ends with an error if the server is killed.
                    drop(serve(&stream, &records));
                    lock(&records).open_connections -= 1;
                });
            }
        });
        Ok(Self { address, records })
    }

    /// Waits for the last messages of the killed server processes, so that they are not counted
    /// as messages of the next ones.
    pub(crate) fn wait_for_killed_process(&self) -> Result<()> {
        // Connections are accepted in order, so the killed processes have no others after this one.
        Client::new(self.address).send_successfully(&Request::get("/"))?;
        let start = Instant::now();
        while lock(&self.records).open_connections > 0 {
            if start.elapsed() > Duration::from_mins(1) {
                return Err("connections of a killed server are open after a minute".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        lock(&self.records).process += 1;
        Ok(())
    }

    /// Returns the messages that arrived, each with the numbers of the server processes that sent
    /// it.
    pub(crate) fn take_messages(&self) -> HashMap<MessageKey, Vec<u32>> {
        std::mem::take(&mut lock(&self.records).senders)
    }
}

fn lock(records: &Mutex<Records>) -> MutexGuard<'_, Records> {
    records.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Responds to the requests of a connection until it is closed.
fn serve(mut stream: &TcpStream, records: &Mutex<Records>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(body) = read_request(&mut reader)? {
        if let Some(key) = parse_message(&body) {
            let mut records = lock(records);
            let process = records.process;
            records.senders.entry(key).or_default().push(process);
        }
        thread::sleep(RESPONSE_DELAY);
        stream.write_all(RESPONSE)?;
    }
    Ok(())
}

/// Reads a request and returns its body; `None` at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if line.is_empty() {
            let mut body = vec![];
            reader.take(length).read_to_end(&mut body)?;
            return Ok((body.len() as u64 == length).then_some(body));
        }
    }
}

fn parse_message(body: &[u8]) -> Option<MessageKey> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let notification = &body["notification"];
    let push_key = notification["devices"][0]["pushkey"].as_str()?;
    Some((notification["event_id"].as_str()?.to_owned(), push_key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_with_its_body() {
        let body = br#"{"notification":{"event_id":"$1","devices":[{"pushkey":"k"}]}}"#;
        let head = format!("POST /x HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
        let requests = [head.as_bytes(), body, b"GET / HTTP/1.1\r\n\r\n"].concat();
        let mut reader = &requests[..];
        let read_body = read_request(&mut reader).unwrap().unwrap();
        assert_eq!(parse_message(&read_body), Some(("$1".to_owned(), "k".to_owned())));
        assert_eq!(read_request(&mut reader).unwrap().as_deref().and_then(parse_message), None);
        assert_eq!(read_request(&mut reader).unwrap(), None);
    }
}
