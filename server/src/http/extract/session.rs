//! Who looks at a page: a browser with its cookie, the person signed in there, their language.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use belfry_core::oauth::form::Pairs;
use belfry_core::secret::{Digest, Secret};
use jiff::Timestamp;

use crate::app::AppState;
use crate::config::{BaseUrl, Sessions};
use crate::http::error::{CommonError, PageError};
use crate::http::extract::cookie::Cookie;
use crate::http::extract::form::value;
use crate::http::extract::page_format::wants_json;
use crate::language::Language;
use crate::pages::Layout;
use crate::random;
use crate::store::{Account, Session};

/// How often it is noted that a session is in use, in seconds.
const NOTED: i64 = 60;

/// A browser, and who is signed in there.
pub(crate) struct BrowserSession {
    pub(crate) state: Arc<AppState>,
    /// The cookie that the browser has, or is to get.
    cookie: Secret,
    has_cookie: bool,
    signed_in: Option<SignedIn>,
    accept_language: Option<String>,
    wants_json: bool,
    /// Whether the browser says, or does not deny, that a page of ours made it call.
    from_us: bool,
}

struct SignedIn {
    account: Account,
    language: Option<Language>,
}

impl FromRequestParts<Arc<AppState>> for BrowserSession {
    type Rejection = CommonError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<AppState>,
    ) -> Result<Self, CommonError> {
        let headers = &parts.headers;
        let cookie = Cookie::Browser.read(headers, &state.base_url);
        let signed_in = match &cookie {
            Some(cookie) => signed_in(state, cookie.digest()).await?,
            None => None,
        };
        Ok(Self {
            state: Arc::clone(state),
            has_cookie: cookie.is_some(),
            cookie: cookie.unwrap_or_else(|| random::secret(state.clock.now())),
            signed_in,
            accept_language: text(headers, header::ACCEPT_LANGUAGE).map(str::to_owned),
            wants_json: wants_json(headers),
            from_us: is_from_us(headers, &state.base_url),
        })
    }
}

impl BrowserSession {
    /// What the browser's requests are bound to.
    pub(crate) fn digest(&self) -> Digest {
        self.cookie.digest()
    }

    /// Who is signed in.
    pub(crate) fn account(&self) -> Option<&Account> {
        self.signed_in.as_ref().map(|signed_in| &signed_in.account)
    }

    /// What a form of ours carries, and a form of nobody else can: it is made from the cookie.
    pub(crate) fn csrf(&self) -> String {
        Secret::new(format!("csrf {}", self.cookie.reveal())).digest().to_text()
    }

    /// Whether no other site made the browser call, as far as it tells.
    pub(crate) fn is_from_us(&self) -> bool {
        self.from_us
    }

    /// Demands that a form is one of ours, by its origin and by its token.
    pub(crate) fn check(&self, pairs: &Pairs) -> Result<(), PageError> {
        let expected = Secret::new(self.csrf()).digest();
        let token = Secret::new(value(pairs, "csrf")).digest();
        if self.from_us && self.has_cookie && token == expected {
            Ok(())
        } else {
            Err(PageError::Unchecked)
        }
    }

    /// Language and server, where a request may wish for a language.
    pub(crate) fn layout(&self, lang: Option<&str>) -> Layout<'_> {
        let session = self.signed_in.as_ref().and_then(|signed_in| signed_in.language);
        let language = Language::negotiate(lang, session, self.accept_language.as_deref());
        Layout { language, server: self.state.server_name() }
    }

    /// Whether errors are to be objects and not pages.
    pub(crate) fn wants_json(&self) -> bool {
        self.wants_json
    }

    /// The answer, with the cookie if the browser does not have it yet.
    pub(crate) fn greeted(&self, mut answer: Response) -> Response {
        if !self.has_cookie {
            let cookie = self.cookie_header();
            answer.headers_mut().append(header::SET_COOKIE, cookie);
        }
        answer
    }

    /// Signs somebody in who has proved to be the account's owner, unless its password is another
    /// since then. The browser gets another cookie, so that nobody who knew the old one is signed
    /// in with it.
    pub(crate) async fn sign_in(
        &mut self,
        account: Account,
        lang: Option<&str>,
    ) -> Result<bool, CommonError> {
        let language = lang.and_then(Language::from_tag);
        let now = self.state.clock.now();
        let session = Session {
            account: account.id,
            created_at: now,
            seen_at: now,
            expires_at: end(now, now, self.state.config.sessions),
            lang: language.map(|language| language.code().to_owned()),
        };
        let cookie = random::secret(now);
        let store = &self.state.store;
        if !store.add_session(cookie.digest(), &session, &account.password).await? {
            return Ok(false);
        }
        self.sign_out().await?;
        self.cookie = cookie;
        self.signed_in = Some(SignedIn { account, language });
        Ok(true)
    }

    /// Ends the session, if there is one, and gives the browser another cookie.
    pub(crate) async fn sign_out(&mut self) -> Result<(), CommonError> {
        if self.signed_in.take().is_some() {
            self.state.store.end_session(self.digest()).await?;
        }
        self.cookie = random::secret(self.state.clock.now());
        self.has_cookie = false;
        Ok(())
    }

    fn cookie_header(&self) -> HeaderValue {
        let seconds = self.state.config.sessions.absolute_timeout.as_secs();
        Cookie::Browser.set(&self.state.base_url, &self.cookie, seconds)
    }
}

/// Who is signed in by this cookie. That the session is in use is noted now and then.
async fn signed_in(state: &AppState, cookie: Digest) -> Result<Option<SignedIn>, CommonError> {
    let now = state.clock.now();
    let Some(session) = state.store.session(cookie, now).await? else { return Ok(None) };
    let account = state.store.account(session.account).await?;
    let Some(account) = account.filter(|account| account.disabled_at.is_none()) else {
        return Ok(None);
    };
    if now.as_second() - session.seen_at.as_second() >= NOTED {
        let expires_at = end(session.created_at, now, state.config.sessions);
        state.store.touch_session(cookie, now, expires_at).await?;
    }
    let language = session.lang.as_deref().and_then(Language::from_tag);
    Ok(Some(SignedIn { account, language }))
}

/// When a session ends that began then and is used now.
fn end(created_at: Timestamp, now: Timestamp, sessions: Sessions) -> Timestamp {
    let after = |time: Timestamp, length| time.checked_add(length).unwrap_or(Timestamp::MAX);
    after(created_at, sessions.absolute_timeout).min(after(now, sessions.idle_timeout))
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// A browser says which site made it call; an older one says which origin, and our pages make it
/// say `null`. Where it says nothing, the form's token alone protects.
fn is_from_us(headers: &HeaderMap, base_url: &BaseUrl) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin" || site == "none";
    }
    match headers.get(header::ORIGIN) {
        Some(origin) => origin == "null" || *origin == *base_url.to_string(),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    // Attack 95.
    #[test]
    fn a_call_from_another_site_is_not_from_us() {
        let base_url: BaseUrl = "https://ring.example".parse().unwrap();
        for (name, told, from_us) in [
            ("sec-fetch-site", "same-origin", true),
            ("sec-fetch-site", "none", true),
            ("sec-fetch-site", "same-site", false),
            ("sec-fetch-site", "cross-site", false),
            ("sec-fetch-site", "", false),
            ("origin", "https://ring.example", true),
            ("origin", "null", true),
            ("origin", "http://ring.example", false),
            ("origin", "https://ring.example:8443", false),
            ("origin", "https://ring.example.evil.example", false),
            ("x-other", "", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, told.parse().unwrap());
            assert_eq!(is_from_us(&headers, &base_url), from_us, "{name}: {told}");
        }
    }

    // Attack 105.
    #[test]
    fn a_session_ends_when_it_is_idle_and_when_it_is_old() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let sessions = Sessions {
            idle_timeout: Duration::from_secs(10),
            absolute_timeout: Duration::from_secs(100),
        };
        assert_eq!(end(at(0), at(0), sessions), at(10));
        assert_eq!(end(at(0), at(50), sessions), at(60));
        assert_eq!(end(at(0), at(95), sessions), at(100));
    }
}
