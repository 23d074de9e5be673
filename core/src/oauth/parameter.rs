//! The names of the parameters of OAuth requests.

use crate::wire_enum::wire_enum;

/// Maximum length of the `state` parameter, in bytes.
pub const MAX_STATE_LENGTH: usize = 4096;

wire_enum! {
    /// A parameter that some OAuth endpoint reads.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Parameter {
        ClientId = "client_id",
        ClientSecret = "client_secret",
        Code = "code",
        CodeChallenge = "code_challenge",
        CodeChallengeMethod = "code_challenge_method",
        CodeVerifier = "code_verifier",
        ForceLogin = "force_login",
        GrantType = "grant_type",
        Lang = "lang",
        LoginHint = "login_hint",
        Prompt = "prompt",
        RedirectUri = "redirect_uri",
        RefreshToken = "refresh_token",
        ResponseMode = "response_mode",
        ResponseType = "response_type",
        Scope = "scope",
        State = "state",
        Token = "token",
    }
}
