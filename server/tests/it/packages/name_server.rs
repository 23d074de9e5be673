//! A DNS server for one name.

use std::net::{Ipv4Addr, UdpSocket};
use std::thread;

/// A DNS server that runs until the process exits.
pub(super) struct NameServer {
    /// The address that it listens on, with port 53.
    pub(super) address: Ipv4Addr,
}

impl NameServer {
    /// Starts a server for a name whose address is 127.0.0.1.
    pub(super) fn start(name: &str) -> Self {
        // Resolvers use only port 53, so every test process needs an address of its own.
        let [_, _, high, low] = std::process::id().to_be_bytes();
        let address = Ipv4Addr::new(127, 53, high, low);
        let socket = UdpSocket::bind((address, 53)).unwrap();
        let labels = name.split('.').map(|label| {
            let length = u8::try_from(label.len()).unwrap();
            [&[length], label.as_bytes()].concat()
        });
        let encoded_name = [labels.collect::<Vec<_>>().concat(), vec![0]].concat();
        thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((length, client)) = socket.recv_from(&mut query) {
                let response = dns_response(&query[..length], &encoded_name);
                socket.send_to(&response, client).unwrap();
            }
        });
        Self { address }
    }
}

/// Returns the response to a query: the address for the known name, no record for other types, and
/// an error for other names.
fn dns_response(query: &[u8], name: &[u8]) -> Vec<u8> {
    const HEADER_LENGTH: usize = 12;
    let is_known_name = query[HEADER_LENGTH..].to_ascii_lowercase().starts_with(name);
    let is_address_query =
        is_known_name && query[HEADER_LENGTH + name.len()..].starts_with(&[0, 1]);
    let question_end =
        HEADER_LENGTH + query[HEADER_LENGTH..].iter().position(|&byte| byte == 0).unwrap() + 5;
    let error_code = if is_known_name { 0 } else { 3 };
    let mut response = query[..2].to_vec();
    response.extend([0x81, 0x80 | error_code, 0, 1, 0, u8::from(is_address_query), 0, 0, 0, 0]);
    response.extend(&query[HEADER_LENGTH..question_end]);
    if is_address_query {
        // The name of the question, type A, class IN, 60 seconds, four bytes.
        response.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    }
    response
}
