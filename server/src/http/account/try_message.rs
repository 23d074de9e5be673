//! `/oauth/account/try`: evaluates the rules of the user against a message. Nothing is stored.

use std::time::Instant;

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::matrix;
use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::percent::decode_segment;
use belfry_core::rules::RuleScope;
use belfry_core::rules::explain::UserRules;
use belfry_core::rules::trial::{TrialMessage, TrialResult};

use crate::evaluation_pool::EvaluationError;
use crate::http::error::PageError;
use crate::http::extract::form::Form;
use crate::http::extract::session::BrowserSession;
use crate::http::paths::{ACCOUNT_TRY, with_language};
use crate::http::respond::page::{redirect_to_sign_in, respond, show_large_page};
use crate::pages::{self, AccountSection, Notice, TryFields, TryPage};
use crate::store::{Account, StoredRulesets};

/// `GET /oauth/account/try`
pub(crate) async fn try_page(session: BrowserSession) -> Response {
    let result = async {
        let Some(account) = session.account() else {
            return redirect_to_sign_in(&session, AccountSection::Try, None);
        };
        let rulesets = session.state.store.rulesets(account.id, session.state.clock.now()).await?;
        let server = session.state.server_name();
        let fields = TryFields {
            sender: format!("@someone:{server}"),
            room: format!("!room:{server}"),
            members: "3".to_owned(),
            name: account.name.clone(),
            ..TryFields::default()
        };
        show(&session, account, &rulesets, StatusCode::OK, &fields, &Trial::NotRun)
    };
    let result = result.await;
    respond(&session, result)
}

/// `POST /oauth/account/try`: shows the result for the message in the form.
pub(crate) async fn try_message(session: BrowserSession, Form(pairs): Form) -> Response {
    let result = async {
        let Some(account) = session.account() else {
            return redirect_to_sign_in(&session, AccountSection::Try, Some(Notice::NotSaved));
        };
        session.check_form(&pairs)?;
        let fields = read_fields(&pairs);
        let rulesets = session.state.store.rulesets(account.id, session.state.clock.now()).await?;
        let (status, trial) = match read_message(&fields) {
            None => (StatusCode::UNPROCESSABLE_ENTITY, Trial::InvalidCount),
            Some(message) => match evaluate(&session, account, &rulesets, message).await {
                Ok(result) => (StatusCode::OK, Trial::Result(result)),
                Err(EvaluationError::QueueFull | EvaluationError::AccountBusy) => {
                    (StatusCode::SERVICE_UNAVAILABLE, Trial::Busy)
                }
                Err(error) => return Err(error.into()),
            },
        };
        show(&session, account, &rulesets, status, &fields, &trial)
    };
    let result = result.await;
    respond(&session, result)
}

/// The state of the page.
enum Trial {
    NotRun,
    InvalidCount,
    Busy,
    Result(TrialResult),
}

fn read_fields(pairs: &Pairs) -> TryFields {
    let value = |name: &str| last_value(pairs, name);
    let profile = decode_segment(value("profile"));
    TryFields {
        text: value("text").to_owned(),
        sender: value("sender").trim().to_owned(),
        room: value("room").trim().to_owned(),
        members: value("members").trim().to_owned(),
        name: value("name").trim().to_owned(),
        profile: profile.map(Into::into).unwrap_or_default(),
    }
}

/// The message, unless the number of members is invalid.
fn read_message(fields: &TryFields) -> Option<TrialMessage> {
    let member_count = match fields.members.as_str() {
        "" => None,
        count => Some(count.parse().ok()?),
    };
    Some(TrialMessage {
        // Browsers send the line breaks of a text area as CRLF.
        text: fields.text.replace("\r\n", "\n"),
        sender: fields.sender.clone(),
        room: fields.room.clone(),
        member_count,
        display_name: fields.name.clone(),
        profile_tag: fields.profile.parse().ok(),
    })
}

/// Evaluates the rules, with the limits of `explain`.
async fn evaluate(
    session: &BrowserSession,
    account: &Account,
    rulesets: &StoredRulesets,
    message: TrialMessage,
) -> Result<TrialResult, EvaluationError> {
    let state = &session.state;
    let start = Instant::now();
    let slot = state.evaluation_pool.enter_for_account(account.id)?;
    let user_id = matrix::user_id(&account.name, state.server_name());
    let rulesets = rulesets.clone();
    let evaluate = move || UserRules::new(&user_id, rulesets.documents()).try_message(&message);
    let result = slot.run(evaluate).await?;
    let metrics = &state.metrics.evaluation;
    metrics.explain.observe_since(start);
    metrics.users.inc();
    metrics.work_exceeded.inc_by(result.exceeds_work_limit().into());
    Ok(result)
}

fn show(
    session: &BrowserSession,
    account: &Account,
    rulesets: &StoredRulesets,
    status: StatusCode,
    fields: &TryFields,
    trial: &Trial,
) -> Result<Response, PageError> {
    let mut profiles: Vec<&str> = rulesets
        .documents()
        .filter(|document| document.user_rules().iter().next().is_some())
        .filter_map(|document| match document.scope() {
            RuleScope::Global => None,
            RuleScope::Device(tag) => Some(tag.as_str()),
        })
        .collect();
    profiles.sort_unstable();
    let action = with_language(ACCOUNT_TRY, session.lang);
    let page = TryPage {
        layout: session.layout(session.lang),
        nav: session.nav(AccountSection::Try),
        form: pages::Form { action: &action, csrf: &session.csrf_token(), request: None },
        fields,
        profiles: &profiles,
        is_count_invalid: matches!(trial, Trial::InvalidCount),
        is_busy: matches!(trial, Trial::Busy),
        result: match trial {
            Trial::Result(result) => Some(result),
            _ => None,
        },
    };
    show_large_page(session, status, &page, account.id)
}
