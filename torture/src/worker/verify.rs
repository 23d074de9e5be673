//! Checks that all acknowledged writes of a worker are stored.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{
    Code, CodeState, RULES_PATH, Rule, RuleState, Token, TokenState, Worker, choose_index,
};
use crate::Result;
use crate::client::Request;

/// Maximum time until a node has processed an invalidation from another, on a busy machine.
const MAX_NOTIFICATION_DELAY: Duration = Duration::from_secs(30);

impl Rule {
    /// Returns whether this stored state results from the acknowledged or the pending write.
    fn allows(&self, stored_state: &RuleState) -> bool {
        *stored_state == self.acknowledged || self.pending.as_ref() == Some(stored_state)
    }
}

impl RuleState {
    /// Returns the state of the rule with this id in a list.
    fn find(list: &[Value], id: &str) -> Self {
        let rule = list.iter().find(|rule| rule["rule_id"] == id);
        match rule.and_then(|rule| rule["pattern"].as_str()) {
            Some(pattern) => Self::Pattern(pattern.to_owned()),
            None => Self::Absent,
        }
    }
}

impl Worker {
    /// Checks all writes since the last check, and one random earlier token.
    ///
    /// This also redeems unused codes, and deletes rules whose last write was not acknowledged.
    pub(crate) fn verify(&mut self) -> Result<()> {
        self.verify_rules()?;
        for token in std::mem::take(&mut self.new_tokens) {
            self.verify_token(&token)?;
            if token.state != TokenState::MaybeRevoked {
                self.checked_tokens.push(token);
            }
        }
        for code in std::mem::take(&mut self.new_codes) {
            self.verify_code(code)?;
        }
        if let Some(index) = choose_index(&mut self.rng, &self.checked_tokens, |_| true) {
            let Token { secret, state } = &self.checked_tokens[index];
            let token = Token { secret: secret.clone(), state: *state };
            self.verify_token(&token)?;
        }
        Ok(())
    }

    /// Rechecks the tokens of earlier checks.
    pub(crate) fn verify_checked_tokens(&mut self) -> Result<()> {
        for token in std::mem::take(&mut self.checked_tokens) {
            self.verify_token(&token)?;
            self.checked_tokens.push(token);
        }
        Ok(())
    }

    fn verify_rules(&mut self) -> Result<()> {
        if self.rules.is_empty() {
            return Ok(());
        }
        let request = Request::get(RULES_PATH).with_bearer(&self.user.token);
        let list_rules = || {
            let response = self.client.send_until_available(&request)?;
            let list: Value = serde_json::from_str(&response.body)?;
            Ok(list.as_array().cloned().unwrap_or_default())
        };
        let are_expected = |list: &Vec<Value>| {
            self.rules.iter().all(|rule| rule.allows(&RuleState::find(list, &rule.id)))
        };
        let list = self.read_until_expected(list_rules, are_expected)?;
        let mut settled_rules = vec![];
        for rule in std::mem::take(&mut self.rules) {
            let stored_state = RuleState::find(&list, &rule.id);
            self.outcome.check(rule.allows(&stored_state), || {
                let Rule { id, acknowledged, pending } = &rule;
                format!(
                    "rule {id}: stored {stored_state:?}, acknowledged {acknowledged:?}, pending {pending:?}"
                )
            });
            if rule.pending.is_none() {
                settled_rules.push(rule);
            } else {
                // A killed server's write may still be in progress in PostgreSQL, so this rule is
                // not used again.
                let path = format!("{RULES_PATH}{}", rule.id);
                let request = Request::delete(path).with_bearer(&self.user.token);
                self.client.send_until_available(&request)?;
            }
        }
        self.rules = settled_rules;
        Ok(())
    }

    fn verify_token(&mut self, token: &Token) -> Result<()> {
        let is_expected = |status: &u16| match token.state {
            TokenState::Live => *status == 200,
            TokenState::Revoked => *status == 401,
            TokenState::MaybeRevoked => *status == 200 || *status == 401,
        };
        let status = self.read_until_expected(|| self.token_status(&token.secret), is_expected)?;
        self.outcome.check(is_expected(&status), || {
            format!("a token is {:?} and got {status}", token.state)
        });
        Ok(())
    }

    /// Redeems the code unless it is redeemed already, and then redeems it again: the replay must
    /// be rejected and revoke the token.
    fn verify_code(&mut self, code: Code) -> Result<()> {
        let request = self.app.redemption_request(&code.secret);
        let token = match code.state {
            CodeState::Redeemed { token } => {
                let status = self.token_status(&token)?;
                self.outcome.check(status == 200, || format!("the token from a code got {status}"));
                Some(token)
            }
            CodeState::Unused | CodeState::MaybeRedeemed => {
                let response = self.client.send_until_available(&request)?;
                let may_be_rejected = response.is_retried
                    || self.codes_expire
                    || matches!(code.state, CodeState::MaybeRedeemed);
                let is_expected =
                    response.status == 200 || (may_be_rejected && response.is_invalid_grant());
                self.outcome.check(is_expected, || {
                    format!("a code was rejected: {} {}", response.status, response.body)
                });
                response.json_string("access_token").ok()
            }
        };
        let replay = self.client.send_until_available(&request)?;
        self.outcome.check(replay.is_invalid_grant(), || {
            format!("a code was redeemed twice: {} {}", replay.status, replay.body)
        });
        // An expired code may have been deleted, and then a replay is not recognised as such.
        if let Some(secret) = token.filter(|_| !self.codes_expire) {
            // The replay has revoked the token of the first redemption.
            let token = Token { secret, state: TokenState::Revoked };
            self.verify_token(&token)?;
            self.checked_tokens.push(token);
        }
        Ok(())
    }

    /// Reads a value. With several nodes, reads it again until it is as expected, or until a
    /// notification must have arrived.
    fn read_until_expected<T>(
        &self,
        read: impl Fn() -> Result<T>,
        is_expected: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            let value = read()?;
            let is_overdue = start.elapsed() > MAX_NOTIFICATION_DELAY;
            if !self.has_several_nodes || is_expected(&value) || is_overdue {
                return Ok(value);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn token_status(&self, token: &str) -> Result<u16> {
        let request = Request::get("/api/v1/apps/verify_credentials").with_bearer(token);
        Ok(self.client.send_until_available(&request)?.status)
    }
}
