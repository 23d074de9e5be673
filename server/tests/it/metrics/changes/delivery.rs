//! Deliveries to a push service that is unavailable, accepts a message, and then no longer knows the
//! receiver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::Observer;
use crate::delivery::DeliveringService;
use crate::support::PushService;

/// Delivers messages while the observer records metrics.
pub(super) async fn observe_deliveries(observer: &mut Observer) {
    let status = Arc::new(AtomicU16::new(503));
    let current_status = Arc::clone(&status);
    let push_service = PushService::start_with(move |_| {
        StatusCode::from_u16(current_status.load(Ordering::SeqCst)).unwrap().into_response()
    })
    .await;
    let fixture = DeliveringService::start().await;
    fixture.subscribe("alice", &push_service.url).await;
    let scrape = async || fixture.service.metrics().await;
    let has_attempt = |scrape: &super::Scrape, outcome| {
        scrape.value("belfry_delivery_attempts_total", &[("outcome", outcome)]) == Some(1.0)
    };
    let mut watch = observer.watch();
    watch.observe(&scrape().await);
    fixture.mention("alice", 1).await;
    watch.observe_until("a failure", scrape, |scrape| has_attempt(scrape, "retried")).await;
    let delivery = fixture.service.state.delivery.as_ref().unwrap();
    delivery.count_backlog().await.unwrap();
    watch.observe(&scrape().await);
    status.store(201, Ordering::SeqCst);
    fixture.service.clock.advance(60);
    watch.observe_until("a delivery", scrape, |scrape| has_attempt(scrape, "delivered")).await;
    status.store(410, Ordering::SeqCst);
    fixture.mention("alice", 2).await;
    let is_removed = |scrape: &super::Scrape| {
        scrape.value("belfry_delivery_removed_receivers_total", &[]) == Some(1.0)
    };
    watch.observe_until("a removed receiver", scrape, is_removed).await;
    delivery.count_backlog().await.unwrap();
    watch.observe(&scrape().await);
}
