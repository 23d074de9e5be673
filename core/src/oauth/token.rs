//! Access tokens: their extraction from requests (RFC 6750), and the decision whether one is valid.

use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;

use super::scope::Scopes;
use crate::account::Role;
use crate::secret::Secret;

/// An issued access token with the state of its app and account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub app_id: i64,
    /// The account that granted the token; `None` for an app token.
    pub account: Option<TokenAccount>,
    /// The granted scopes that the account's role allows: [`Scopes::effective_for_role`].
    pub scopes: Scopes,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub app_disabled_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenAccount {
    pub id: i64,
    pub name: String,
    pub role: Role,
    pub disabled_at: Option<Timestamp>,
}

/// The reason an issued token is invalid. The messages are Mastodon's: clients compare them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The token was revoked, or its app was disabled.
    #[error("The access token was revoked")]
    Revoked,
    #[error("The access token expired")]
    Expired,
    #[error("Your login is currently disabled")]
    AccountDisabled,
}

impl Token {
    /// Checks that the token is valid at `now`.
    pub fn check_validity(&self, now: Timestamp) -> Result<(), TokenError> {
        self.check_validity_until(self.expires_at, now)
    }

    /// Checks that a token of this row which expires at this time is valid. Revocation is reported
    /// before expiry.
    pub fn check_validity_until(
        &self,
        expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), TokenError> {
        if self.revoked_at.is_some() || self.app_disabled_at.is_some() {
            Err(TokenError::Revoked)
        } else if expires_at.is_some_and(|expiry| expiry <= now) {
            Err(TokenError::Expired)
        } else if self.account.as_ref().is_some_and(|account| account.disabled_at.is_some()) {
            Err(TokenError::AccountDisabled)
        } else {
            Ok(())
        }
    }
}

/// Returns the expiry of a token, code or request that is issued now.
pub fn expiry_after(now: Timestamp, lifetime: Duration) -> Timestamp {
    now.checked_add(lifetime).unwrap_or(Timestamp::MAX)
}

/// The request contains more than one access token or `Authorization` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("send the access token once: in the Authorization header or as access_token")]
pub struct MultipleTokens;

/// Extracts the access token from the `Authorization` headers and the `access_token` query
/// parameters of a request. Returns `None` if there is none. Schemes other than `Bearer` are
/// ignored.
pub fn extract_token<'a>(
    headers: impl IntoIterator<Item = &'a [u8]>,
    parameters: impl IntoIterator<Item = &'a str>,
) -> Result<Option<Secret>, MultipleTokens> {
    let mut headers = headers.into_iter();
    let header = headers.next();
    if headers.next().is_some() {
        return Err(MultipleTokens);
    }
    let mut token = header.and_then(parse_bearer).map(Secret::new);
    for parameter in parameters {
        if token.replace(Secret::new(parameter)).is_some() {
            return Err(MultipleTokens);
        }
    }
    Ok(token.filter(|token| !token.reveal().is_empty()))
}

/// Returns the text after `Bearer` and one space; `None` for any other header.
fn parse_bearer(header: &[u8]) -> Option<&str> {
    let header = str::from_utf8(header).ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_token_is_valid_until_it_expires_is_revoked_or_its_account_or_app_is_disabled() {
        let account = |disabled_at| TokenAccount {
            id: 7,
            name: "a".to_owned(),
            role: Role::User,
            disabled_at,
        };
        let valid_token = Token {
            app_id: 1,
            account: Some(account(None)),
            scopes: "read".parse().unwrap(),
            created_at: time(1),
            expires_at: Some(time(10)),
            revoked_at: None,
            app_disabled_at: None,
        };
        assert_eq!(valid_token.check_validity(time(9)), Ok(()));
        assert_eq!(valid_token.check_validity(time(10)), Err(TokenError::Expired));
        let app_token = Token { account: None, expires_at: None, ..valid_token.clone() };
        assert_eq!(app_token.check_validity(time(99)), Ok(()));
        let disabled_account_token =
            Token { account: Some(account(Some(time(2)))), ..valid_token.clone() };
        assert_eq!(
            disabled_account_token.check_validity(time(9)),
            Err(TokenError::AccountDisabled)
        );
        let revoked_token = Token { revoked_at: Some(time(2)), ..valid_token.clone() };
        assert_eq!(revoked_token.check_validity(time(99)), Err(TokenError::Revoked));
        let disabled_app_token = Token { app_disabled_at: Some(time(2)), ..valid_token };
        assert_eq!(disabled_app_token.check_validity(time(9)), Err(TokenError::Revoked));
    }

    #[test]
    fn a_token_expires_after_its_lifetime_and_never_overflows() {
        assert_eq!(expiry_after(time(5), Duration::from_secs(10)), time(15));
        assert_eq!(expiry_after(time(5), Duration::MAX), Timestamp::MAX);
    }

    #[test]
    fn a_request_has_at_most_one_token() {
        type Case<'a> = (&'a [&'a str], &'a [&'a str], Result<Option<&'a str>, MultipleTokens>);
        let cases: [Case<'_>; 16] = [
            (&[], &[], Ok(None)),
            (&["Bearer abc"], &[], Ok(Some("abc"))),
            (&["bearer abc"], &[], Ok(Some("abc"))),
            (&["BEARER abc"], &[], Ok(Some("abc"))),
            (&["Bearer  abc"], &[], Ok(Some(" abc"))),
            (&["Bearer abc, Bearer def"], &[], Ok(Some("abc, Bearer def"))),
            (&["Bearer"], &[], Ok(None)),
            (&["Bearer "], &[], Ok(None)),
            (&["Bearer\tabc"], &[], Ok(None)),
            (&["Basic abc"], &[], Ok(None)),
            (&[], &["abc"], Ok(Some("abc"))),
            (&[], &[""], Ok(None)),
            (&["Basic abc"], &["abc"], Ok(Some("abc"))),
            (&[], &["abc", "abc"], Err(MultipleTokens)),
            (&["Bearer abc"], &["abc"], Err(MultipleTokens)),
            (&["Bearer abc", "Bearer abc"], &[], Err(MultipleTokens)),
        ];
        for (headers, parameters, expected) in cases {
            let bytes = headers.iter().map(|header| header.as_bytes());
            let token = extract_token(bytes, parameters.iter().copied())
                .map(|token| token.map(|token| token.reveal().to_owned()));
            assert_eq!(token, expected.map(|token| token.map(str::to_owned)), "{headers:?}");
        }
        assert!(extract_token([b"Bearer \xff".as_slice()], []).unwrap().is_none());
    }
}
