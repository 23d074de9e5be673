//! `POST …/app/v1/notifications`: delivers a notification to the subscriptions of an account.

use std::sync::Arc;

use axum::extract::State;
use belfry_core::matrix;
use belfry_core::push::message::Message;
use belfry_core::push::notify_request::{AccountName, NotificationRequest};
use belfry_core::push::receiver::{ReceiverDocument, Subscription};
use belfry_core::rules::evaluation_request::EvaluateRequest;
use belfry_delivery::acceptance::Delivery;
use belfry_delivery::acceptance::outgoing::{DeliveryTarget, OutgoingMessage};
use belfry_store::Receiver;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::member_evaluation::MemberEvaluation;
use crate::auth::application_services::ApplicationService;
use crate::evaluation::Evaluator;
use crate::http::error::MatrixError;
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::RequestingService;
use crate::http::json::Json;

/// Accepts a message for each subscription of the account whose settings admit the notification,
/// unless the account has silenced everything. When the response is sent, the messages are durable.
/// A repeated request with the same id delivers nothing twice.
pub(crate) async fn notify_account(
    State(evaluator): State<Arc<Evaluator>>,
    State(delivery): State<Option<Arc<Delivery>>>,
    RequestingService(service): RequestingService,
    FullBody(body): FullBody,
) -> Result<Json<Value>, MatrixError> {
    let delivery = delivery.ok_or(MatrixError::DeliveryOff)?;
    let request = NotificationRequest::parse(&body)?;
    let (account_id, user_id) = find_account(&evaluator, &service, &request.account).await?;
    let now = evaluator.clock.now();
    let receivers = evaluator.store.receivers_of_accounts(&[account_id], now).await?;
    let is_wanted = |receiver: &Receiver| match &receiver.document {
        ReceiverDocument::Subscription(Subscription { settings, .. }) => {
            settings.allows(&request.message.notification_type, request.relationship)
        }
        ReceiverDocument::Pusher(_) => false,
    };
    let targets: Vec<DeliveryTarget> =
        receivers.iter().filter(|receiver| is_wanted(receiver)).map(DeliveryTarget::from).collect();
    if targets.is_empty()
        || is_silenced(&evaluator, &service, request.evaluation(&user_id), now).await?
    {
        return Ok(Json(json!({ "accepted": 0 })));
    }
    let content = Message::Notification(request.message);
    let topic = request.topic.as_deref();
    let message = OutgoingMessage { content, source: &service.id, ttl: request.ttl, topic };
    let accepted = delivery.enqueue(&message, targets, now).await?;
    Ok(Json(json!({ "accepted": accepted })))
}

/// Returns the id and the user id of an account in the namespaces of the service. An account outside
/// them gets the same error as an unknown one, so that the service does not learn which exist.
pub(super) async fn find_account(
    evaluator: &Evaluator,
    service: &ApplicationService,
    name: &AccountName,
) -> Result<(i64, String), MatrixError> {
    let server_name = &*evaluator.server_name;
    match name {
        AccountName::Id(id) => {
            let account =
                evaluator.store.account(*id).await?.ok_or(MatrixError::OutsideNamespace)?;
            let user_id = matrix::user_id(&account.name, server_name);
            if !service.may_act_for(&account.name, &user_id) {
                return Err(MatrixError::OutsideNamespace);
            }
            Ok((account.id, user_id))
        }
        AccountName::UserId(user_id) => {
            let name = matrix::localpart(user_id, server_name)
                .ok_or_else(|| MatrixError::OtherServer(server_name.to_owned()))?;
            if !service.may_act_for(name, user_id) {
                return Err(MatrixError::OutsideNamespace);
            }
            let account =
                evaluator.store.token_account(name).await?.ok_or(MatrixError::NoAccount)?;
            Ok((account.id, user_id.clone()))
        }
    }
}

/// Returns whether the rules of the user silence the event.
async fn is_silenced(
    evaluator: &Arc<Evaluator>,
    service: &ApplicationService,
    request: EvaluateRequest,
    now: Timestamp,
) -> Result<bool, MatrixError> {
    let slot = evaluator.pool.enter()?;
    let evaluation =
        MemberEvaluation::new(request, None, now).run(evaluator, &slot, service).await?;
    Ok(evaluation.is_silenced_by_user())
}
