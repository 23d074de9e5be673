//! The browser session of a page request: cookie, signed-in account and language.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use belfry_core::audit::{AuditKind, NewAuditEvent, session_network};
use belfry_core::form::{Pairs, last_value};
use belfry_core::secret::{HashedSecret, Sha256Digest, SplitToken};
use belfry_core::user_agent::UserAgent;
use belfry_runtime::log_throttle::LogThrottle;
use belfry_runtime::random;
use belfry_store::{Account, Session, WriteOutcome};
use jiff::Timestamp;

use crate::app::AppState;
use crate::auth::authentication::AuthenticationProof;
use crate::config::SessionSettings;
use crate::http::error::{CommonError, PageError};
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::cookie::Cookie;
use crate::http::extract::form::Query;
use crate::http::extract::page_language::{chosen_language, language_link, wants_json};
use crate::http::extract::same_origin::{SEC_FETCH_SITE, is_same_origin};
use crate::language::Language;
use crate::log::request_context::RequestContext;
use crate::pages::{AccountNav, AccountSection, Layout, Notice, PendingDeletion};

static SESSION_USE_ERROR_LOG: LogThrottle =
    LogThrottle::new("failed to store the last use of a session");

/// Minimum time between two updates of a session's last use.
const LAST_USE_INTERVAL_SECONDS: i64 = 60;

/// A browser, and the account that is signed in there.
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties of a request")]
pub(crate) struct BrowserSession {
    pub(crate) state: AppState,
    pub(crate) guard: AbuseGuard,
    pub(crate) now: Timestamp,
    pub(crate) lang: Option<Language>,
    pub(crate) notice: Option<Notice>,
    /// The page to return to after signing in, in the query of the request.
    pub(crate) return_to: Option<AccountSection>,
    /// True if errors are returned as JSON.
    pub(crate) wants_json: bool,
    /// True if the request comes from a page of this server, according to the browser's headers.
    pub(crate) is_same_origin: bool,
    /// True if the request follows a form or link on a page of this server, even through a
    /// redirect: browsers repeat the header of the first request.
    pub(crate) is_from_own_page: bool,
    /// The cookie that the browser has, or that the response sets.
    cookie: SplitToken,
    has_cookie: bool,
    /// True if the browser has signed in and not signed out.
    has_signed_in: bool,
    user: Option<SignedInUser>,
    chosen_language: Option<Language>,
    accept_language: Option<String>,
    language_link: String,
    browser: UserAgent,
}

struct SignedInUser {
    account: Account,
    language: Option<Language>,
}

impl FromRequestParts<AppState> for BrowserSession {
    type Rejection = CommonError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, CommonError> {
        let Query(query) = Query::from_request_parts(parts, state).await?;
        let Ok(guard) = AbuseGuard::from_request_parts(parts, state).await;
        let now = state.clock.now();
        let headers = &parts.headers;
        let accept_language = headers
            .get(header::ACCEPT_LANGUAGE)
            .and_then(|value| Some(value.to_str().ok()?.to_owned()));
        let cookie = Cookie::Browser.read_secret(headers, &state.base_url);
        let user = match &cookie {
            Some(cookie) => load_session(state, cookie.hashed_secret(), now).await?,
            None => None,
        };
        Ok(Self {
            state: state.clone(),
            guard: guard.for_page(),
            now,
            lang: Language::from_tag(last_value(&query, "lang")),
            notice: last_value(&query, "notice").parse().ok(),
            return_to: last_value(&query, "return_to").parse().ok(),
            wants_json: wants_json(headers),
            is_same_origin: is_same_origin(headers, &state.base_url),
            is_from_own_page: headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "same-origin"),
            has_cookie: cookie.is_some(),
            has_signed_in: Cookie::SignedIn.value(headers, &state.base_url).is_some(),
            cookie: cookie.unwrap_or_else(|| random::split_token(now)),
            user,
            chosen_language: chosen_language(headers, &state.base_url),
            accept_language,
            language_link: language_link(&parts.method, &parts.uri),
            browser: UserAgent::from_header(
                headers.get(header::USER_AGENT).map_or(&[], HeaderValue::as_bytes),
            ),
        })
    }
}

impl BrowserSession {
    /// Returns the hash of the cookie, to which authorization requests are bound.
    pub(crate) fn hashed_cookie(&self) -> HashedSecret {
        self.cookie.hashed_secret()
    }

    pub(crate) fn account(&self) -> Option<&Account> {
        self.user.as_ref().map(|user| &user.account)
    }

    /// Returns whether the session of this browser has ended other than by signing out here.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_signed_in && self.user.is_none()
    }

    /// Returns a success event, to be stored with the change that it records.
    pub(crate) fn success_event(&self, kind: AuditKind) -> NewAuditEvent {
        self.guard.audit.success_event(kind)
    }

    /// Returns the signed-in account, or the error that redirects to the sign-in page and from
    /// there back to this account page.
    pub(crate) fn require_account(&self, section: AccountSection) -> Result<&Account, PageError> {
        self.account().ok_or(PageError::SignInRequired(section, None))
    }

    /// Returns the signed-in account after checking that the form comes from a page of this server.
    /// If no account is signed in, the error redirects to the sign-in page, and from there back to
    /// this account page with a notice that nothing was saved.
    pub(crate) fn require_account_for_form(
        &self,
        section: AccountSection,
        pairs: &Pairs,
    ) -> Result<&Account, PageError> {
        let not_saved = PageError::SignInRequired(section, Some(Notice::NotSaved));
        let account = self.account().ok_or(not_saved)?;
        self.check_form(pairs)?;
        Ok(account)
    }

    /// Returns the CSRF token of forms, derived from the cookie.
    pub(crate) fn csrf_token(&self) -> String {
        Sha256Digest::compute(&format!("csrf {}", self.cookie.reveal())).to_text()
    }

    /// Requires that a form comes from a page of this server, by its origin and its CSRF token.
    pub(crate) fn check_form(&self, pairs: &Pairs) -> Result<(), PageError> {
        let expected_token = Sha256Digest::compute(&self.csrf_token());
        let token = Sha256Digest::compute(last_value(pairs, "csrf"));
        if self.is_same_origin && self.has_cookie && token == expected_token {
            Ok(())
        } else {
            Err(PageError::ForgedForm)
        }
    }

    /// Returns the layout of a page in `lang`, or else in the language chosen on a page, the
    /// session's or the browser's.
    pub(crate) fn layout(&self, lang: Option<Language>) -> Layout<'_> {
        let session_language = self.user.as_ref().and_then(|user| user.language);
        let accept = self.accept_language.as_deref();
        let language = Language::negotiate(lang, self.chosen_language, session_language, accept);
        Layout {
            ignores_early_input: !self.is_from_own_page,
            language_link: &self.language_link,
            ..self.state.layout(language)
        }
    }

    /// Returns the navigation of an account page, with the notice in the query.
    pub(crate) fn nav(&self, section: AccountSection) -> AccountNav {
        let delete_at = self.account().and_then(|account| account.delete_at);
        let deletion =
            delete_at.map(|delete_at| PendingDeletion { delete_at, csrf: self.csrf_token() });
        let lang = self.lang;
        let notice = self.notice;
        let links_devices = self.state.delivery.is_some();
        AccountNav { section, lang, notice, deletion, links_devices }
    }

    /// Adds the cookie to a response, unless the browser already has it. With a new cookie, the
    /// signed-in flag is set or removed too.
    pub(crate) fn with_cookie(&self, mut response: Response) -> Response {
        if !self.has_cookie {
            let seconds = self.state.config.sessions.absolute_timeout.as_secs();
            let cookie = Cookie::Browser.set_cookie_header(
                &self.state.base_url,
                self.cookie.reveal(),
                seconds,
            );
            response.headers_mut().append(header::SET_COOKIE, cookie);
            let is_signed_in = self.user.is_some();
            if is_signed_in || self.has_signed_in {
                let seconds = if is_signed_in { seconds } else { 0 };
                let cookie = Cookie::SignedIn.set_cookie_header(&self.state.base_url, "1", seconds);
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
        }
        response
    }

    /// Signs an account in, unless its password was changed since it was verified. The browser's
    /// previous session ends, and the browser gets a new cookie, to prevent session fixation.
    pub(crate) async fn sign_in(
        &mut self,
        proof: AuthenticationProof,
        language: Option<Language>,
    ) -> Result<WriteOutcome, CommonError> {
        let AuthenticationProof { account, methods, authenticated_at: now, .. } = proof;
        let language = language.or(self.chosen_language);
        let session = Session {
            account_id: account.id,
            methods,
            authenticated_at: now,
            created_at: now,
            seen_at: now,
            expires_at: session_expiry(now, now, self.state.config.sessions),
            lang: language.map(|language| language.code().to_owned()),
            browser: self.browser,
            address: Some(session_network(self.guard.audit.address)),
        };
        let cookie = random::split_token(now);
        let events = self.success_event(AuditKind::SignIn).into();
        let store = &self.state.store;
        let version = account.credential_version;
        let outcome = store.add_session(&events, cookie.hashed_secret(), &session, version).await?;
        if outcome == WriteOutcome::Written {
            self.sign_out().await?;
            self.cookie = cookie;
            RequestContext::record_account(account.id);
            self.user = Some(SignedInUser { account, language });
        }
        Ok(outcome)
    }

    /// Ends the session, if there is one, and gives the browser a new cookie.
    pub(crate) async fn sign_out(&mut self) -> Result<(), CommonError> {
        if let Some(SignedInUser { account, .. }) = self.user.take() {
            let events = self.success_event(AuditKind::SignOut).into();
            let lookup = self.cookie.hashed_secret().lookup_key;
            self.state.store.end_session(&events, account.id, lookup).await?;
        }
        self.cookie = random::split_token(self.now);
        self.has_cookie = false;
        Ok(())
    }
}

/// Loads the session with this cookie, unless its account is disabled. The time of its last use is
/// updated if the stored one is older than [`LAST_USE_INTERVAL_SECONDS`].
async fn load_session(
    state: &AppState,
    cookie: HashedSecret,
    now: Timestamp,
) -> Result<Option<SignedInUser>, CommonError> {
    let Some(session) = state.store.session(cookie, now).await? else { return Ok(None) };
    let account = state.store.account(session.account_id).await?;
    let Some(account) = account.filter(|account| account.disabled_at.is_none()) else {
        return Ok(None);
    };
    if now.as_second() - session.seen_at.as_second() >= LAST_USE_INTERVAL_SECONDS {
        let expires_at = session_expiry(session.created_at, now, state.config.sessions);
        let result = state.store.record_session_use(cookie.lookup_key, now, expires_at).await;
        // The page is shown even if nothing can be written, for example because the disk is full.
        if let Err(error) = result
            && SESSION_USE_ERROR_LOG.admits()
        {
            tracing::warn!(%error, "failed to store the last use of a session");
        }
    }
    RequestContext::record_account(account.id);
    let language = session.lang.as_deref().and_then(Language::from_tag);
    Ok(Some(SignedInUser { account, language }))
}

/// Returns the expiry of a session that was created at `created_at` and last used at `now`.
fn session_expiry(created_at: Timestamp, now: Timestamp, sessions: SessionSettings) -> Timestamp {
    let add = |time: Timestamp, timeout| time.checked_add(timeout).unwrap_or(Timestamp::MAX);
    add(created_at, sessions.absolute_timeout).min(add(now, sessions.idle_timeout))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_session_has_an_idle_and_an_absolute_timeout() {
        let timestamp = |second| Timestamp::from_second(second).unwrap();
        let sessions = SessionSettings {
            idle_timeout: Duration::from_secs(10),
            absolute_timeout: Duration::from_secs(100),
        };
        assert_eq!(session_expiry(timestamp(0), timestamp(0), sessions), timestamp(10));
        assert_eq!(session_expiry(timestamp(0), timestamp(50), sessions), timestamp(60));
        assert_eq!(session_expiry(timestamp(0), timestamp(95), sessions), timestamp(100));
    }
}
