//! Bearer tokens in the `Authorization` header or the query (RFC 6750).

use thiserror::Error;

use crate::secret::Secret;

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
