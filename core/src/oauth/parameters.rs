//! The parameters of an OAuth request: known ones at most once, unknown ones ignored.

use super::error::OAuthError;
use super::parameter::Parameter;

/// The decoded name-value pairs of a request, in order. Not `Debug`, because values can be secrets.
#[derive(Clone, Copy)]
pub struct Parameters<'a>(&'a [(String, String)]);

impl<'a> Parameters<'a> {
    /// Wraps the pairs of a query, of a body, or of both in sequence.
    pub const fn new(pairs: &'a [(String, String)]) -> Self {
        Self(pairs)
    }

    /// Returns a parameter's value. An empty value counts as absent (RFC 6749, section 3.1). A
    /// parameter that occurs more than once, even with equal values, is rejected, and so is a list
    /// or a map.
    pub fn optional(self, parameter: Parameter) -> Result<Option<&'a str>, OAuthError> {
        let mut unique_value = None;
        for (name, value) in self.0 {
            let Some(suffix) = name.strip_prefix(parameter.as_str()) else { continue };
            if suffix.starts_with('[') {
                return Err(OAuthError::NotScalar(parameter));
            }
            if suffix.is_empty() && unique_value.replace(value.as_str()).is_some() {
                return Err(OAuthError::Repeated(parameter));
            }
        }
        Ok(unique_value.filter(|value| !value.is_empty()))
    }

    /// Returns a required parameter's value, which must not be empty.
    pub fn required(self, parameter: Parameter) -> Result<&'a str, OAuthError> {
        self.optional(parameter)?.ok_or(OAuthError::Missing(parameter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::tests::to_pairs;

    fn scope_value(pairs: &[(&str, &str)]) -> Result<Option<String>, OAuthError> {
        let pairs = to_pairs(pairs);
        Parameters::new(&pairs).optional(Parameter::Scope).map(|scope| scope.map(str::to_owned))
    }

    #[test]
    fn an_empty_value_counts_as_absent() {
        assert_eq!(scope_value(&[("scope", "")]), Ok(None));
        assert_eq!(scope_value(&[]), Ok(None));
        assert_eq!(scope_value(&[("scope", "read")]), Ok(Some("read".into())));
    }

    // RFC 6749, section 3.1.
    #[test]
    fn a_repeated_parameter_is_rejected() {
        let expected = Err(OAuthError::Repeated(Parameter::Scope));
        for pairs in [
            [("scope", "read"), ("scope", "write")],
            [("scope", "read"), ("scope", "read")],
            [("scope", ""), ("scope", "read")],
            [("scope", "read"), ("scope", "")],
        ] {
            assert_eq!(scope_value(&pairs), expected, "{pairs:?}");
        }
    }

    #[test]
    fn unknown_parameters_are_ignored_even_when_repeated() {
        let mut pairs = vec![("colour", "red"); 1000];
        pairs.extend([("scope", "read"), ("scopes", "write"), ("Scope", "push"), ("", "x")]);
        assert_eq!(scope_value(&pairs), Ok(Some("read".into())));
    }

    #[test]
    fn a_list_or_a_map_is_rejected() {
        for name in ["scope[]", "scope[a]", "scope[", "scope[0][a]"] {
            let expected = Err(OAuthError::NotScalar(Parameter::Scope));
            assert_eq!(scope_value(&[(name, "read")]), expected, "{name}");
        }
    }

    #[test]
    fn a_required_parameter_must_have_a_value() {
        let pairs = [("code".to_owned(), String::new())];
        let expected = Err(OAuthError::Missing(Parameter::Code));
        assert_eq!(Parameters::new(&pairs).required(Parameter::Code), expected);
    }
}
