//! Lookups that fail or hang, and the limit of concurrent lookups.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::Endpoint;
use belfry_delivery::outbound::OutboundClient;
use bytes::Bytes;
use http::{HeaderMap, Response};

use crate::server::{LOOPBACK, TestPushService, loopback_policy, post};

#[tokio::test]
async fn a_name_without_addresses_is_reported() {
    let server = TestPushService::start(|_| Response::default()).await;
    let mut options = server.options();
    options.resolve = Arc::new(|_| Ok(Vec::new()));
    assert_eq!(post(&options, &server.endpoint()).await.unwrap_err(), AttemptError::Dns);
    options.resolve = Arc::new(|_| Err(io::ErrorKind::NotFound.into()));
    assert_eq!(post(&options, &server.endpoint()).await.unwrap_err(), AttemptError::Dns);
    options.resolve = Arc::new(|_| panic!("a defect of the resolver"));
    assert_eq!(post(&options, &server.endpoint()).await.unwrap_err(), AttemptError::Dns);
}

/// A resolver whose lookups wait until they are released.
struct SlowResolver {
    counts: Mutex<HashMap<String, usize>>,
    released: Mutex<Receiver<()>>,
}

/// A lookup cannot be cancelled. If each attempt started one, a name server that does not respond
/// would occupy more and more threads.
#[tokio::test]
async fn requests_for_a_name_share_one_lookup_and_at_most_256_lookups_run() {
    let server = TestPushService::start(|_| Response::default()).await;
    let (release, released) = channel();
    let resolver = Arc::new(SlowResolver { counts: Mutex::default(), released: released.into() });
    let mut options = server.options();
    let slow = Arc::clone(&resolver);
    options.resolve = Arc::new(move |name| {
        *slow.counts.lock().unwrap().entry(name.to_owned()).or_default() += 1;
        if name.starts_with("slow") {
            // Returns an error when the test has dropped `release`.
            let _ = slow.released.lock().unwrap().recv();
        }
        Ok(vec![LOOPBACK])
    });
    let client = Arc::new(OutboundClient::new(options));
    let start_post = |name: String| {
        let url = format!("https://{name}.example:{}/", server.port);
        let endpoint = Endpoint::parse(&url, &loopback_policy()).unwrap();
        let client = Arc::clone(&client);
        tokio::spawn(
            async move { client.post(&endpoint, HeaderMap::new(), Bytes::new(), false).await },
        )
    };
    let slow: Vec<_> = (0..20).map(|_| start_post("slow".to_owned())).collect();
    // The certificate is for a different name, so its error shows that the lookup succeeded.
    let other = start_post("other".to_owned()).await.unwrap();
    assert_eq!(other.unwrap_err(), AttemptError::Certificate);
    assert_eq!(resolver.counts.lock().unwrap()["slow.example"], 1);
    // Later requests share the lookup of a request that has ended.
    slow.iter().for_each(tokio::task::JoinHandle::abort);
    start_post("slow".to_owned());
    let count = || resolver.counts.lock().unwrap().values().sum::<usize>();
    for number in 0..400 {
        start_post(format!("slow{number}"));
    }
    while count() < 257 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(count(), 257, "256 slow lookups and one that has ended");
    assert_eq!(resolver.counts.lock().unwrap()["slow.example"], 1);
    drop(release);
}
