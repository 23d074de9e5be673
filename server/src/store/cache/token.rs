//! Tokens as they are kept in memory: a million of them must fit.

use belfry_core::oauth::scope::Scopes;
use jiff::Timestamp;

use crate::store::accounts::Name;
use crate::store::tokens::{Token, TokenAccount};

/// The time at which a token ends that does not.
const NEVER: i64 = i64::MAX;

/// A token, small if it is of the common sort.
#[derive(Clone)]
pub(super) enum Kept {
    /// The token of a user that nothing has ended. Times are in whole seconds.
    Good { app: i64, account: i64, name: Name, scopes: Scopes, created: i64, expires: i64 },
    /// Any other.
    Other(Box<Token>),
}

impl Kept {
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
            } => Self::Good {
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

    /// How many bytes it takes beside its place in the cache.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Good { scopes, .. } => scopes.bytes(),
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
            assert_eq!(Kept::new(&kept).token(), kept);
        }
    }

    #[test]
    fn a_common_token_is_small_and_in_one_piece() {
        assert!(size_of::<Kept>() <= 96, "{}", size_of::<Kept>());
        assert_eq!(Kept::new(&token()).bytes(), 0);
        let many = Token { scopes: Scope::ALL.iter().copied().collect(), ..token() };
        assert!(Kept::new(&many).bytes() >= Scope::ALL.len());
    }
}
