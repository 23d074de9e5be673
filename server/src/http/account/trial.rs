//! The form of the notifications page that tries the rules with a message. Nothing is stored.

use std::time::Instant;

use belfry_core::form::{Pairs, last_value};
use belfry_core::matrix;
use belfry_core::rules::preferences::{PreferenceError, Subject};
use belfry_core::rules::trial::TrialMessage;
use belfry_store::Account;

use crate::http::error::PageError;
use crate::http::extract::session::BrowserSession;
use crate::pages::{NotificationsView, Trial};

/// Evaluates the rules for the message in the form, on a device with the profile of the view. The
/// limits are those of `explain`.
pub(super) async fn run_trial(
    session: &BrowserSession,
    account: &Account,
    view: &NotificationsView,
    pairs: &Pairs,
) -> Result<Trial, PageError> {
    let state = &session.state;
    let mut trial = Trial {
        text: last_value(pairs, "text").to_owned(),
        sender: last_value(pairs, "sender").to_owned(),
        is_direct: last_value(pairs, "chat") == "direct",
        outcome: None,
    };
    let sender = match parse_sender(trial.sender.trim(), state.server_name()) {
        _ if trial.text.trim().is_empty() => Err(PreferenceError::TextBlank),
        result => result,
    };
    trial.outcome = Some(match sender {
        Err(error) => Err(error),
        Ok(sender) => {
            let message = TrialMessage {
                // Browsers send the line breaks of a textarea as CRLF.
                text: trial.text.replace("\r\n", "\n"),
                sender,
                is_direct: trial.is_direct,
                profile_tag: view.profile.clone(),
            };
            let start = Instant::now();
            let slot = state.evaluator.pool.enter_for_account(account.id)?;
            let rulesets = state.store.rulesets(account.id, session.now).await?;
            let user_id = matrix::user_id(&account.name, state.server_name());
            let now = session.now;
            let evaluate = move || message.evaluate(&user_id, rulesets.documents(), now);
            let result = slot.run(evaluate).await?;
            state.evaluator.metrics.record_explanation(start, result.exceeds_work_budget);
            Ok(result)
        }
    });
    Ok(trial)
}

/// Parses the sender, which may be blank: a user id, or the name of a user of this server.
fn parse_sender(text: &str, server: &str) -> Result<Option<String>, PreferenceError> {
    if text.is_empty() {
        return Ok(None);
    }
    let is_name = !text.contains(['@', '!', '#', ':', '/']);
    let user_id = if is_name { matrix::user_id(text, server) } else { text.to_owned() };
    Subject::parse_person(&user_id).map(Some)
}
