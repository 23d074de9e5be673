//! `/oauth/account/try`: evaluates the rules of the user against a message. Nothing is stored.

use std::time::Instant;

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::matrix;
use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::percent::decode_segment;
use belfry_core::rules::explain::UserRules;
use belfry_core::rules::preferences::Subject;
use belfry_core::rules::trial::{TrialMessage, TrialResult};
use belfry_store::{Account, StoredRulesets};

use super::stale_session::StaleSession;
use crate::evaluation::pool::EvaluationError;
use crate::http::error::PageError;
use crate::http::extract::form::Form;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect_to_sign_in, respond, show_large_page, show_page};
use crate::pages::{self, AccountSection, TryErrors, TryFields, TryPage};
use crate::paths::{ACCOUNT_TRY, with_language};

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
        show(&session, &rulesets, &fields, &Trial::NotRun)
    };
    let result = result.await;
    respond(&session, result)
}

/// `POST /oauth/account/try`: shows the result for the message in the form.
pub(crate) async fn try_message(session: BrowserSession, Form(pairs): Form) -> Response {
    let result = async {
        let stale = StaleSession::detect(&session, &pairs)?;
        let fields = read_fields(&pairs);
        let Some(account) = session.account() else {
            let trial = Trial::Stale(StaleSession::SignedOut);
            return show(&session, &StoredRulesets::default(), &fields, &trial);
        };
        let rulesets = session.state.store.rulesets(account.id, session.state.clock.now()).await?;
        let trial = match (stale, read_message(&fields)) {
            (Some(stale), _) => Trial::Stale(stale),
            (None, Err(errors)) => Trial::Invalid(errors),
            (None, Ok(message)) => match evaluate(&session, account, &rulesets, message).await {
                Ok(result) => Trial::Result(result),
                Err(EvaluationError::QueueFull | EvaluationError::AccountBusy) => Trial::Busy,
                Err(error) => return Err(error.into()),
            },
        };
        show(&session, &rulesets, &fields, &trial)
    };
    let result = result.await;
    respond(&session, result)
}

/// The state of the page.
enum Trial {
    NotRun,
    /// The page was opened in an earlier session.
    Stale(StaleSession),
    Invalid(TryErrors),
    Busy,
    Result(TrialResult),
}

impl Trial {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotRun | Self::Result(_) => StatusCode::OK,
            Self::Stale(stale) => stale.status(),
            Self::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
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

/// The message in the form. Sender, room and number of members may be blank.
fn read_message(fields: &TryFields) -> Result<TrialMessage, TryErrors> {
    fn optional<T, E>(text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<Option<T>, E> {
        if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
    }
    let sender = optional(&fields.sender, Subject::parse_person);
    let room = optional(&fields.room, Subject::parse_room);
    let members = optional(&fields.members, str::parse);
    match (sender, room, members) {
        (Ok(sender), Ok(room), Ok(member_count)) => Ok(TrialMessage {
            // Browsers send the line breaks of a text area as CRLF.
            text: fields.text.replace("\r\n", "\n"),
            sender: sender.unwrap_or_default(),
            room: room.unwrap_or_default(),
            member_count,
            display_name: fields.name.clone(),
            profile_tag: fields.profile.parse().ok(),
        }),
        (sender, room, members) => Err(TryErrors {
            sender: sender.err(),
            room: room.err(),
            is_count_invalid: members.is_err(),
        }),
    }
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
    rulesets: &StoredRulesets,
    fields: &TryFields,
    trial: &Trial,
) -> Result<Response, PageError> {
    let action = with_language(ACCOUNT_TRY, session.lang);
    let mut profiles = rulesets.profile_tags();
    if session.account().is_none() && !fields.profile.is_empty() {
        // The rules are not known, so this is the only profile that the form can offer.
        profiles.push(&fields.profile);
    }
    let page = TryPage {
        layout: session.layout(session.lang),
        nav: session.nav(AccountSection::Try),
        form: pages::Form { action: &action, csrf: &session.csrf_token(), request: None },
        entered: fields,
        profiles: &profiles,
        errors: match trial {
            Trial::Invalid(errors) => errors.clone(),
            _ => TryErrors::default(),
        },
        is_busy: matches!(trial, Trial::Busy),
        stale: match trial {
            Trial::Stale(stale) => Some(stale.describe(session, AccountSection::Try)),
            _ => None,
        },
        result: match trial {
            Trial::Result(result) => Some(result),
            _ => None,
        },
    };
    match session.account() {
        Some(account) => show_large_page(session, trial.status(), &page, account.id),
        None => show_page(session, trial.status(), &page, None),
    }
}
