//! The parameters of an OAuth request: known ones at most once, unknown ones ignored.

use super::error::OAuthError;
use super::parameter::Parameter;

/// The decoded name-value pairs of a request, in order. Has no `Debug`, because values can be
/// secrets.
#[derive(Clone, Copy)]
pub struct Parameters<'a>(&'a [(String, String)]);

impl<'a> Parameters<'a> {
    /// Wraps the pairs of a query, of a body, or of both in sequence.
    pub const fn new(pairs: &'a [(String, String)]) -> Self {
        Self(pairs)
    }

    /// Returns the value of a parameter. An empty value counts as absent (RFC 6749, section 3.1). A
    /// parameter that occurs more than once, even with equal values, is rejected, and so is a list
    /// or a map.
    pub fn optional(self, parameter: Parameter) -> Result<Option<&'a str>, OAuthError> {
        let mut single = None;
        for (name, value) in self.0 {
            let Some(rest) = name.strip_prefix(parameter.as_str()) else { continue };
            if rest.starts_with('[') {
                return Err(OAuthError::NotOneValue(parameter));
            }
            if rest.is_empty() && single.replace(value.as_str()).is_some() {
                return Err(OAuthError::Repeated(parameter));
            }
        }
        Ok(single.filter(|value| !value.is_empty()))
    }

    /// Returns the value of a required parameter, which must not be empty.
    pub fn required(self, parameter: Parameter) -> Result<&'a str, OAuthError> {
        self.optional(parameter)?.ok_or(OAuthError::Missing(parameter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::form::tests::to_pairs;

    fn scope(pairs: &[(&str, &str)]) -> Result<Option<String>, OAuthError> {
        let pairs = to_pairs(pairs);
        Parameters::new(&pairs).optional(Parameter::Scope).map(|scope| scope.map(str::to_owned))
    }

    #[test]
    fn an_empty_value_counts_as_absent() {
        assert_eq!(scope(&[("scope", "")]), Ok(None));
        assert_eq!(scope(&[]), Ok(None));
        assert_eq!(scope(&[("scope", "read")]), Ok(Some("read".into())));
    }

    // RFC 6749, section 3.1.
    #[test]
    fn a_repeated_parameter_is_rejected() {
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

    #[test]
    fn unknown_parameters_are_ignored_even_when_repeated() {
        let mut pairs = vec![("colour", "red"); 1000];
        pairs.extend([("scope", "read"), ("scopes", "write"), ("Scope", "push"), ("", "x")]);
        assert_eq!(scope(&pairs), Ok(Some("read".into())));
    }

    #[test]
    fn a_list_or_a_map_is_rejected() {
        for name in ["scope[]", "scope[a]", "scope[", "scope[0][a]"] {
            let rejected = Err(OAuthError::NotOneValue(Parameter::Scope));
            assert_eq!(scope(&[(name, "read")]), rejected, "{name}");
        }
    }

    #[test]
    fn a_required_parameter_must_have_a_value() {
        let pairs = [("code".to_owned(), String::new())];
        let missing = Err(OAuthError::Missing(Parameter::Code));
        assert_eq!(Parameters::new(&pairs).required(Parameter::Code), missing);
    }
}
