//! The parameters of an OAuth request: known ones at most once, unknown ones ignored.

use super::error::OAuthError;
use super::parameter::Parameter;

/// The decoded pairs of a request, in the order in which they came. They can hold secrets, so
/// they have no `Debug`.
#[derive(Clone, Copy)]
pub struct Parameters<'a>(&'a [(String, String)]);

impl<'a> Parameters<'a> {
    /// Takes the pairs of a query string or of a body, or of both one after the other.
    #[must_use]
    pub const fn new(pairs: &'a [(String, String)]) -> Self {
        Self(pairs)
    }

    /// The value of a parameter. An empty value counts as none, as RFC 6749 asks in section 3.1.
    ///
    /// # Errors
    /// When the parameter is there more than once, even with one value, or is a list or a map.
    pub fn optional(self, parameter: Parameter) -> Result<Option<&'a str>, OAuthError> {
        let mut found = None;
        for (name, value) in self.0 {
            let Some(rest) = name.strip_prefix(parameter.as_str()) else { continue };
            if rest.starts_with('[') {
                return Err(OAuthError::NotOneValue(parameter));
            }
            if rest.is_empty() && found.replace(value.as_str()).is_some() {
                return Err(OAuthError::Repeated(parameter));
            }
        }
        Ok(found.filter(|value| !value.is_empty()))
    }

    /// The value of a parameter that must be there.
    ///
    /// # Errors
    /// As for an optional one, and when it is absent or empty.
    pub fn required(self, parameter: Parameter) -> Result<&'a str, OAuthError> {
        self.optional(parameter)?.ok_or(OAuthError::Missing(parameter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(pairs: &[(&str, &str)]) -> Result<Option<String>, OAuthError> {
        let pairs: Vec<_> = pairs.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
        Parameters::new(&pairs).optional(Parameter::Scope).map(|found| found.map(str::to_owned))
    }

    #[test]
    fn an_empty_value_counts_as_none() {
        assert_eq!(scope(&[("scope", "")]), Ok(None));
        assert_eq!(scope(&[]), Ok(None));
        assert_eq!(scope(&[("scope", "read")]), Ok(Some("read".into())));
    }

    // Attacks 12, 23 and 24.
    #[test]
    fn a_known_parameter_is_there_at_most_once() {
        let repeated = Err(OAuthError::Repeated(Parameter::Scope));
        for pairs in [
            [("scope", "read"), ("scope", "write")],
            [("scope", "read"), ("scope", "read")],
            [("scope", ""), ("scope", "read")],
            [("scope", "read"), ("scope", "")],
        ] {
            assert_eq!(scope(&pairs), repeated, "{pairs:?}");
        }
    }

    // Attack 26.
    #[test]
    fn unknown_parameters_are_ignored_however_often_they_come() {
        let mut pairs = vec![("colour", "red"); 1000];
        pairs.extend([("scope", "read"), ("scopes", "write"), ("Scope", "push"), ("", "x")]);
        assert_eq!(scope(&pairs), Ok(Some("read".into())));
    }

    // Attack 27.
    #[test]
    fn a_list_or_a_map_is_not_one_value() {
        for name in ["scope[]", "scope[a]", "scope[", "scope[0][a]"] {
            let refused = Err(OAuthError::NotOneValue(Parameter::Scope));
            assert_eq!(scope(&[(name, "read")]), refused, "{name}");
        }
    }

    #[test]
    fn what_is_required_must_have_a_value() {
        let pairs = [("code".to_owned(), String::new())];
        let missing = Err(OAuthError::Missing(Parameter::Code));
        assert_eq!(Parameters::new(&pairs).required(Parameter::Code), missing);
    }
}
