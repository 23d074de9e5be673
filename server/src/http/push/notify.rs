//! `POST …/app/v1/notify`: evaluates an event for many members of a room, and delivers it to their
//! pushers.

use std::sync::Arc;

use axum::extract::State;
use belfry_core::json::to_bytes;
use belfry_core::push::message::Message;
use belfry_core::push::notify_request::NotifyRequest;
use belfry_delivery::acceptance::Delivery;
use belfry_delivery::acceptance::outgoing::OutgoingMessage;

use super::member_evaluation::{MAX_BODY_BYTES, MemberEvaluation};
use crate::evaluation::Evaluator;
use crate::http::error::MatrixError;
use crate::http::extract::body::UnreadBody;
use crate::http::extract::requester::RequestingService;
use crate::http::json::JsonBytes;

/// Evaluates an event for many members, and stores a message for each pusher to be notified. When
/// the response is sent, the messages are durable. A repeated request with the same event id
/// delivers nothing twice.
pub(crate) async fn notify(
    State(evaluator): State<Arc<Evaluator>>,
    State(delivery): State<Option<Arc<Delivery>>>,
    RequestingService(service): RequestingService,
    body: UnreadBody,
) -> Result<JsonBytes, MatrixError> {
    let body = body.read(MAX_BODY_BYTES).await?;
    let delivery = delivery.ok_or(MatrixError::DeliveryOff)?;
    let slot = evaluator.pool.enter()?;
    let request = slot.run(move || NotifyRequest::parse(&body)).await??;
    let NotifyRequest { evaluation, counts, message, topic, ttl } = request;
    let now = evaluator.clock.now();
    let evaluation = MemberEvaluation::new(evaluation, Some(counts), now);
    let mut evaluation = evaluation.run(&evaluator, &slot, &service).await?;
    let targets = evaluation.take_targets();
    let mut response = slot
        .run(move || {
            let mut response = evaluation.to_json();
            response.pop();
            response.extend(br#","unknown":"#);
            response.extend(to_bytes(&evaluation.unknown_ids()));
            response
        })
        .await?;
    // The slot is free for others while the database is slow.
    drop(slot);
    let content = Message::Event(message);
    let topic = topic.as_deref();
    let message = OutgoingMessage { content, source: &service.id, ttl, topic };
    let accepted = delivery.enqueue(&message, targets, now).await?;
    response.extend(format!(r#","accepted":{accepted}}}"#).bytes());
    Ok(JsonBytes(response.into()))
}
