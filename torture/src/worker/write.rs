//! A client's random writes.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{Code, CodeState, RULES_PATH, Rule, RuleState, Token, TokenState, Worker, choose};
use crate::Result;
use crate::app::App;
use crate::client::{Request, Response};
use crate::load::{Load, OnFailure};

/// The number of rules that each client writes.
const RULES: usize = 3;

/// The maximum number of tokens and codes of a client in a round, all of which are checked after
/// the round. A client that has this many issues no more.
const SECRETS: usize = 20;

impl Worker {
    /// Writes until the load is stopped, or until a write fails with [`OnFailure::Stop`].
    pub(crate) fn write_until_stopped(&mut self, load: &Load) {
        while !load.stop.load(Ordering::Relaxed) {
            let failed = load.failed.load(Ordering::Relaxed);
            self.write_something(load);
            if load.failed.load(Ordering::Relaxed) > failed {
                match load.on_failure {
                    OnFailure::Stop => return,
                    OnFailure::Continue => thread::sleep(Duration::from_millis(10)),
                }
            }
        }
    }

    fn write_something(&mut self, load: &Load) {
        let is_full = self.tokens.len() + self.codes.len() >= SECRETS;
        match self.rng.u8(0..10) {
            7 => self.revoke_token(load),
            5 | 6 if !is_full => self.issue_token(load),
            8 if !is_full => self.issue_code(load),
            9 => self.redeem_code(load),
            4 => self.delete_rule(load),
            _ => self.put_rule(load),
        }
    }

    /// Sends a write and returns the response if it was acknowledged.
    fn write(&mut self, load: &Load, request: &Request) -> Option<Response> {
        let result = self.client.send(request);
        self.record(load, result)
    }

    /// Counts the result of a write, and a loss if the server rejected it. Returns the response if
    /// the write was acknowledged.
    fn record(&mut self, load: &Load, result: Result<Response>) -> Option<Response> {
        match result {
            Ok(response) if response.status < 400 => {
                load.acknowledged.fetch_add(1, Ordering::Relaxed);
                self.outcome.acknowledged += 1;
                return Some(response);
            }
            Ok(response) if response.status < 500 => self.outcome.record_loss(format!(
                "{}: a valid write was rejected: {} {}",
                self.name, response.status, response.body
            )),
            _ => {}
        }
        load.failed.fetch_add(1, Ordering::Relaxed);
        self.outcome.failed += 1;
        None
    }

    /// Adds a rule, or changes one that has no pending write: a pending write must be checked
    /// first.
    fn put_rule(&mut self, load: &Load) {
        self.next += 1;
        let pattern = format!("pattern {}", self.next);
        let index = if self.rules.len() < RULES {
            let id = format!("{}-{}", self.name, self.next);
            self.rules.push(Rule { id, acknowledged: RuleState::Absent, pending: None });
            Some(self.rules.len() - 1)
        } else {
            choose(&mut self.rng, &self.rules, |rule| rule.pending.is_none())
        };
        let Some(index) = index else { return };
        let body = json!({ "actions": ["notify"], "pattern": pattern });
        let request = Request::put(format!("{RULES_PATH}{}", self.rules[index].id), &body);
        self.write_rule(load, index, &request, RuleState::Pattern(pattern));
    }

    fn delete_rule(&mut self, load: &Load) {
        let is_present =
            |rule: &Rule| rule.pending.is_none() && rule.acknowledged != RuleState::Absent;
        let Some(index) = choose(&mut self.rng, &self.rules, is_present) else { return };
        let request = Request::delete(format!("{RULES_PATH}{}", self.rules[index].id));
        self.write_rule(load, index, &request, RuleState::Absent);
    }

    fn write_rule(&mut self, load: &Load, index: usize, request: &Request, state: RuleState) {
        let request = request.clone().with_bearer(&self.user.token);
        let acknowledged = self.write(load, &request).is_some();
        let rule = &mut self.rules[index];
        if acknowledged {
            rule.acknowledged = state;
        } else {
            rule.pending = Some(state);
        }
    }

    fn issue_token(&mut self, load: &Load) {
        let Some(response) = self.write(load, &self.app.issue_token("read")) else { return };
        match response.json_text("access_token") {
            Ok(secret) => self.tokens.push(Token { secret, state: TokenState::Live }),
            Err(error) => self.outcome.record_loss(format!("{}: {error}", self.name)),
        }
    }

    fn revoke_token(&mut self, load: &Load) {
        let is_live = |token: &Token| token.state == TokenState::Live;
        let Some(index) = choose(&mut self.rng, &self.tokens, is_live) else { return };
        let request = self.app.revoke_token(&self.tokens[index].secret);
        let acknowledged = self.write(load, &request).is_some();
        self.tokens[index].state =
            if acknowledged { TokenState::Revoked } else { TokenState::MaybeRevoked };
    }

    fn issue_code(&mut self, load: &Load) {
        let result = self.app.authorize(&self.client, &self.user);
        let Some(response) = self.record(load, result) else { return };
        match App::extract_code(&response) {
            Some(secret) => self.codes.push(Code { secret, state: CodeState::Unused }),
            None => self.outcome.record_loss(format!(
                "{}: no code for a signed-in user: {} {}",
                self.name, response.status, response.location
            )),
        }
    }

    fn redeem_code(&mut self, load: &Load) {
        let is_unused = |code: &Code| matches!(code.state, CodeState::Unused);
        let Some(index) = choose(&mut self.rng, &self.codes, is_unused) else { return };
        let request = self.app.redeem_code(&self.codes[index].secret);
        let result = self.client.send(&request);
        if self.codes_expire && result.as_ref().is_ok_and(Response::is_invalid_grant) {
            self.codes[index].state = CodeState::MaybeRedeemed;
            return;
        }
        let response = self.record(load, result);
        let token = response.and_then(|response| response.json_text("access_token").ok());
        self.codes[index].state = match token {
            Some(token) => CodeState::Redeemed { token },
            None => CodeState::MaybeRedeemed,
        };
    }
}
