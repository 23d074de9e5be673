//! Tokens as they are kept in memory: a million of them must fit.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use crate::store::tokens::{Token, TokenAccount};

/// How many different lists of scopes are shared by the tokens that carry them.
const SHARED_SCOPES: usize = 1024;

/// The time at which a token ends that does not.
const NEVER: i64 = i64::MAX;

/// A token, small if it is of the common sort.
#[derive(Clone)]
pub(super) enum Kept {
    /// The token of a user that nothing has ended. Times are in whole seconds.
    Good { app: i64, account: i64, name: Arc<str>, scopes: Arc<str>, created: i64, expires: i64 },
    /// Any other.
    Other(Box<Token>),
}

impl Kept {
    pub(super) fn new(token: &Token, scopes: &Scopes) -> Self {
        match token {
            Token {
                app,
                account: Some(TokenAccount { id, name, disabled_at: None }),
                scopes: text,
                created_at,
                expires_at,
                revoked_at: None,
                app_disabled_at: None,
            } => Self::Good {
                app: *app,
                account: *id,
                name: Arc::clone(name),
                scopes: scopes.share(text),
                created: created_at.as_second(),
                expires: expires_at.map_or(NEVER, Timestamp::as_second),
            },
            _ => Self::Other(Box::new(token.clone())),
        }
    }

    pub(super) fn token(self) -> Token {
        let at = |second| Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
        match self {
            Self::Good { app, account, name, scopes, created, expires } => Token {
                app,
                account: Some(TokenAccount { id: account, name, disabled_at: None }),
                scopes,
                created_at: at(created),
                expires_at: (expires != NEVER).then(|| at(expires)),
                revoked_at: None,
                app_disabled_at: None,
            },
            Self::Other(token) => *token,
        }
    }

    /// Whether it speaks for this account, through this app or through any.
    pub(super) fn is_of(&self, wanted: i64, through: Option<i64>) -> bool {
        let (account, app) = match self {
            Self::Good { app, account, .. } => (Some(*account), *app),
            Self::Other(token) => (token.account.as_ref().map(|account| account.id), token.app),
        };
        account == Some(wanted) && through.is_none_or(|through| through == app)
    }

    /// About how many bytes it takes beside its place in the cache.
    pub(super) fn bytes(&self) -> usize {
        match self {
            // The name and its counts, as allocators round them.
            Self::Good { name, .. } => (name.len() + 16).next_multiple_of(16),
            Self::Other(token) => size_of::<Token>() + token.scopes.len() + 96,
        }
    }
}

/// Lists of scopes, each kept once.
#[derive(Default)]
pub(super) struct Scopes(Mutex<HashSet<Arc<str>>>);

impl Scopes {
    fn share(&self, scopes: &Arc<str>) -> Arc<str> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shared.get(scopes) {
            return Arc::clone(known);
        }
        if shared.len() < SHARED_SCOPES {
            shared.insert(Arc::clone(scopes));
        }
        Arc::clone(scopes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        let at = |second| Timestamp::from_second(second).unwrap();
        Token {
            app: 1,
            account: Some(TokenAccount { id: 7, name: "alice".into(), disabled_at: None }),
            scopes: "read push".into(),
            created_at: at(5),
            expires_at: Some(at(9)),
            revoked_at: None,
            app_disabled_at: None,
        }
    }

    #[test]
    fn a_token_is_given_back_as_it_was_kept() {
        let at = Timestamp::from_second(6).ok();
        let disabled = TokenAccount { disabled_at: at, ..token().account.unwrap() };
        for kept in [
            token(),
            Token { expires_at: None, ..token() },
            Token { account: None, ..token() },
            Token { account: Some(disabled), ..token() },
            Token { revoked_at: at, ..token() },
            Token { app_disabled_at: at, ..token() },
        ] {
            assert_eq!(Kept::new(&kept, &Scopes::default()).token(), kept);
        }
    }

    #[test]
    fn a_common_token_is_small_and_shares_its_scopes() {
        assert!(size_of::<Kept>() <= 64, "{}", size_of::<Kept>());
        let scopes = Scopes::default();
        let [one, other] = [(); 2].map(|()| Kept::new(&token(), &scopes));
        let (Kept::Good { scopes: one, .. }, Kept::Good { scopes: other, .. }) = (one, other)
        else {
            panic!("both are of the common sort");
        };
        assert!(Arc::ptr_eq(&one, &other));
    }
}
