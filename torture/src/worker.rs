//! A client that records which of its writes were acknowledged.

mod families;
mod verify;
mod write;

use std::sync::Arc;

use fastrand::Rng;

use self::families::Family;
use crate::app::{App, User};
use crate::client::Client;
use crate::outcome::Outcome;
use crate::public_client::PublicClient;

const RULES_PATH: &str = "/_matrix/client/v3/pushrules/global/content/";

/// A client that records which of its writes were acknowledged.
pub(crate) struct Worker {
    name: String,
    client: Client,
    app: Arc<App>,
    user: Arc<User>,
    rng: Rng,
    /// The number in the last rule id or pattern.
    last_number: u64,
    rules: Vec<Rule>,
    /// Tokens that were issued since the last check.
    new_tokens: Vec<Token>,
    /// Codes that were issued since the last check.
    new_codes: Vec<Code>,
    checked_tokens: Vec<Token>,
    /// `None` if the worker does not sign in with one.
    public_client: Option<PublicClient>,
    families: Vec<Family>,
    pub(crate) outcome: Outcome,
}

struct Rule {
    id: String,
    /// The state after the last acknowledged write.
    acknowledged: RuleState,
    /// The state after a later write that was not acknowledged, if that write took effect.
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
    pub(crate) fn new(
        name: String,
        client: Client,
        app: Arc<App>,
        user: Arc<User>,
        rng: Rng,
    ) -> Self {
        Self {
            name,
            client,
            app,
            user,
            rng,
            last_number: 0,
            rules: vec![],
            new_tokens: vec![],
            new_codes: vec![],
            checked_tokens: vec![],
            public_client: None,
            families: vec![],
            outcome: Outcome::default(),
        }
    }
}

/// Returns the index of a random item that satisfies `holds`.
fn choose_index<T>(rng: &mut Rng, items: &[T], holds: impl Fn(&T) -> bool) -> Option<usize> {
    let indices: Vec<usize> = (0..items.len()).filter(|&index| holds(&items[index])).collect();
    rng.choice(indices)
}
