//! A pending authorization: stored while the user signs in and decides, then completed.

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::account::Role;
use belfry_core::audit::{AuditKind, AuditOutcome, NewAuditEvent, NewAuditEvents};
use belfry_core::form::{Pairs, last_value};
use belfry_core::oauth::app::App;
use belfry_core::oauth::authorization_request::{AuthorizationRequest, NextStep, RequestedGrant};
use belfry_core::oauth::authorization_response::Delivery;
use belfry_core::oauth::client::Issuer;
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::grant::{Binding, CODE_LIFETIME, CodeGrant};
use belfry_core::oauth::issuer_policy::IssuerPolicy;
use belfry_core::oauth::parameter::Parameter;
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::token::expiry_after;
use belfry_core::secret::{Secret, SplitToken};
use belfry_runtime::random;
use belfry_store::{Account, Consent, StoredRequest, WriteOutcome};

use crate::http::error::{PageError, log_rejection};
use crate::http::extract::cookie::Cookie;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, render_page};
use crate::language::Language;
use crate::log::request_context::RequestContext;
use crate::pages::{FormPostPage, RejectedPage};
use crate::paths::{AUTHORIZE_RESUME, OUT_OF_BAND_CODE, with_language};

/// Time for the user to sign in and decide.
const LIFETIME: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    /// The user consented to this request.
    Explicit,
    /// An earlier consent, which must still be valid, implies this one.
    Implied,
}

pub(crate) struct PendingAuthorization {
    pub(crate) app: App,
    pub(crate) request: AuthorizationRequest,
    parameters: Pairs,
    account_id: Option<i64>,
    /// The language that the user has chosen for the request. Links and forms preserve it.
    pub(crate) chosen_lang: Option<Language>,
    /// The secret that identifies the request in the browser, once it is stored.
    handle: Option<SplitToken>,
}

impl PendingAuthorization {
    /// Parses the request that an app sends through the browser. The reason for a rejection is
    /// logged.
    pub(crate) async fn new(
        session: &BrowserSession,
        issuer: Issuer,
        pairs: &Pairs,
    ) -> Result<Self, PageError> {
        let client_id = Parameters::new(pairs).required(Parameter::ClientId);
        let app = match client_id {
            Ok(client_id) => session.state.store.app_by_client_id(client_id).await?,
            Err(_) => None,
        };
        let enabled_app = app.filter(|app| app.disabled_at.is_none()).map(|app| app.app.clone());
        let app_id = enabled_app.as_ref().map(|app| app.id);
        let pending = client_id.and_then(|_| Self::from_pairs(session, issuer, pairs, enabled_app));
        Ok(pending.inspect_err(|error| {
            let is_unregistered = *error == OAuthError::InvalidRedirectUri;
            let redirect_uri = is_unregistered.then(|| last_value(pairs, "redirect_uri"));
            log_rejection(&error.clone().into(), app_id, redirect_uri);
        })?)
    }

    fn from_pairs(
        session: &BrowserSession,
        issuer: Issuer,
        pairs: &Pairs,
        app: Option<App>,
    ) -> Result<Self, OAuthError> {
        let policy = session.state.policy(issuer);
        let request = parse_request(policy, Parameters::new(pairs), app.as_ref())?;
        let app = app.ok_or(OAuthError::UnknownClient)?;
        // `force_login` requires a new sign-in, even with a session.
        let account = session.account().filter(|_| !request.force_login);
        let account_id = account.map(|account| account.id);
        let parameters = AuthorizationRequest::relevant_pairs(pairs)?;
        Ok(Self { app, request, parameters, account_id, chosen_lang: None, handle: None })
    }

    /// Loads the request with this handle, which must belong to this browser.
    pub(crate) async fn load(session: &BrowserSession, handle: &str) -> Result<Self, PageError> {
        let handle = SplitToken::parse(handle).ok_or(PageError::Expired)?;
        let store = &session.state.store;
        let stored_request =
            store.request(handle.hashed_secret(), session.hashed_cookie(), session.now).await?;
        let StoredRequest { app_id, account_id, parameters, .. } =
            stored_request.ok_or(PageError::Expired)?;
        let enabled_app = store.app(app_id).await?.filter(|app| app.disabled_at.is_none());
        let app = enabled_app.ok_or(OAuthError::UnknownClient)?.app;
        let policy = session.state.policy(app.properties.issuer);
        let request = parse_request(policy, Parameters::new(&parameters), Some(&app))?;
        let signed_in_id = session.account().map(|account| account.id);
        let account_id = account_id.filter(|id| Some(*id) == signed_in_id);
        let chosen_lang = session.lang;
        Ok(Self { app, request, parameters, account_id, chosen_lang, handle: Some(handle) })
    }

    /// Deletes the request, if it is stored, so that it can be completed only once. The events of a
    /// denial are recorded with it. Returns the account that is signed in for the request.
    async fn consume(
        &mut self,
        session: &BrowserSession,
        denial_events: Option<&NewAuditEvents>,
    ) -> Result<i64, PageError> {
        let account_id = self.account_id.ok_or(PageError::Expired)?;
        if let Some(handle) = self.handle.take() {
            let store = &session.state.store;
            let cookie = session.hashed_cookie();
            let request = store
                .consume_request(denial_events, handle.hashed_secret(), cookie, session.now)
                .await?;
            request.ok_or(PageError::Expired)?;
        }
        Ok(account_id)
    }

    /// Returns the language that the user has chosen, otherwise the one that the app requests.
    pub(crate) fn lang(&self) -> Option<Language> {
        self.chosen_lang.or_else(|| Language::from_tag(self.request.lang.as_deref()?))
    }

    /// Returns the secret that identifies the request in the browser, once it is stored.
    pub(crate) fn handle(&self) -> Option<&str> {
        self.handle.as_ref().map(SplitToken::reveal)
    }

    /// Stores the request, unless it is already stored. A new one counts towards the abuse limits.
    /// From time to time, the oldest requests beyond the maximum are deleted.
    pub(crate) async fn save(&mut self, session: &BrowserSession) -> Result<(), PageError> {
        if self.handle.is_some() {
            return Ok(());
        }
        session.guard.count_authorization_request().await?;
        let state = &session.state;
        let handle = random::split_token(session.now);
        let stored_request = StoredRequest {
            app_id: self.app.id,
            browser_cookie: session.hashed_cookie(),
            account_id: self.account_id,
            parameters: self.parameters.clone(),
            expires_at: expiry_after(session.now, LIFETIME),
        };
        if state.store.add_request(handle.hashed_secret(), &stored_request).await?
            == WriteOutcome::NotFound
        {
            return Err(PageError::Expired);
        }
        // Not at every request, because the store counts rows to find the oldest ones.
        if random::is_one_in(state.max_pending_requests / 16) {
            state.store.trim_requests(state.max_pending_requests).await?;
        }
        self.handle = Some(handle);
        Ok(())
    }

    /// Returns the next step of the authorization, which depends on the access that the app has
    /// already been granted.
    pub(crate) async fn next_step(&self, session: &BrowserSession) -> Result<NextStep, PageError> {
        let store = &session.state.store;
        let grants = match self.account_id {
            Some(account_id) => store.active_grants(account_id, self.app.id, session.now).await?,
            None => Vec::new(),
        };
        let role = self.user(session).map(|user| user.role);
        Ok(self.request.next_step(self.policy(session), role, &grants))
    }

    /// Returns the rules of the app's issuer.
    fn policy<'a>(&self, session: &'a BrowserSession) -> &'a IssuerPolicy {
        session.state.policy(self.app.properties.issuer)
    }

    /// Returns the account that is signed in for the request.
    fn user<'a>(&self, session: &'a BrowserSession) -> Option<&'a Account> {
        session.account().filter(|account| Some(account.id) == self.account_id)
    }

    /// Returns the requested grant, if the user's role allows it.
    pub(crate) fn requested_grant(
        &self,
        session: &BrowserSession,
    ) -> Result<&RequestedGrant, OAuthError> {
        self.request.requested_grant(self.user(session).map_or(Role::User, |user| user.role))
    }

    /// Issues a code, or delivers the error of the request.
    pub(crate) async fn approve(
        mut self,
        session: &BrowserSession,
        approval: Approval,
    ) -> Result<Response, PageError> {
        let account_id = self.consume(session, None).await?;
        let requested_grant = match self.requested_grant(session) {
            Ok(grant) => grant,
            Err(error) => return self.deliver(session, Err(&error)),
        };
        let is_implied = approval == Approval::Implied;
        let is_typed = self.request.target.redirect_uri.is_oob();
        let code = if is_typed { random::short_code() } else { random::split_token(session.now) };
        let redirect_uri = self.request.target.redirect_uri.as_str().to_owned();
        let grant = CodeGrant {
            app_id: self.app.id,
            account_id,
            scopes: requested_grant.scopes.clone(),
            binding: Binding { redirect_uri, challenge: requested_grant.challenge },
            expires_at: expiry_after(session.now, CODE_LIFETIME),
        };
        let session_lookup = session.hashed_cookie().lookup_key;
        let consent = Consent { session: session_lookup, at: session.now, is_implied };
        let detail = is_implied.then(|| "granted before".to_owned());
        let events = NewAuditEvent { detail, ..session.success_event(AuditKind::Consent) }.into();
        match session.state.store.add_code(&events, code.hashed_secret(), &grant, consent).await? {
            WriteOutcome::Written => self.deliver(session, Ok(code.secret())),
            WriteOutcome::NotFound => Err(PageError::Expired),
        }
    }

    /// Completes the request with `access_denied`.
    pub(crate) async fn deny(mut self, session: &BrowserSession) -> Result<Response, PageError> {
        let event = session.success_event(AuditKind::Consent);
        let denial_events = NewAuditEvent { outcome: AuditOutcome::Denied, ..event }.into();
        self.consume(session, Some(&denial_events)).await?;
        self.deliver(session, Err(&OAuthError::AccessDenied))
    }

    /// Renders the error of the request, with a link or a form that sends it to the app.
    pub(crate) fn render_error(
        &self,
        session: &BrowserSession,
        error: OAuthError,
    ) -> Result<Response, PageError> {
        let target = &self.request.target;
        let issuer = self.policy(session).identifier(&session.state.base_url.to_string());
        let (url, fields) = match target.build_delivery(&issuer, Err(&error)) {
            Delivery::Redirect(location) => (location, Vec::new()),
            Delivery::Post { action, fields } => (action, fields),
            Delivery::Show => return Err(error.into()),
        };
        let page = RejectedPage {
            layout: session.layout(self.lang()),
            app: &self.app.details.name,
            host: target.redirect_uri.remote_host(),
            error,
            url: &url,
            fields: &fields,
        };
        render_page(session, StatusCode::BAD_REQUEST, &page, Some(&target.redirect_uri))
    }

    /// Delivers a code or an error to the app, or shows it to the user.
    fn deliver(
        &self,
        session: &BrowserSession,
        response: Result<&Secret, &OAuthError>,
    ) -> Result<Response, PageError> {
        let issuer = self.policy(session).identifier(&session.state.base_url.to_string());
        match (self.request.target.build_delivery(&issuer, response), response) {
            (Delivery::Redirect(location), _) => redirect(session, &location),
            (Delivery::Post { action, fields }, _) => {
                let layout = session.layout(self.lang());
                let app = &self.app.details.name;
                let page = FormPostPage { layout, app, action: &action, fields: &fields };
                render_page(session, StatusCode::OK, &page, Some(&self.request.target.redirect_uri))
            }
            (Delivery::Show, Ok(code)) => {
                let mut response =
                    redirect(session, &with_language(OUT_OF_BAND_CODE, self.lang()))?;
                let base_url = &session.state.base_url;
                let seconds = CODE_LIFETIME.as_secs();
                let cookie = Cookie::Code.set_cookie_header(base_url, code.reveal(), seconds);
                response.headers_mut().append(header::SET_COOKIE, cookie);
                Ok(response)
            }
            (Delivery::Show, Err(error)) => Err(error.clone().into()),
        }
    }
}

/// Parses an authorization request, and adds its app to the log lines of the HTTP request.
fn parse_request(
    policy: &IssuerPolicy,
    parameters: Parameters<'_>,
    app: Option<&App>,
) -> Result<AuthorizationRequest, OAuthError> {
    if let Some(app) = app {
        RequestContext::record_app(app.id);
    }
    AuthorizationRequest::parse(policy, parameters, app)
}

/// Returns the path at which a browser continues the request with this handle, in this language.
pub(crate) fn resume_path(handle: &str, lang: Option<Language>) -> String {
    with_language(&format!("{AUTHORIZE_RESUME}?request={handle}"), lang)
}
