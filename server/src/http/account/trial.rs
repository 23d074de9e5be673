//! `/oauth/account/try`: evaluates the user's rules for a message. Nothing is stored.

use std::num::NonZero;
use std::time::Instant;

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::form::{Pairs, last_value};
use belfry_core::matrix;
use belfry_core::percent::decode_segment;
use belfry_core::rules::explain::EffectiveRules;
use belfry_core::rules::preferences::Subject;
use belfry_core::rules::trial::{TrialMessage, TrialResult};
use belfry_store::{Account, StoredRulesets};

use super::notifications::load_rulesets;
use crate::evaluation::pool::EvaluationError;
use crate::http::error::PageError;
use crate::http::extract::form::PageForm;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{render_large_page, respond};
use crate::pages::{self, AccountSection, Trial, TrialErrors, TrialFields, TrialPage};
use crate::paths::{ACCOUNT_TRIAL, with_language};

/// `GET /oauth/account/try`
pub(crate) async fn get_trial_page(session: BrowserSession) -> Response {
    let result = async {
        let account = session.require_account(AccountSection::Trial)?;
        let rulesets = load_rulesets(&session, account).await?;
        let server = session.state.server_name();
        let fields = TrialFields {
            sender: format!("@someone:{server}"),
            room: format!("!room:{server}"),
            member_count: "3".to_owned(),
            display_name: account.name.clone(),
            ..TrialFields::default()
        };
        render_trial_page(&session, account, &rulesets, &fields, &Trial::NotRun, StatusCode::OK)
    }
    .await;
    respond(&session, result)
}

/// `POST /oauth/account/try`: shows the result for the message in the form.
pub(crate) async fn run_trial(session: BrowserSession, PageForm(pairs): PageForm) -> Response {
    let result = async {
        let account = session.require_account_for_form(AccountSection::Trial, &pairs)?;
        let fields = read_fields(&pairs);
        let rulesets = load_rulesets(&session, account).await?;
        let (trial, status) = match parse_message(&fields) {
            Err(errors) => (Trial::Invalid(errors), StatusCode::UNPROCESSABLE_ENTITY),
            Ok(message) => match evaluate_message(&session, account, &rulesets, message).await {
                Ok(result) => (Trial::Result(result), StatusCode::OK),
                Err(error @ (EvaluationError::QueueFull | EvaluationError::AccountBusy)) => {
                    (Trial::Busy, PageError::from(error).status())
                }
                Err(error) => return Err(error.into()),
            },
        };
        render_trial_page(&session, account, &rulesets, &fields, &trial, status)
    }
    .await;
    respond(&session, result)
}

fn read_fields(pairs: &Pairs) -> TrialFields {
    let value = |name: &str| last_value(pairs, name);
    // Percent-encoded, because browsers change line breaks in a field. A malformed tag counts as
    // none.
    let profile_tag = decode_segment(value("profile"));
    TrialFields {
        text: value("text").to_owned(),
        sender: value("sender").trim().to_owned(),
        may_notify_room: !value("may_notify_room").is_empty(),
        room: value("room").trim().to_owned(),
        member_count: value("members").trim().to_owned(),
        display_name: value("name").trim().to_owned(),
        profile_tag: profile_tag.map(Into::into).unwrap_or_default(),
    }
}

/// Parses the message in the form, in which all fields except the text may be blank.
fn parse_message(fields: &TrialFields) -> Result<TrialMessage, TrialErrors> {
    fn parse_optional<T, E>(
        text: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
    }
    let sender = parse_optional(&fields.sender, Subject::parse_person);
    let room = parse_optional(&fields.room, Subject::parse_room);
    let members = parse_optional(&fields.member_count, str::parse::<NonZero<u64>>);
    let is_text_blank = fields.text.trim().is_empty();
    match (sender, room, members) {
        (Ok(sender), Ok(room), Ok(members)) if !is_text_blank => Ok(TrialMessage {
            // Browsers send the line breaks of a textarea as CRLF.
            text: fields.text.replace("\r\n", "\n"),
            sender: sender.unwrap_or_default(),
            may_notify_room: fields.may_notify_room,
            room: room.unwrap_or_default(),
            member_count: members.map(NonZero::get),
            display_name: fields.display_name.clone(),
            // Blank for a trial without a device.
            profile_tag: fields.profile_tag.parse().ok(),
        }),
        (sender, room, members) => Err(TrialErrors {
            is_text_blank,
            sender: sender.err(),
            room: room.err(),
            is_count_invalid: members.is_err(),
        }),
    }
}

/// Evaluates the rules, with the same limits as `explain`.
async fn evaluate_message(
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
    let now = state.clock.now();
    let evaluate =
        move || EffectiveRules::new(&user_id, rulesets.documents()).run_trial(&message, now);
    let result = slot.run(evaluate).await?;
    state.metrics.evaluation.record_explanation(start, result.exceeds_work_budget());
    Ok(result)
}

fn render_trial_page(
    session: &BrowserSession,
    account: &Account,
    rulesets: &StoredRulesets,
    fields: &TrialFields,
    trial: &Trial,
    status: StatusCode,
) -> Result<Response, PageError> {
    let action = with_language(ACCOUNT_TRIAL, session.lang);
    let page = TrialPage {
        layout: session.layout(session.lang),
        nav: session.nav(AccountSection::Trial),
        form: pages::Form { action: &action, csrf: &session.csrf_token(), request: None },
        message: fields,
        profiles: &rulesets.profile_tags(),
        trial,
    };
    render_large_page(session, status, &page, account.id)
}
