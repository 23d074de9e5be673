//! `/oauth/account/devices`: the devices that get the account's notifications, and the latest
//! deliveries.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::audit::AuditKind;
use belfry_core::form::{Pairs, last_value};
use belfry_core::matrix;
use belfry_core::push::receiver::ReceiverState;
use belfry_core::rules::{Rule, RuleDocument, RuleKind, RuleRef, User};
use belfry_store::{Account, StoredRulesets};

use super::notifications::load_rulesets;
use crate::http::error::{CommonError, LimitExceeded, PageError, SubmitError};
use crate::http::extract::form::PageForm;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{
    redirect_with_notice, render_large_page, respond_with, with_retry_after,
};
use crate::pages::{self, AccountSection, DevicesPage, ListedDelivery, Notice, device_test_text};
use crate::paths::{ACCOUNT_DEVICES, with_language};

const MAX_DELIVERIES: i64 = 20;

/// `GET /oauth/account/devices`: redirects to the sign-in page unless the browser is signed in.
pub(crate) async fn get_devices_page(session: BrowserSession) -> Response {
    respond_with(&session, async {
        let account = session.require_account(AccountSection::Devices)?;
        render_devices_page(&session, account, None).await
    })
    .await
}

/// `POST /oauth/account/devices`: sends a test to the device in the field `device`, or removes it.
pub(crate) async fn change_devices(session: BrowserSession, PageForm(pairs): PageForm) -> Response {
    respond_with(&session, async {
        let account = session.require_account_for_form(AccountSection::Devices, &pairs)?;
        match change_device(&session, account, &pairs).await {
            Ok(notice) => redirect_with_notice(&session, ACCOUNT_DEVICES, notice),
            Err(error) => {
                let LimitExceeded { retry_after } = error.into_reason()?;
                render_devices_page(&session, account, Some(retry_after)).await
            }
        }
    })
    .await
}

async fn change_device(
    session: &BrowserSession,
    account: &Account,
    pairs: &Pairs,
) -> Result<Notice, SubmitError<LimitExceeded>> {
    let id = last_value(pairs, "device").parse::<i64>();
    let id = id.map_err(|_| CommonError::Malformed("device must be a number".to_owned()))?;
    match last_value(pairs, "change") {
        "test" => send_test(session, account, id).await,
        "remove" => {
            let events = session.success_event(AuditKind::ReceiverRemove).into();
            // A device that no longer exists is not an error, because a form may be submitted
            // twice.
            session.state.store.delete_receiver(&events, account.id, id).await?;
            Ok(Notice::Removed)
        }
        _ => Err(CommonError::Malformed("change must be test or remove".to_owned()).into()),
    }
}

/// Sends a test to one of the account's devices. The delivery log shows its outcome.
async fn send_test(
    session: &BrowserSession,
    account: &Account,
    id: i64,
) -> Result<Notice, SubmitError<LimitExceeded>> {
    let store = &session.state.store;
    let devices = store.live_receivers(account.id, session.now).await?;
    let device = devices
        .iter()
        .find(|device| device.receiver.id == id && device.state() == ReceiverState::Active);
    let (Some(delivery), Some(device)) = (&session.state.delivery, device) else {
        return Ok(Notice::TestNotSent);
    };
    session.guard.count_device_test(account.id).await.map_err(SubmitError::Rejected)?;
    let (title, body) = device_test_text(&session.layout(session.lang));
    Ok(match delivery.send_test(&device.receiver, &title, &body, session.now).await? {
        Some(_) => Notice::TestSent,
        None => Notice::TestNotSent,
    })
}

/// Renders the page; after a test beyond the limit, with the time until the next one is allowed.
async fn render_devices_page(
    session: &BrowserSession,
    account: &Account,
    retry_after: Option<Duration>,
) -> Result<Response, PageError> {
    let store = &session.state.store;
    // Read before the devices, so that a delivery that is listed as finished also counts as its
    // device's last one.
    let log = store.delivery_log(account.id, None, MAX_DELIVERIES).await?;
    let devices = store.live_receivers(account.id, session.now).await?;
    let rulesets = load_rulesets(session, account).await?;
    let user_id = matrix::user_id(&account.name, session.state.server_name());
    let deliveries: Vec<ListedDelivery> = log
        .into_iter()
        .map(|delivery| {
            let path = delivery.details.rule.as_deref();
            let rule = path.and_then(|path| find_rule(&rulesets, User::new(&user_id), path));
            ListedDelivery { delivery, rule }
        })
        .collect();
    let action = with_language(ACCOUNT_DEVICES, session.lang);
    let page = DevicesPage {
        layout: session.layout(session.lang),
        nav: session.nav(AccountSection::Devices),
        form: pages::Form { action: &action, csrf: &session.csrf_token(), request: None },
        is_delivery_on: session.state.delivery.is_some(),
        devices: &devices,
        deliveries: &deliveries,
        now: session.now,
        retry_after,
    };
    let status = match retry_after {
        Some(_) => StatusCode::TOO_MANY_REQUESTS,
        None => StatusCode::OK,
    };
    let response = render_large_page(session, status, &page, account.id)?;
    Ok(with_retry_after(response, retry_after))
}

/// Returns the rule at this path, with its kind, if the user still has it.
fn find_rule(rulesets: &StoredRulesets, user: User<'_>, path: &str) -> Option<(RuleKind, Rule)> {
    let RuleRef { scope, kind, id } = RuleRef::from_path(path).ok()?;
    let empty_document = RuleDocument::new(scope.clone());
    let document = rulesets.document(&scope).unwrap_or(&empty_document);
    Some((kind, document.rule(kind, &id, user).ok()?.into_owned()))
}
