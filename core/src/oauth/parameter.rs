//! The names of OAuth request parameters.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The maximum length of the `state` parameter, in bytes.
pub const MAX_STATE_LENGTH: usize = 8192;

/// A parameter that some OAuth endpoint reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the protocol names them")]
pub enum Parameter {
    ClientId,
    ClientSecret,
    Code,
    CodeChallenge,
    CodeChallengeMethod,
    CodeVerifier,
    ForceLogin,
    GrantType,
    Lang,
    RedirectUri,
    ResponseMode,
    ResponseType,
    Scope,
    State,
    Token,
}

impl Parameter {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientId => "client_id",
            Self::ClientSecret => "client_secret",
            Self::Code => "code",
            Self::CodeChallenge => "code_challenge",
            Self::CodeChallengeMethod => "code_challenge_method",
            Self::CodeVerifier => "code_verifier",
            Self::ForceLogin => "force_login",
            Self::GrantType => "grant_type",
            Self::Lang => "lang",
            Self::RedirectUri => "redirect_uri",
            Self::ResponseMode => "response_mode",
            Self::ResponseType => "response_type",
            Self::Scope => "scope",
            Self::State => "state",
            Self::Token => "token",
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_serialized_as_its_protocol_name() {
        for parameter in [Parameter::CodeChallengeMethod, Parameter::RedirectUri, Parameter::Lang] {
            let json = serde_json::to_string(&parameter).unwrap();
            assert_eq!(json, format!("\"{parameter}\""));
        }
    }
}
