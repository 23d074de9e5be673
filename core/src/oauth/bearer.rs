//! The access token that a request presents: in its `Authorization` header or in its query.

use thiserror::Error;

use crate::secret::Secret;

/// Why a request does not tell which token it presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BearerError {
    /// More than one token, or one in two places. Which of them counts would be anybody's guess.
    #[error("send the access token once: in the Authorization header or as access_token")]
    Several,
}

/// The token of a request, given its `Authorization` headers and the `access_token` parameters of
/// its query. None when it presents none; another scheme than `Bearer` presents none.
///
/// # Errors
/// When it presents more than one.
pub fn extract_token<'a>(
    headers: impl IntoIterator<Item = &'a [u8]>,
    parameters: impl IntoIterator<Item = &'a str>,
) -> Result<Option<Secret>, BearerError> {
    let mut headers = headers.into_iter();
    let header = headers.next();
    if headers.next().is_some() {
        return Err(BearerError::Several);
    }
    let mut found = header.and_then(bearer).map(Secret::new);
    for parameter in parameters {
        if found.replace(Secret::new(parameter)).is_some() {
            return Err(BearerError::Several);
        }
    }
    Ok(found.filter(|token| !token.reveal().is_empty()))
}

/// What stands behind `Bearer` and one space. What is no token will be found to be nobody's.
fn bearer(header: &[u8]) -> Option<&str> {
    let header = str::from_utf8(header).ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_presents_one_token_or_none() {
        type Case<'a> = (&'a [&'a str], &'a [&'a str], Result<Option<&'a str>, BearerError>);
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
            (&[], &["abc", "abc"], Err(BearerError::Several)),
            (&["Bearer abc"], &["abc"], Err(BearerError::Several)),
            (&["Bearer abc", "Bearer abc"], &[], Err(BearerError::Several)),
        ];
        for (headers, parameters, expected) in cases {
            let bytes = headers.iter().map(|header| header.as_bytes());
            let found = extract_token(bytes, parameters.iter().copied());
            let found = found.map(|token| token.map(|token| token.reveal().to_owned()));
            assert_eq!(found, expected.map(|token| token.map(str::to_owned)), "{headers:?}");
        }
        assert!(extract_token([b"Bearer \xff".as_slice()], []).unwrap().is_none());
    }
}
