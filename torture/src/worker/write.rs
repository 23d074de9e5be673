//! A worker's random writes.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{
    Code, CodeState, RULES_PATH, Rule, RuleState, Token, TokenState, Worker, choose_index,
};
use crate::Result;
use crate::app::App;
use crate::client::{Request, Response};
use crate::load::{Load, OnFailure};

/// Maximum number of rules that a worker adds.
const RULES_PER_WORKER: usize = 3;

/// Maximum number of tokens and codes that a worker requests in a round. All of them are checked
/// after the round.
const MAX_SECRETS: usize = 20;

impl Worker {
    /// Writes until the load is stopped, or until a write fails with [`OnFailure::Stop`].
    pub(crate) fn write_until_stopped(&mut self, load: &Load) {
        while !load.is_stopped.load(Ordering::Relaxed) {
            let failed_before = load.failed_writes.load(Ordering::Relaxed);
            self.send_random_write(load);
            if load.failed_writes.load(Ordering::Relaxed) > failed_before {
                match load.on_failure {
                    OnFailure::Stop => return,
                    OnFailure::Continue => thread::sleep(Duration::from_millis(10)),
                }
            }
        }
    }

    fn send_random_write(&mut self, load: &Load) {
        let has_max_secrets = self.new_tokens.len() + self.new_codes.len() >= MAX_SECRETS;
        if let Some(public_client) = self.public_client.clone()
            && self.rng.u8(0..3) == 0
        {
            return self.write_family(load, &public_client);
        }
        match self.rng.u8(0..10) {
            7 => self.revoke_token(load),
            5 | 6 if !has_max_secrets => self.issue_token(load),
            8 if !has_max_secrets => self.issue_code(load),
            9 => self.redeem_code(load),
            4 => self.delete_rule(load),
            _ => self.put_rule(load),
        }
    }

    /// Sends a write and returns the response if it was acknowledged.
    pub(super) fn send_write(&mut self, load: &Load, request: &Request) -> Option<Response> {
        let result = self.client.send(request);
        self.record_write(load, result)
    }

    /// Counts a write as acknowledged or failed, and as a loss if the server rejected it. Returns
    /// the response if the write was acknowledged.
    pub(super) fn record_write(
        &mut self,
        load: &Load,
        result: Result<Response>,
    ) -> Option<Response> {
        match result {
            Ok(response) if response.status < 400 => {
                load.acknowledged_writes.fetch_add(1, Ordering::Relaxed);
                self.outcome.acknowledged += 1;
                return Some(response);
            }
            Ok(response) if response.status < 500 => self.outcome.record_loss(format!(
                "{}: a valid write was rejected: {} {}",
                self.name, response.status, response.body
            )),
            _ => {}
        }
        load.failed_writes.fetch_add(1, Ordering::Relaxed);
        self.outcome.failed += 1;
        None
    }

    /// Adds a rule, or changes one that has no pending write: a pending write must be checked
    /// first.
    fn put_rule(&mut self, load: &Load) {
        self.last_number += 1;
        let pattern = format!("pattern {}", self.last_number);
        let index = if self.rules.len() < RULES_PER_WORKER {
            let id = format!("{}-{}", self.name, self.last_number);
            self.rules.push(Rule { id, acknowledged: RuleState::Absent, pending: None });
            Some(self.rules.len() - 1)
        } else {
            choose_index(&mut self.rng, &self.rules, |rule| rule.pending.is_none())
        };
        let Some(index) = index else { return };
        let body = json!({ "actions": ["notify"], "pattern": pattern });
        let request = Request::put(format!("{RULES_PATH}{}", self.rules[index].id), &body);
        self.write_rule(load, index, &request, RuleState::Pattern(pattern));
    }

    fn delete_rule(&mut self, load: &Load) {
        let is_present =
            |rule: &Rule| rule.pending.is_none() && rule.acknowledged != RuleState::Absent;
        let Some(index) = choose_index(&mut self.rng, &self.rules, is_present) else { return };
        let request = Request::delete(format!("{RULES_PATH}{}", self.rules[index].id));
        self.write_rule(load, index, &request, RuleState::Absent);
    }

    fn write_rule(&mut self, load: &Load, index: usize, request: &Request, state: RuleState) {
        let request = request.clone().with_bearer(&self.user.token);
        let is_acknowledged = self.send_write(load, &request).is_some();
        let rule = &mut self.rules[index];
        if is_acknowledged {
            rule.acknowledged = state;
        } else {
            rule.pending = Some(state);
        }
    }

    fn issue_token(&mut self, load: &Load) {
        let Some(response) = self.send_write(load, &self.app.token_request("read")) else { return };
        match response.json_string("access_token") {
            Ok(secret) => self.new_tokens.push(Token { secret, state: TokenState::Live }),
            Err(error) => self.outcome.record_loss(format!("{}: {error}", self.name)),
        }
    }

    fn revoke_token(&mut self, load: &Load) {
        let is_live = |token: &Token| token.state == TokenState::Live;
        let Some(index) = choose_index(&mut self.rng, &self.new_tokens, is_live) else { return };
        let request = self.app.revocation_request(&self.new_tokens[index].secret);
        let is_acknowledged = self.send_write(load, &request).is_some();
        self.new_tokens[index].state =
            if is_acknowledged { TokenState::Revoked } else { TokenState::MaybeRevoked };
    }

    fn issue_code(&mut self, load: &Load) {
        let result = self.app.authorize(&self.client, &self.user);
        let Some(response) = self.record_write(load, result) else { return };
        match App::extract_code(&response) {
            Some(secret) => self.new_codes.push(Code { secret, state: CodeState::Unused }),
            None => self.outcome.record_loss(format!(
                "{}: no code for a signed-in user: {} {}",
                self.name, response.status, response.location
            )),
        }
    }

    fn redeem_code(&mut self, load: &Load) {
        let is_unused = |code: &Code| matches!(code.state, CodeState::Unused);
        let Some(index) = choose_index(&mut self.rng, &self.new_codes, is_unused) else { return };
        let request = self.app.redemption_request(&self.new_codes[index].secret);
        let result = self.client.send(&request);
        let response = self.record_write(load, result);
        let token = response.and_then(|response| response.json_string("access_token").ok());
        self.new_codes[index].state = match token {
            Some(token) => CodeState::Redeemed { token },
            None => CodeState::MaybeRedeemed,
        };
    }
}
