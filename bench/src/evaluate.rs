//! An evaluation for many members, in this process: how much of its time is not spent on reading and
//! writing JSON.

use std::error::Error;
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use belfry::app::AppState;
use belfry::clock::{Clock, SystemClock};
use belfry::config::{Config, LimitMode, Namespace, Namespaces, Registration, RegistrationSource};
use belfry::http::{HttpService, Peer};
use belfry::store::{Database, Store};
use belfry_core::rules::evaluation_request::EvaluateRequest;
use belfry_core::secret::Secret;
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::fill;
use crate::row;
use crate::world::message;

const MEMBERS: u32 = 10_000;
const LENGTH: Duration = Duration::from_secs(3);

/// Prints the figures.
pub(crate) async fn measure() -> Result<(), Box<dyn Error>> {
    fill::fill(&fill::Arguments { accounts: MEMBERS.into(), rules: true }).await?;
    let site = site().await?;
    let body = Bytes::from(question(site.state().server_name()).to_string());
    let answer = ask(&site, &body).await?;
    let (began, mut calls) = (Instant::now(), 0_u32);
    while began.elapsed() < LENGTH {
        black_box(ask(&site, &body).await?);
        calls += 1;
    }
    let whole = began.elapsed() / calls;
    let read = time(|| EvaluateRequest::read(&body).is_ok());
    let answered: Value = serde_json::from_slice(&answer)?;
    let written = time(|| answered.to_string());
    let rest = whole.saturating_sub(read + written);
    let name = format!("evaluate, {MEMBERS} members with 10 rules each");
    let ms = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1e3);
    row(&name, ms(whole), "ms");
    row(&name, ms(read), "ms to read the question");
    row(&name, ms(written), "ms to write the answer");
    let share = rest.as_secs_f64() / whole.as_secs_f64() * 100.0;
    row(&name, format_args!("{share:.0}"), "% of the time is not JSON");
    Ok(())
}

/// What an application service asks: whom of these does the message notify?
fn question(server_name: &str) -> Value {
    let member = |number: u32| json!({ "user_id": format!("@bench{number}:{server_name}"), "display_name": format!("User Number{number}") });
    let members: Vec<Value> = (0..MEMBERS).map(member).collect();
    json!({ "event": message(), "room": { "member_count": MEMBERS }, "members": members })
}

async fn site() -> Result<HttpService, Box<dyn Error>> {
    let mut config = Config::default();
    config.limits.mode = LimitMode::Off;
    config.application_services = vec![RegistrationSource::Inline(service())];
    let clock = Arc::new(SystemClock);
    let database = Database::Sqlite("data/belfry.db".into());
    let store = Store::open(&database, &config.store, clock.now()).await?;
    let base_url = config.base_url(config.listen);
    let state = AppState::new(config, base_url, store, clock).await;
    Ok(HttpService::new(Arc::new(state.map_err(|error| error.to_string())?)))
}

/// Somebody who may ask for everybody.
fn service() -> Registration {
    let everybody = Namespace { regex: "@.*".to_owned(), exclusive: false };
    Registration {
        id: "bench".to_owned(),
        as_token: Secret::new("bench-service").digest(),
        sender_localpart: "bench0".to_owned(),
        namespaces: Namespaces { users: Some(vec![everybody]) },
        rate_limited: None,
    }
}

async fn ask(site: &HttpService, body: &Bytes) -> Result<Bytes, Box<dyn Error>> {
    let request = Request::post("/_matrix/app/v1/evaluate")
        .header("authorization", "Bearer bench-service")
        .body(Body::from(body.clone()))?;
    let peer = Peer((Ipv4Addr::LOCALHOST, 1).into());
    let answer = site.respond(peer, request).await;
    let status = answer.status();
    let answer = answer.into_body().collect().await?.to_bytes();
    if status.is_success() { Ok(answer) } else { Err(format!("{status}: {answer:?}").into()) }
}

/// The time of one call.
fn time<T>(mut call: impl FnMut() -> T) -> Duration {
    let (began, mut calls) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(1) {
        black_box(call());
        calls += 1;
    }
    began.elapsed() / calls
}
