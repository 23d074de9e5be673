//! `POST …/app/v1/read`: withdraws the messages that a user has read elsewhere, and updates the
//! badges of their apps.

use std::sync::Arc;

use axum::extract::State;
use belfry_core::push::message::DeliveryDetails;
use belfry_core::push::notify_request::DEFAULT_TTL;
use belfry_core::push::read_request::ReadRequest;
use belfry_core::push::receiver::Protocol;
use belfry_delivery::acceptance::Delivery;
use belfry_delivery::acceptance::outgoing::{DeliveryTarget, OutgoingMessage};
use serde_json::{Value, json};

use super::notifications::find_account;
use crate::evaluation::Evaluator;
use crate::http::error::MatrixError;
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::RequestingService;
use crate::http::json::Json;

/// Removes the messages that wait for the user's receivers. If the request has counts, accepts a
/// message with them for each of the user's pushers at push gateways. A repeated request accepts no
/// other message.
pub(crate) async fn read_elsewhere(
    State(evaluator): State<Arc<Evaluator>>,
    State(delivery): State<Option<Arc<Delivery>>>,
    RequestingService(service): RequestingService,
    FullBody(body): FullBody,
) -> Result<Json<Value>, MatrixError> {
    let delivery = delivery.ok_or(MatrixError::DeliveryOff)?;
    let request = ReadRequest::parse(&body)?;
    let (account_id, _) = find_account(&evaluator, &service, &request.account).await?;
    let now = evaluator.clock.now();
    let mut accepted = 0;
    // First, because nothing is removed if the queue is full.
    if let Some(content) = request.counts_message() {
        let receivers = evaluator.store.receivers_of_accounts(&[account_id], now).await?;
        let counts = request.counts.unwrap_or_default();
        let targets = receivers
            .iter()
            .filter(|receiver| receiver.protocol() == Protocol::Gateway)
            .filter(|receiver| receiver.document.is_enabled())
            .map(|receiver| DeliveryTarget {
                details: DeliveryDetails { counts, ..DeliveryDetails::default() },
                ..DeliveryTarget::from(receiver)
            })
            .collect();
        let (source, topic) = (&*service.id, Some("counts"));
        let message = OutgoingMessage { content, source, ttl: DEFAULT_TTL, topic };
        accepted = delivery.enqueue(&message, targets, now).await?;
    }
    let withdrawn =
        evaluator.store.remove_read_deliveries(account_id, &request.messages, now).await?;
    Ok(Json(json!({ "withdrawn": withdrawn, "accepted": accepted })))
}
