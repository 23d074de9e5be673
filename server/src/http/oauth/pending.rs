//! An authorization request on its way: kept while its user signs in and decides, then answered.

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::oauth::app::App;
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::form::Pairs;
use belfry_core::oauth::grant::{Binding, Grant};
use belfry_core::oauth::metadata::issuer;
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::request::{self, AuthorizationRequest, NextStep, RequestedGrant};
use belfry_core::oauth::response::{AuthorizationResponse, Delivery};
use belfry_core::oauth::scope::Scopes;
use belfry_core::secret::Secret;
use jiff::{SignedDuration, Timestamp};

use crate::http::error::{CommonError, PageError};
use crate::http::extract::cookie::Cookie;
use crate::http::extract::session::BrowserSession;
use crate::http::paths::{AUTHORIZE_RESUME, OUT_OF_BAND_CODE};
use crate::http::respond::page::{Forms, redirect, show};
use crate::pages::FormPostPage;
use crate::random;
use crate::store::{self, Code, Consent, StoreError};

/// How long a user may take to sign in and decide.
const OPEN: SignedDuration = SignedDuration::from_hours(1);

/// A request, and how far its user has come with it.
pub(crate) struct PendingAuthorization {
    pub(crate) app: App,
    pub(crate) request: AuthorizationRequest,
    /// The account that has signed in for it.
    account: Option<i64>,
    /// What the user's browser knows it by, once it is kept.
    handle: Option<Secret>,
}

impl PendingAuthorization {
    /// A request as an app sends it, through a browser.
    pub(crate) async fn new(session: &BrowserSession, pairs: &Pairs) -> Result<Self, PageError> {
        let parameters = Parameters::new(pairs);
        let client_id = request::client_id(parameters)?;
        let app = session.state.store.app_by_client_id(client_id).await?;
        let app = app.filter(|app| app.disabled_at.is_none()).map(|app| app.to_core());
        let request = AuthorizationRequest::parse(parameters, app.as_ref())?;
        let app = app.ok_or(OAuthError::InvalidClient)?;
        let account = session.account().map(|account| account.id);
        // A session is not enough where the password is wanted again.
        let account = account.filter(|_| !request.force_login);
        Ok(Self { app, request, account, handle: None })
    }

    /// The request that this browser knows by a handle.
    pub(crate) async fn kept(session: &BrowserSession, handle: Secret) -> Result<Self, PageError> {
        let (store, now) = (&session.state.store, session.state.clock.now());
        let kept = store.request(handle.digest(), session.digest(), now).await?;
        Self::read(session, handle, kept).await
    }

    /// The same, but to answer it: nobody else can take it after that.
    pub(crate) async fn taken(session: &BrowserSession, handle: Secret) -> Result<Self, PageError> {
        let (store, now) = (&session.state.store, session.state.clock.now());
        let taken = store.consume_request(handle.digest(), session.digest(), now).await?;
        Self::read(session, handle, taken).await
    }

    async fn read(
        session: &BrowserSession,
        handle: Secret,
        kept: Option<store::Request>,
    ) -> Result<Self, PageError> {
        let kept = kept.ok_or(PageError::Expired)?;
        let app = session.state.store.app(kept.app).await?;
        let app = app.filter(|app| app.disabled_at.is_none()).ok_or(OAuthError::InvalidClient)?;
        let request = serde_json::from_str(&kept.details);
        let request = request.map_err(|_| StoreError::Unreadable("request"))?;
        let signed_in = session.account().map(|account| account.id);
        let account = kept.account.filter(|account| Some(*account) == signed_in);
        Ok(Self { app: app.to_core(), request, account, handle: Some(handle) })
    }

    /// The language that the app wishes for its user.
    pub(crate) fn lang(&self) -> Option<&str> {
        self.request.lang.as_deref()
    }

    /// Where the forms of the pages about it may lead.
    pub(crate) fn forms(&self) -> Forms<'_> {
        Forms::LeadTo(&self.request.target.redirect_uri)
    }

    /// What the browser knows it by; it is kept from now on.
    pub(crate) async fn handle(&mut self, session: &BrowserSession) -> Result<Secret, PageError> {
        if let Some(handle) = &self.handle {
            return Ok(handle.clone());
        }
        let now = session.state.clock.now();
        let handle = random::secret(now);
        let kept = store::Request {
            app: self.app.id,
            browser: session.digest(),
            account: self.account,
            details: serde_json::to_string(&self.request).map_err(|_| CommonError::Internal)?,
            expires_at: now.checked_add(OPEN).unwrap_or(Timestamp::MAX),
        };
        session.state.store.add_request(handle.digest(), &kept).await?;
        self.handle = Some(handle.clone());
        Ok(handle)
    }

    /// The next step of the authorization.
    pub(crate) async fn next_step(&self, session: &BrowserSession) -> Result<NextStep, PageError> {
        let granted = self.granted(session).await?;
        Ok(self.request.next_step(self.account.is_some(), &granted))
    }

    /// Completes the request without asking the user again.
    pub(crate) async fn complete_unasked(
        mut self,
        session: &BrowserSession,
    ) -> Result<Response, PageError> {
        let last = match self.handle.take() {
            Some(handle) => Self::taken(session, handle).await?,
            None => self,
        };
        last.approve(session, Some(session.state.clock.now())).await
    }

    /// The user agrees.
    pub(crate) async fn allow(self, session: &BrowserSession) -> Result<Response, PageError> {
        self.approve(session, None).await
    }

    /// The user agrees, or has agreed before and the app has access at this time; if there is
    /// anything to agree to, the app gets its code.
    async fn approve(
        self,
        session: &BrowserSession,
        unasked: Option<Timestamp>,
    ) -> Result<Response, PageError> {
        let account = self.account.ok_or(PageError::Expired)?;
        match &self.request.requested {
            Ok(asked) => {
                let consent = Consent { session: session.digest(), unasked };
                let code = self.issue_code(session, account, asked, consent).await?;
                self.deliver(session, AuthorizationResponse::Code(&code))
            }
            Err(refusal) => self.deliver(session, AuthorizationResponse::Error(*refusal)),
        }
    }

    /// The user does not agree.
    pub(crate) fn deny(self, session: &BrowserSession) -> Result<Response, PageError> {
        self.account.ok_or(PageError::Expired)?;
        self.deliver(session, AuthorizationResponse::Error(OAuthError::AccessDenied))
    }

    async fn granted(&self, session: &BrowserSession) -> Result<Vec<Scopes>, PageError> {
        let Some(account) = self.account else { return Ok(Vec::new()) };
        let (store, now) = (&session.state.store, session.state.clock.now());
        let granted = store.granted_scopes(account, self.app.id, now).await?;
        Ok(granted.iter().filter_map(|scopes| scopes.parse().ok()).collect())
    }

    async fn issue_code(
        &self,
        session: &BrowserSession,
        account: i64,
        asked: &RequestedGrant,
        consent: Consent,
    ) -> Result<Secret, PageError> {
        let now = session.state.clock.now();
        let code = random::secret(now);
        let redirect_uri = self.request.target.redirect_uri.as_str().to_owned();
        let binding = Binding { redirect_uri, challenge: asked.challenge };
        let granted = Code {
            app: self.app.id,
            account,
            scopes: asked.scopes.to_string(),
            details: serde_json::to_string(&binding).map_err(|_| CommonError::Internal)?,
            expires_at: Grant::expiry(now),
            token: None,
        };
        let added = session.state.store.add_code(code.digest(), &granted, consent).await?;
        if added { Ok(code) } else { Err(PageError::Expired) }
    }

    fn deliver(
        &self,
        session: &BrowserSession,
        answer: AuthorizationResponse<'_>,
    ) -> Result<Response, PageError> {
        let issuer = issuer(&session.state.base_url.to_string());
        match (self.request.target.deliver(&issuer, answer), answer) {
            (Delivery::Redirect(location), _) => redirect(session, &location),
            (Delivery::Post { action, fields }, _) => {
                let layout = session.layout(self.lang());
                let app = &self.app.details.name;
                let page = FormPostPage { layout, app, action: &action, fields: &fields };
                show(session, StatusCode::OK, &page, self.forms())
            }
            (Delivery::Show, AuthorizationResponse::Code(code)) => {
                let mut answer = redirect(session, &out_of_band_path(self.lang()))?;
                let seconds = belfry_core::oauth::grant::CODE_LIFETIME.as_secs();
                let cookie = Cookie::Code.set(&session.state.base_url, code, seconds);
                answer.headers_mut().append(header::SET_COOKIE, cookie);
                Ok(answer)
            }
            (Delivery::Show, AuthorizationResponse::Error(refusal)) => Err(refusal.into()),
        }
    }
}

/// The path at which a browser continues with the request of this handle.
pub(crate) fn resume_path(handle: &Secret) -> String {
    format!("{AUTHORIZE_RESUME}?request={}", handle.reveal())
}

/// The path of the page that shows a code, in the language that the app asks for.
fn out_of_band_path(lang: Option<&str>) -> String {
    let query = lang.map(|lang| format!("?lang={lang}")).unwrap_or_default();
    format!("{OUT_OF_BAND_CODE}{query}")
}
