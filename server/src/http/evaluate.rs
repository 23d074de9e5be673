//! `POST …/app/v1/evaluate`: whom an event notifies, for application services.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use belfry_core::matrix;
use belfry_core::rules::evaluation::Evaluation;
use belfry_core::rules::verdict_request::{EvaluateRequest, NamedMember};

use super::Belfry;
use super::body::Whole;
use super::caller::Service;
use super::error::{Problem, RuleError};
use super::json;
use crate::audience::Listener;
use crate::store::StoreError;

/// How many members are judged without a pause for other calls, and how many bytes their rules
/// may be stored in: so much is in memory at the same time however many there are.
const PART: usize = 2_000;
const PART_BYTES: usize = 8 * 1024 * 1024;

/// How many members' rules are asked for at once, which then come on top of a part.
const ASKED: usize = 50;

/// Tells the members by their verdicts. Left out are those who have no rules here: users of other
/// servers, and those without an account; and those for whom the service may not act.
pub(super) async fn evaluate(
    State(belfry): State<Arc<Belfry>>,
    Service(service): Service,
    request: Request,
) -> Result<Response, RuleError> {
    let most = belfry.config.rules.max_evaluate_bytes;
    let Whole(body) = Whole::within(most, request, &belfry).await?;
    // A hundred thousand members take a while to read.
    let reading = tokio::task::spawn_blocking(move || EvaluateRequest::read(&body));
    let asked = reading.await.map_err(|_| Problem::Internal)??;
    let members = asked.members.iter().filter_map(|member| {
        let name = matrix::localpart(&member.user_id, belfry.server_name())?;
        service.may_act_for(name, &member.user_id).then_some((name, member))
    });
    let members: Vec<(&str, &NamedMember)> = members.collect();
    let mut evaluation = Evaluation::new(asked.all);
    let mut part = Part::default();
    for some in members.chunks(ASKED) {
        part.load(&belfry, some).await?;
        if part.is_full() {
            std::mem::take(&mut part).judge(&belfry, &asked, &mut evaluation);
            tokio::task::yield_now().await;
        }
    }
    part.judge(&belfry, &asked, &mut evaluation);
    Ok(json::answer(evaluation.answer().into()))
}

/// Members who are judged together.
#[derive(Default)]
struct Part<'a> {
    listeners: Vec<Listener<'a>>,
    bytes: usize,
}

impl<'a> Part<'a> {
    async fn load(
        &mut self,
        belfry: &Belfry,
        members: &[(&'a str, &'a NamedMember)],
    ) -> Result<(), StoreError> {
        let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        let rulesets = belfry.store.rulesets_of_many(&names).await?;
        for ((_, member), rulesets) in members.iter().zip(rulesets) {
            let Some(rulesets) = rulesets else { continue };
            self.bytes += rulesets.bytes();
            let (user_id, member) = (&*member.user_id, member.member());
            self.listeners.push(Listener { user_id, member, rulesets });
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.listeners.len() >= PART || self.bytes >= PART_BYTES
    }

    fn judge(self, belfry: &Belfry, asked: &EvaluateRequest, evaluation: &mut Evaluation<'a>) {
        let users: Vec<&str> = self.listeners.iter().map(|listener| listener.user_id).collect();
        belfry.audience.with(&self.listeners, |audience| {
            let members = self.listeners.iter().map(|listener| (listener.user_id, listener.member));
            let members = audience.members(members);
            evaluation.add(&members.verdicts(&asked.event, &asked.room), &users);
        });
    }
}
