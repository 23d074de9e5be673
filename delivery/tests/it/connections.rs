//! The number of connections to an origin and to an address.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::Endpoint;
use belfry_delivery::outbound::{MAX_HTTP1_IN_FLIGHT, OutboundClient};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::server::{TestPushService, accept, loopback_policy};

type PostResult = Result<Response<Bytes>, AttemptError>;

/// A server that responds to a request when the test permits it.
struct HeldServer {
    /// Gets a permit for each request.
    requests: &'static Semaphore,
    /// The number of permitted responses.
    responses: &'static Semaphore,
}

impl HeldServer {
    fn new() -> Self {
        let [requests, responses] =
            [(); 2].map(|()| &*Box::leak(Box::new(Semaphore::const_new(0))));
        Self { requests, responses }
    }

    async fn start(&self, protocol: &str) -> TestPushService {
        let Self { requests, responses } = *self;
        let serve = move |stream| async move {
            let service = service_fn(move |_: Request<Incoming>| async move {
                requests.add_permits(1);
                responses.acquire().await.unwrap().forget();
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            });
            let server = auto::Builder::new(TokioExecutor::new());
            drop(server.serve_connection(TokioIo::new(stream), service).await);
        };
        TestPushService::start_with(&[protocol], |_| {}, serve).await
    }

    /// Waits until this many requests have arrived, and responds to them.
    async fn respond(&self, count: u32) {
        let requests = self.requests.acquire_many(count);
        let requests = tokio::time::timeout(Duration::from_mins(1), requests).await;
        requests.expect("too few requests have arrived").unwrap().forget();
        self.responses.add_permits(count as usize);
    }
}

/// Starts a number of messages to these URLs.
fn start_posts<'a>(
    client: &Arc<OutboundClient>,
    urls: impl IntoIterator<Item = &'a String>,
) -> JoinSet<PostResult> {
    let start_post = |url: &String| {
        let endpoint = Endpoint::parse(url, &loopback_policy()).unwrap();
        let client = Arc::clone(client);
        async move { client.post(&endpoint, HeaderMap::new(), Bytes::new(), false).await }
    };
    urls.into_iter().map(start_post).collect()
}

/// Returns the number of messages with a response, and of those that were not sent.
async fn count_results(
    posts: JoinSet<PostResult>,
    status: u16,
    version: Version,
) -> (usize, usize) {
    let (mut responses, mut busy) = (0, 0);
    for result in posts.join_all().await {
        match result {
            Ok(response) => {
                assert_eq!((response.status().as_u16(), response.version()), (status, version));
                responses += 1;
            }
            Err(error) => {
                assert_eq!(error, AttemptError::Busy);
                busy += 1;
            }
        }
    }
    (responses, busy)
}

#[tokio::test]
async fn a_hundred_concurrent_messages_share_an_http2_connection() {
    let held = HeldServer::new();
    let server = held.start("h2").await;
    let client = Arc::new(OutboundClient::new(server.options()));
    let url = server.endpoint().url().to_string();
    // All connections are used again, and no message opens one that another message needs.
    for (messages, connections) in [(1, 1), (100, 1), (1, 1), (101, 2), (1024, 11), (1, 11)] {
        let posts = start_posts(&client, std::iter::repeat_n(&url, messages));
        held.respond(u32::try_from(messages).unwrap()).await;
        assert_eq!(count_results(posts, 200, Version::HTTP_2).await, (messages, 0));
        assert_eq!(server.connections(), connections, "{messages} messages");
    }
    let posts = start_posts(&client, std::iter::repeat_n(&url, 1101));
    held.respond(1100).await;
    assert_eq!(count_results(posts, 200, Version::HTTP_2).await, (1100, 1));
}

#[tokio::test]
async fn http1_has_at_most_128_connections_which_are_reused() {
    let held = HeldServer::new();
    let server = held.start("http/1.1").await;
    let client = Arc::new(OutboundClient::new(server.options()));
    let url = server.endpoint().url().to_string();
    for (messages, sent, connections) in
        [(1, 1, 1), (1, 1, 1), (130, 128, 128), (60, 60, 128), (128, 128, 128)]
    {
        let posts = start_posts(&client, std::iter::repeat_n(&url, messages));
        held.respond(sent).await;
        let sent = sent as usize;
        assert_eq!(count_results(posts, 200, Version::HTTP_11).await, (sent, messages - sent));
        assert_eq!(server.connections(), connections, "{messages} messages");
        // Gives the connections time to become available again.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(MAX_HTTP1_IN_FLIGHT, 128);
}

/// The names and ports are chosen by users, who must not direct many connections to one address.
#[tokio::test]
async fn an_address_has_8_connections_until_it_accepts_a_message() {
    static STATUS: AtomicU16 = AtomicU16::new(500);
    let held = HeldServer::new();
    let mut urls = Vec::new();
    for _ in 0..5 {
        let HeldServer { requests, responses } = held;
        let (port, _) = accept(move |mut stream| async move {
            while stream.read(&mut [0; 4096]).await.is_ok_and(|length| length > 0) {
                requests.add_permits(1);
                responses.acquire().await.unwrap().forget();
                let status = STATUS.load(Ordering::SeqCst);
                let response = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
                drop(stream.write_all(response.as_bytes()).await);
            }
        })
        .await;
        urls.extend((0..4).map(|name| format!("http://name{name}.example:{port}/")));
    }
    let server = TestPushService::start(|_| Response::default()).await;
    let mut options = server.options();
    options.connect_timeout = Duration::from_secs(2);
    let client = Arc::new(OutboundClient::new(options));
    let posts = start_posts(&client, &urls);
    held.requests.acquire_many(8).await.unwrap().forget();
    // Later than all others, which wait for a connection.
    tokio::time::sleep(Duration::from_secs(3)).await;
    held.responses.add_permits(8);
    assert_eq!(count_results(posts, 500, Version::HTTP_11).await, (8, 12));
    assert_eq!(held.requests.available_permits(), 0);
    // Half of the connections were closed, so that the other names can have one. A single accepted
    // message to any of them raises the limit for all.
    STATUS.store(204, Ordering::SeqCst);
    let posts = start_posts(&client, &[urls[0].replace("name0", "other")]);
    held.respond(1).await;
    assert_eq!(count_results(posts, 204, Version::HTTP_11).await, (1, 0));
    let posts = start_posts(&client, &urls);
    held.respond(20).await;
    assert_eq!(count_results(posts, 204, Version::HTTP_11).await, (20, 0));
}
