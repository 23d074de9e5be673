//! Concurrent clients that write, remember what was acknowledged, and check it afterwards.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::Result;
use crate::app::{App, User};
use crate::client::{Client, Request, Response};
use crate::outcome::{Outcome, Run};

/// The number of concurrent clients.
pub(crate) const WORKERS: usize = 64;

/// Users of the clients. Several clients share one, so that they write the same ruleset.
const USERS: usize = 8;

/// Rules of each client.
const RULES: usize = 3;

/// The most tokens and codes of each client in a round, all of which are checked after it. A client
/// that has reached it only writes rules.
const SECRETS: usize = 20;

const RULES_PATH: &str = "/_matrix/client/v3/pushrules/global/content/";

/// A failed write is not acknowledged, but may have been made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    Stop,
    Continue,
}

/// The state of a load that is shared by all clients.
pub(crate) struct Load {
    on_failure: OnFailure,
    stop: AtomicBool,
    acknowledged: AtomicU64,
    failed: AtomicU64,
}

impl Load {
    fn new(on_failure: OnFailure) -> Self {
        Self {
            on_failure,
            stop: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    pub(crate) fn wait_for_acknowledged(&self, more: u64) -> Result<()> {
        wait_for_more(&self.acknowledged, more, "acknowledged")
    }

    pub(crate) fn wait_for_failed(&self, more: u64) -> Result<()> {
        wait_for_more(&self.failed, more, "failed")
    }
}

fn wait_for_more(count: &AtomicU64, more: u64, name: &str) -> Result<()> {
    let (start, before) = (Instant::now(), count.load(Ordering::Relaxed));
    loop {
        let found = count.load(Ordering::Relaxed) - before;
        if found >= more {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(90) {
            return Err(format!("only {found} of {more} writes {name} in 90 s").into());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// All clients of one service.
pub(crate) struct Workers(Vec<Worker>);

impl Workers {
    /// Registers an app, adds its users, and distributes the clients over them and the nodes.
    pub(crate) fn set_up(run: &mut Run, nodes: &[SocketAddr]) -> Result<Self> {
        let app = Arc::new(App::register(nodes[0])?);
        let users = (0..USERS).map(|user| app.add_user(nodes[0], &format!("user{user}")));
        let users = users.map(|user| user.map(Arc::new)).collect::<Result<Vec<_>>>()?;
        let worker = |number: usize| Worker {
            name: format!("w{number}"),
            client: Client::new(nodes[number % nodes.len()]),
            app: Arc::clone(&app),
            user: Arc::clone(&users[number % USERS]),
            rng: run.rng.fork(),
            codes_expire: false,
            next: 0,
            rules: vec![],
            tokens: vec![],
            codes: vec![],
            earlier: vec![],
            outcome: Outcome::default(),
        };
        Ok(Self((0..WORKERS).map(worker).collect()))
    }

    /// Expects that codes expire at any time, because the clock jumps.
    pub(crate) fn with_expiring_codes(mut self) -> Self {
        for worker in &mut self.0 {
            worker.codes_expire = true;
        }
        self
    }

    /// Writes in all clients while `control` runs.
    pub(crate) fn load<T>(
        &mut self,
        run: &mut Run,
        on_failure: OnFailure,
        control: impl FnOnce(&Load) -> Result<T>,
    ) -> Result<T> {
        let load = Load::new(on_failure);
        let result = thread::scope(|scope| {
            for worker in &mut self.0 {
                scope.spawn(|| worker.write_until_stopped(&load));
            }
            let result = control(&load);
            load.stop.store(true, Ordering::Relaxed);
            result
        });
        self.collect(run);
        result
    }

    /// Checks everything that was acknowledged since the last check, and a sample of the rest.
    pub(crate) fn verify(&mut self, run: &mut Run) -> Result<()> {
        self.in_parallel(run, Worker::verify)
    }

    /// Checks everything that was acknowledged since the beginning.
    pub(crate) fn verify_all(&mut self, run: &mut Run) -> Result<()> {
        self.in_parallel(run, |worker| {
            worker.verify()?;
            worker.verify_all_earlier()
        })
    }

    fn in_parallel(
        &mut self,
        run: &mut Run,
        work: impl Fn(&mut Worker) -> Result<()> + Sync,
    ) -> Result<()> {
        let work = &work;
        let results: Vec<Result<()>> = thread::scope(|scope| {
            let threads = self.0.iter_mut().map(|worker| scope.spawn(move || work(worker)));
            let threads: Vec<_> = threads.collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err("a client panicked".into()))
            };
            threads.into_iter().map(join).collect()
        });
        self.collect(run);
        results.into_iter().collect()
    }

    fn collect(&mut self, run: &mut Run) {
        for worker in &mut self.0 {
            run.outcome.add(std::mem::take(&mut worker.outcome));
        }
    }
}

/// A client, and everything that was acknowledged to it.
struct Worker {
    name: String,
    client: Client,
    app: Arc<App>,
    user: Arc<User>,
    rng: Rng,
    codes_expire: bool,
    /// The number of the next rule or pattern.
    next: u64,
    rules: Vec<Rule>,
    /// Tokens and codes since the last check.
    tokens: Vec<Token>,
    codes: Vec<Code>,
    /// Tokens of earlier checks.
    earlier: Vec<Token>,
    outcome: Outcome,
}

struct Rule {
    id: String,
    /// The state after the last acknowledged write.
    acknowledged: RuleState,
    /// The state after a later write that was not acknowledged, if it was made.
    pending: Option<RuleState>,
}

#[derive(Debug, PartialEq, Eq)]
enum RuleState {
    Absent,
    Pattern(String),
}

struct Token {
    secret: String,
    state: TokenState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenState {
    Live,
    /// The revocation was not acknowledged.
    MaybeRevoked,
    Revoked,
}

struct Code {
    secret: String,
    state: CodeState,
}

enum CodeState {
    Unused,
    /// The redemption was not acknowledged.
    MaybeRedeemed,
    Redeemed {
        token: String,
    },
}

impl Worker {
    fn write_until_stopped(&mut self, load: &Load) {
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
        let full = self.tokens.len() + self.codes.len() >= SECRETS;
        match self.rng.u8(0..10) {
            7 => self.revoke_token(load),
            5 | 6 if !full => self.issue_token(load),
            8 if !full => self.issue_code(load),
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

    /// Counts the result of a write and returns the response if it was acknowledged.
    fn record(&mut self, load: &Load, result: Result<Response>) -> Option<Response> {
        match result {
            Ok(response) if response.status < 400 => {
                load.acknowledged.fetch_add(1, Ordering::Relaxed);
                self.outcome.acknowledged += 1;
                return Some(response);
            }
            Ok(response) if response.status < 500 => self.outcome.lose(format!(
                "{}: a valid write was rejected: {} {}",
                self.name, response.status, response.body
            )),
            _ => {}
        }
        load.failed.fetch_add(1, Ordering::Relaxed);
        self.outcome.failed += 1;
        None
    }

    /// Writes a rule, unless it has a pending write: that one is checked first.
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
            Err(error) => self.outcome.lose(format!("{}: {error}", self.name)),
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
        match App::code_of(&response) {
            Some(secret) => self.codes.push(Code { secret, state: CodeState::Unused }),
            None => self.outcome.lose(format!(
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

    /// Checks everything since the last check and a sample of the rest.
    fn verify(&mut self) -> Result<()> {
        self.verify_rules()?;
        for token in std::mem::take(&mut self.tokens) {
            self.verify_token(&token)?;
            if token.state != TokenState::MaybeRevoked {
                self.earlier.push(token);
            }
        }
        for code in std::mem::take(&mut self.codes) {
            self.verify_code(code)?;
        }
        if let Some(index) = choose(&mut self.rng, &self.earlier, |_| true) {
            let Token { secret, state } = &self.earlier[index];
            let token = Token { secret: secret.clone(), state: *state };
            self.verify_token(&token)?;
        }
        Ok(())
    }

    fn verify_all_earlier(&mut self) -> Result<()> {
        for token in std::mem::take(&mut self.earlier) {
            self.verify_token(&token)?;
            self.earlier.push(token);
        }
        Ok(())
    }

    fn verify_rules(&mut self) -> Result<()> {
        if self.rules.is_empty() {
            return Ok(());
        }
        let request = Request::get(RULES_PATH).with_bearer(&self.user.token);
        let response = self.client.send_until_available(&request)?;
        let listed: Value = serde_json::from_str(&response.body)?;
        let listed = listed.as_array().cloned().unwrap_or_default();
        let mut kept = vec![];
        for rule in std::mem::take(&mut self.rules) {
            let found = listed.iter().find(|found| found["rule_id"] == *rule.id);
            let found = match found.and_then(|found| found["pattern"].as_str()) {
                Some(pattern) => RuleState::Pattern(pattern.to_owned()),
                None => RuleState::Absent,
            };
            let is_expected = found == rule.acknowledged || rule.pending.as_ref() == Some(&found);
            self.outcome.check(is_expected, || {
                let Rule { id, acknowledged, pending } = &rule;
                format!(
                    "rule {id}: found {found:?}, acknowledged {acknowledged:?}, pending {pending:?}"
                )
            });
            if rule.pending.is_none() {
                kept.push(rule);
            } else {
                // A killed server's write may still be in progress in PostgreSQL, so this rule is
                // not used again.
                let path = format!("{RULES_PATH}{}", rule.id);
                let request = Request::delete(path).with_bearer(&self.user.token);
                self.client.send_until_available(&request)?;
            }
        }
        self.rules = kept;
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

    fn verify_code(&mut self, code: Code) -> Result<()> {
        let request = self.app.redeem_code(&code.secret);
        let token = match code.state {
            CodeState::Redeemed { token } => {
                let status = self.token_status(&token)?;
                self.outcome.check(status == 200, || format!("the token of a code got {status}"));
                Some(token)
            }
            CodeState::Unused | CodeState::MaybeRedeemed => {
                let response = self.client.send_until_available(&request)?;
                let may_be_rejected = response.is_repeated
                    || self.codes_expire
                    || matches!(code.state, CodeState::MaybeRedeemed);
                let is_expected =
                    response.status == 200 || (may_be_rejected && response.is_invalid_grant());
                self.outcome.check(is_expected, || {
                    format!("a code was rejected: {} {}", response.status, response.body)
                });
                response.json_text("access_token").ok()
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
            self.earlier.push(token);
        }
        Ok(())
    }

    fn token_status(&self, token: &str) -> Result<u16> {
        let request = Request::get("/api/v1/apps/verify_credentials").with_bearer(token);
        Ok(self.client.send_until_available(&request)?.status)
    }
}

/// Returns the index of a random item for which this holds.
fn choose<T>(rng: &mut Rng, items: &[T], holds: impl Fn(&T) -> bool) -> Option<usize> {
    let indices: Vec<usize> = (0..items.len()).filter(|&index| holds(&items[index])).collect();
    rng.choice(indices)
}
