//! Checks that all acknowledged writes of a worker are stored.

use serde_json::Value;

use super::{
    Code, CodeState, RULES_PATH, Rule, RuleState, Token, TokenState, Worker, choose_index,
};
use crate::Result;
use crate::client::Request;

impl Rule {
    /// Returns whether this stored state results from the acknowledged or the pending write.
    fn allows(&self, stored_state: &RuleState) -> bool {
        *stored_state == self.acknowledged || self.pending.as_ref() == Some(stored_state)
    }
}

impl RuleState {
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
    /// This also redeems unused codes, refreshes families, and deletes rules whose last write was
    /// not acknowledged.
    pub(crate) fn verify(&mut self) -> Result<()> {
        self.verify_rules()?;
        for token in std::mem::take(&mut self.new_tokens) {
            self.verify_token(&token)?;
            if token.state != TokenState::MaybeRevoked {
                self.checked_tokens.push(token);
            }
        }
        // An app may have only 100 app tokens.
        let excess = self.checked_tokens.len().saturating_sub(50);
        self.checked_tokens.drain(..excess);
        for code in std::mem::take(&mut self.new_codes) {
            self.verify_code(code)?;
        }
        if let Some(public_client) = self.public_client.clone() {
            self.verify_families(&public_client)?;
        }
        if let Some(index) = choose_index(&mut self.rng, &self.checked_tokens, |_| true) {
            let Token { secret, state } = &self.checked_tokens[index];
            let token = Token { secret: secret.clone(), state: *state };
            self.verify_token(&token)?;
        }
        Ok(())
    }

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
        let response = self.client.send_until_available(&request)?;
        let list: Vec<Value> = serde_json::from_str(&response.body)?;
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
        let status = self.token_status(&token.secret)?;
        let is_expected = match token.state {
            TokenState::Live => status == 200,
            TokenState::Revoked => status == 401,
            TokenState::MaybeRevoked => status == 200 || status == 401,
        };
        self.outcome
            .check(is_expected, || format!("a token is {:?} and got {status}", token.state));
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
                let may_be_rejected =
                    response.is_retried || matches!(code.state, CodeState::MaybeRedeemed);
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
        if let Some(secret) = token {
            // The replay has revoked the token of the first redemption.
            let token = Token { secret, state: TokenState::Revoked };
            self.verify_token(&token)?;
            self.checked_tokens.push(token);
        }
        Ok(())
    }

    pub(super) fn token_status(&self, token: &str) -> Result<u16> {
        let request = Request::get("/api/v1/apps/verify_credentials").with_bearer(token);
        Ok(self.client.send_until_available(&request)?.status)
    }
}
