//! A compact form of tokens for the cache.

use belfry_core::oauth::scope::Scopes;
use jiff::Timestamp;

use crate::store::accounts::Name;
use crate::store::tokens::{Token, TokenAccount};

/// The expiry of a token that does not expire.
const NEVER: i64 = i64::MAX;

/// A cached token, compact in the common case.
#[derive(Clone)]
pub(super) enum CachedToken {
    /// A valid token of a user, with times in whole seconds.
    Valid { app: i64, account: i64, name: Name, scopes: Scopes, created: i64, expires: i64 },
    /// Any other token.
    Other(Box<Token>),
}

impl CachedToken {
    pub(super) fn new(token: &Token) -> Self {
        match token {
            Token {
                app,
                account: Some(TokenAccount { id, name, disabled_at: None }),
                scopes,
                created_at,
                expires_at,
                revoked_at: None,
                app_disabled_at: None,
            } => Self::Valid {
                app: *app,
                account: *id,
                name: *name,
                scopes: scopes.clone(),
                created: created_at.as_second(),
                expires: expires_at.map_or(NEVER, Timestamp::as_second),
            },
            _ => Self::Other(Box::new(token.clone())),
        }
    }

    pub(super) fn into_token(self) -> Token {
        let at = |second| Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
        match self {
            Self::Valid { app, account, name, scopes, created, expires } => Token {
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

    /// Whether the token was issued for this account, by this app or by any.
    pub(super) fn belongs_to(&self, wanted: i64, through: Option<i64>) -> bool {
        let (account, app) = match self {
            Self::Valid { app, account, .. } => (Some(*account), *app),
            Self::Other(token) => (token.account.as_ref().map(|account| account.id), token.app),
        };
        account == Some(wanted) && through.is_none_or(|through| through == app)
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Valid { scopes, .. } => scopes.bytes(),
            Self::Other(token) => size_of::<Token>() + token.scopes.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::oauth::scope::Scope;

    use super::*;

    fn token() -> Token {
        let at = |second| Timestamp::from_second(second).unwrap();
        Token {
            app: 1,
            account: Some(TokenAccount {
                id: 7,
                name: "alice".parse().unwrap(),
                disabled_at: None,
            }),
            scopes: "read push".parse().unwrap(),
            created_at: at(5),
            expires_at: Some(at(9)),
            revoked_at: None,
            app_disabled_at: None,
        }
    }

    #[test]
    fn a_token_survives_the_compact_form() {
        let at = Timestamp::from_second(6).ok();
        let disabled = TokenAccount { disabled_at: at, ..token().account.unwrap() };
        for token in [
            token(),
            Token { expires_at: None, ..token() },
            Token { account: None, ..token() },
            Token { account: Some(disabled), ..token() },
            Token { revoked_at: at, ..token() },
            Token { app_disabled_at: at, ..token() },
        ] {
            assert_eq!(CachedToken::new(&token).into_token(), token);
        }
    }

    #[test]
    fn a_common_token_is_small_and_needs_no_heap() {
        assert!(size_of::<CachedToken>() <= 96, "{}", size_of::<CachedToken>());
        assert_eq!(CachedToken::new(&token()).heap_bytes(), 0);
        let many = Token { scopes: Scope::ALL.iter().copied().collect(), ..token() };
        assert!(CachedToken::new(&many).heap_bytes() >= Scope::ALL.len());
    }
}
