//! An evaluation request for many members, handled within this process: its time, and the share
//! that is not spent on JSON.

use std::error::Error;
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use belfry::app::AppState;
use belfry::config::Config;
use belfry::http::{HttpService, Peer};
use belfry_core::rules::evaluation_request::EvaluateRequest;
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_store::{Database, Store};
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::fill;
use crate::print_row;
use crate::test_data::message_event;

const MEMBERS: u32 = 10_000;
const MEASUREMENT_DURATION: Duration = Duration::from_secs(3);

/// Adds the members' accounts, measures the request, and prints the figures.
pub(crate) async fn measure() -> Result<(), Box<dyn Error>> {
    fill::fill(&fill::Arguments { accounts: MEMBERS.into(), rules: true, database: None }).await?;
    let service = create_http_service().await?;
    let body = Bytes::from(request_body(service.state().server_name()).to_string());
    let response = send(&service, &body).await?;
    let start = Instant::now();
    let mut requests = 0_u32;
    while start.elapsed() < MEASUREMENT_DURATION {
        black_box(send(&service, &body).await?);
        requests += 1;
    }
    let total_time = start.elapsed() / requests;
    let parse_time = mean_time(|| EvaluateRequest::parse(&body).is_ok());
    let response: Value = serde_json::from_slice(&response)?;
    let serialize_time = mean_time(|| response.to_string());
    let other_time = total_time.saturating_sub(parse_time + serialize_time);
    let name = format!("evaluate, {MEMBERS} members with 10 rules each");
    let format_ms = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1e3);
    print_row(&name, format_ms(total_time), "ms");
    print_row(&name, format_ms(parse_time), "ms to parse the request");
    print_row(&name, format_ms(serialize_time), "ms to serialize the response");
    let share = other_time.as_secs_f64() / total_time.as_secs_f64() * 100.0;
    print_row(&name, format_args!("{share:.0}"), "% of the time is not JSON");
    Ok(())
}

/// Returns the body of an evaluation request for all members.
fn request_body(server_name: &str) -> Value {
    let member = |number: u32| json!({ "user_id": format!("@bench{number}:{server_name}"), "display_name": format!("User Number{number}") });
    let members: Vec<Value> = (0..MEMBERS).map(member).collect();
    json!({ "event": message_event(), "room": { "member_count": MEMBERS }, "members": members })
}

async fn create_http_service() -> Result<HttpService, Box<dyn Error>> {
    // An application service that may act for all users.
    let application_service = json!({
        "id": "bench", "as_token": "bench-service", "sender_localpart": "bench0",
        "namespaces": {"users": [{"regex": "@.*"}]},
    });
    let settings =
        json!({"limits": {"mode": "off"}, "application_services": [application_service]});
    let config: Config = serde_json::from_value(settings)?;
    let clock = Arc::new(SystemClock);
    let database = Database::Sqlite("data/belfry.db".into());
    let store = Store::open(&database, &config.store, clock.now()).await?;
    let base_url = config.base_url();
    let state = AppState::new(config, base_url, store, clock).await;
    Ok(HttpService::new(Arc::new(state.map_err(|error| error.to_string())?)))
}

async fn send(service: &HttpService, body: &Bytes) -> Result<Bytes, Box<dyn Error>> {
    let request = Request::post("/_matrix/app/v1/evaluate")
        .header("authorization", "Bearer bench-service")
        .body(Body::from(body.clone()))?;
    let peer = Peer((Ipv4Addr::LOCALHOST, 1).into());
    let response = service.respond(peer, request).await;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    if status.is_success() { Ok(body) } else { Err(format!("{status}: {body:?}").into()) }
}

/// Returns the mean time of one run.
fn mean_time<T>(mut run: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    let mut runs = 0;
    while start.elapsed() < Duration::from_secs(1) {
        black_box(run());
        runs += 1;
    }
    start.elapsed() / runs
}
