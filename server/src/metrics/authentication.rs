//! Metrics of sign-ins and issued tokens.

use belfry_runtime::metrics::Counter;
use belfry_runtime::metrics::exposition::Exposition;

use super::families;

/// Counters of sign-in attempts by method, and of issued tokens.
#[derive(Debug, Default)]
pub struct AuthenticationMetrics {
    pub page_sign_ins: SignInCounters,
    pub matrix_logins: SignInCounters,
    pub tokens: TokenCounters,
}

/// Attempts to sign in, by outcome.
#[derive(Debug, Default)]
pub struct SignInCounters {
    /// A session or token was created.
    pub success: Counter,
    /// The name or the password was wrong, or the account was disabled.
    pub rejected: Counter,
    /// The attempt exceeded an abuse limit.
    pub rate_limited: Counter,
    /// The password queue was full.
    pub busy: Counter,
}

/// Issued tokens, by grant.
#[derive(Debug, Default)]
pub struct TokenCounters {
    /// Tokens issued for a code, after a user approved the app.
    pub authorization_code: Counter,
    /// Pairs of tokens issued for a refresh token, new ones and repeated ones.
    pub refresh_token: Counter,
    /// Refresh tokens that had been used before, so that their family was ended.
    pub reused_refresh_tokens: Counter,
    pub client_credentials: Counter,
    /// Tokens issued for a sign-up through an app.
    pub sign_up: Counter,
    pub matrix_login: Counter,
}

impl AuthenticationMetrics {
    pub(super) fn write(&self, out: &mut Exposition) {
        let mut sign_ins = out.family(&families::SIGN_INS);
        for (method, counters) in [("page", &self.page_sign_ins), ("matrix", &self.matrix_logins)] {
            for (outcome, counter) in [
                ("success", &counters.success),
                ("rejected", &counters.rejected),
                ("rate_limited", &counters.rate_limited),
                ("busy", &counters.busy),
            ] {
                sign_ins.value(&[method, outcome], counter.get());
            }
        }
        let mut tokens = out.family(&families::TOKENS_ISSUED);
        for (grant, counter) in [
            ("authorization_code", &self.tokens.authorization_code),
            ("refresh_token", &self.tokens.refresh_token),
            ("client_credentials", &self.tokens.client_credentials),
            ("sign_up", &self.tokens.sign_up),
            ("matrix_login", &self.tokens.matrix_login),
        ] {
            tokens.value(&[grant], counter.get());
        }
        out.value(&families::REFRESH_TOKENS_REUSED, self.tokens.reused_refresh_tokens.get());
    }
}
