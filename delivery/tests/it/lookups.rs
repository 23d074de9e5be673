//! Lookups that fail or hang, and the limit of concurrent lookups.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::Endpoint;
use belfry_delivery::outbound::OutboundClient;
use bytes::Bytes;
use futures_util::FutureExt;
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

/// A lookup cannot be cancelled. If each attempt started one, a name server that does not respond
/// would occupy more and more threads.
#[tokio::test]
async fn unanswered_lookups_are_bounded_and_do_not_delay_proven_origins() {
    let server = TestPushService::start(|_| Response::default()).await;
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let counts: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let mut options = server.options();
    options.connect_timeout = Duration::from_secs(2);
    let resolver_counts = Arc::clone(&counts);
    options.resolve = Arc::new(move |name| {
        *resolver_counts.lock().unwrap().entry(name.to_owned()).or_default() += 1;
        if name.starts_with("slow") {
            // Returns an error when the test has dropped `release`.
            let _ = released.lock().unwrap().recv();
        }
        Ok(vec![LOOPBACK])
    });
    let client = Arc::new(OutboundClient::new(options));
    let start_post = |name: String, is_proven| {
        let url = format!("https://{name}.example:{}/", server.port);
        let endpoint = Endpoint::parse(&url, &loopback_policy()).unwrap();
        let client = Arc::clone(&client);
        tokio::spawn(async move {
            client.post(&endpoint, HeaderMap::new(), Bytes::new(), is_proven).await.unwrap_err()
        })
    };
    // Requests for a name share its lookup, even after a request has ended.
    let slow: Vec<_> = (0..20).map(|_| start_post("slow".to_owned(), false)).collect();
    for post in slow {
        assert_eq!(post.await.unwrap(), AttemptError::Dns);
    }
    let slow = (0..130).map(|number| start_post(format!("slow{number}"), false));
    let slow: Vec<_> = std::iter::once(start_post("slow".to_owned(), false)).chain(slow).collect();
    let count = || counts.lock().unwrap().values().sum::<usize>();
    while count() < 128 {
        tokio::task::yield_now().await;
    }
    // The certificate is for a different name, so its error shows that the lookup succeeded.
    for _ in 0..2 {
        let proven = start_post("proven".to_owned(), true).await.unwrap();
        assert_eq!(proven, AttemptError::Certificate);
    }
    assert_eq!(counts.lock().unwrap()["proven.example"], 1, "the answer is used again");
    // A message whose lookup has not started does not look like a failure of its name.
    let mut errors = HashMap::new();
    for post in slow {
        *errors.entry(post.await.unwrap().to_code()).or_insert(0) += 1;
    }
    let expected = [("dns", 1 + 127), ("busy", 3)].map(|(code, n)| (code.to_owned(), n));
    assert_eq!(errors, HashMap::from(expected));
    assert_eq!(count(), 128 + 1);
    assert_eq!(counts.lock().unwrap()["slow.example"], 1);
    // These return only when their lookup has ended, or if none runs.
    let slow_ended = client.lookup_ended("slow.example");
    assert!(slow_ended.now_or_never().is_none());
    client.lookup_ended("proven.example").await;
    client.lookup_ended("unknown.example").await;
    drop(release);
    client.lookup_ended("slow.example").await;
    let post = start_post("slow".to_owned(), false).await.unwrap();
    assert_eq!(post, AttemptError::Certificate);
    assert_eq!(counts.lock().unwrap()["slow.example"], 1);
}
