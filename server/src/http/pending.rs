//! An authorization request on its way: kept while its user signs in and decides, then answered.

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::oauth::app::App;
use belfry_core::oauth::error::Refusal;
use belfry_core::oauth::form::Pairs;
use belfry_core::oauth::grant::{Binding, Grant};
use belfry_core::oauth::metadata::issuer;
use belfry_core::oauth::parameter::Parameters;
use belfry_core::oauth::reply::{Answer, Delivery};
use belfry_core::oauth::request::{self, Asked, Request, Step};
use belfry_core::oauth::scope::Scopes;
use belfry_core::secret::Secret;
use jiff::{SignedDuration, Timestamp};

use super::cookie::Cookie;
use super::error::{PageError, Problem};
use super::page::{Forms, redirect, show};
use super::visitor::Visitor;
use super::{consent, native, sign_in};
use crate::pages::FormPostPage;
use crate::random;
use crate::store::{self, Code, Consent, StoreError};

/// How long a user may take to sign in and decide.
const OPEN: SignedDuration = SignedDuration::from_hours(1);

/// A request, and how far its user has come with it.
pub(super) struct Pending {
    pub(super) app: App,
    pub(super) request: Request,
    /// The account that has signed in for it.
    account: Option<i64>,
    /// What the user's browser knows it by, once it is kept.
    handle: Option<Secret>,
}

impl Pending {
    /// A request as an app sends it, through a browser.
    pub(super) async fn new(visitor: &Visitor, pairs: &Pairs) -> Result<Self, PageError> {
        let parameters = Parameters::new(pairs);
        let client_id = request::client_id(parameters)?;
        let app = visitor.belfry.store.app_of_client(client_id).await?;
        let app = app.filter(|app| app.disabled_at.is_none()).map(|app| app.to_core());
        let request = Request::check(parameters, app.as_ref())?;
        let app = app.ok_or(Refusal::InvalidClient)?;
        let account = visitor.account().map(|account| account.id);
        // A session is not enough where the password is wanted again.
        let account = account.filter(|_| !request.force_login);
        Ok(Self { app, request, account, handle: None })
    }

    /// The request that this browser knows by a handle.
    pub(super) async fn kept(visitor: &Visitor, handle: Secret) -> Result<Self, PageError> {
        let (store, now) = (&visitor.belfry.store, visitor.belfry.clock.now());
        let kept = store.request(handle.digest(), visitor.digest(), now).await?;
        Self::read(visitor, handle, kept).await
    }

    /// The same, but to answer it: nobody else can take it after that.
    pub(super) async fn taken(visitor: &Visitor, handle: Secret) -> Result<Self, PageError> {
        let (store, now) = (&visitor.belfry.store, visitor.belfry.clock.now());
        let taken = store.take_request(handle.digest(), visitor.digest(), now).await?;
        Self::read(visitor, handle, taken).await
    }

    async fn read(
        visitor: &Visitor,
        handle: Secret,
        kept: Option<store::Request>,
    ) -> Result<Self, PageError> {
        let kept = kept.ok_or(PageError::Expired)?;
        let app = visitor.belfry.store.app(kept.app).await?;
        let app = app.filter(|app| app.disabled_at.is_none()).ok_or(Refusal::InvalidClient)?;
        let request = serde_json::from_str(&kept.details);
        let request = request.map_err(|_| StoreError::Unreadable("request"))?;
        let signed_in = visitor.account().map(|account| account.id);
        let account = kept.account.filter(|account| Some(*account) == signed_in);
        Ok(Self { app: app.to_core(), request, account, handle: Some(handle) })
    }

    /// The language that the app wishes for its user.
    pub(super) fn lang(&self) -> Option<&str> {
        self.request.lang.as_deref()
    }

    /// Where the forms of the pages about it may lead.
    pub(super) fn forms(&self) -> Forms<'_> {
        Forms::LeadTo(&self.request.reply.redirect_uri)
    }

    /// What the browser knows it by; it is kept from now on.
    pub(super) async fn handle(&mut self, visitor: &Visitor) -> Result<Secret, PageError> {
        if let Some(handle) = &self.handle {
            return Ok(handle.clone());
        }
        let now = visitor.belfry.clock.now();
        let handle = random::secret(now);
        let kept = store::Request {
            app: self.app.id,
            browser: visitor.digest(),
            account: self.account,
            details: serde_json::to_string(&self.request).map_err(|_| Problem::Internal)?,
            expires_at: now.checked_add(OPEN).unwrap_or(Timestamp::MAX),
        };
        visitor.belfry.store.add_request(handle.digest(), &kept).await?;
        self.handle = Some(handle.clone());
        Ok(handle)
    }

    /// Does what is to be done next.
    pub(super) async fn proceed(mut self, visitor: &Visitor) -> Result<Response, PageError> {
        let granted = self.granted(visitor).await?;
        match self.request.step(self.account.is_some(), &granted) {
            Step::SignIn => sign_in::ask(visitor, None, Some(&mut self), "", None).await,
            Step::Ask => consent::ask(visitor, &mut self).await,
            Step::Refuse(_) | Step::Approve => {
                let last = match self.handle.take() {
                    Some(handle) => Self::taken(visitor, handle).await?,
                    None => self,
                };
                last.approve(visitor, Some(visitor.belfry.clock.now())).await
            }
        }
    }

    /// The user agrees.
    pub(super) async fn allow(self, visitor: &Visitor) -> Result<Response, PageError> {
        self.approve(visitor, None).await
    }

    /// The user agrees, or has agreed before and the app has access at this time; if there is
    /// anything to agree to, the app gets its code.
    async fn approve(
        self,
        visitor: &Visitor,
        unasked: Option<Timestamp>,
    ) -> Result<Response, PageError> {
        let account = self.account.ok_or(PageError::Expired)?;
        match &self.request.asked {
            Ok(asked) => {
                let consent = Consent { session: visitor.digest(), unasked };
                let code = self.issue_code(visitor, account, asked, consent).await?;
                self.deliver(visitor, Answer::Code(&code))
            }
            Err(refusal) => self.deliver(visitor, Answer::Refused(*refusal)),
        }
    }

    /// The user does not agree.
    pub(super) fn deny(self, visitor: &Visitor) -> Result<Response, PageError> {
        self.account.ok_or(PageError::Expired)?;
        self.deliver(visitor, Answer::Refused(Refusal::AccessDenied))
    }

    async fn granted(&self, visitor: &Visitor) -> Result<Vec<Scopes>, PageError> {
        let Some(account) = self.account else { return Ok(Vec::new()) };
        let (store, now) = (&visitor.belfry.store, visitor.belfry.clock.now());
        let granted = store.granted(account, self.app.id, now).await?;
        Ok(granted.iter().filter_map(|scopes| scopes.parse().ok()).collect())
    }

    async fn issue_code(
        &self,
        visitor: &Visitor,
        account: i64,
        asked: &Asked,
        consent: Consent,
    ) -> Result<Secret, PageError> {
        let now = visitor.belfry.clock.now();
        let code = random::secret(now);
        let redirect_uri = self.request.reply.redirect_uri.as_str().to_owned();
        let binding = Binding { redirect_uri, challenge: asked.challenge };
        let granted = Code {
            app: self.app.id,
            account,
            scopes: asked.scopes.to_string(),
            details: serde_json::to_string(&binding).map_err(|_| Problem::Internal)?,
            expires_at: Grant::expiry(now),
            token: None,
        };
        let added = visitor.belfry.store.add_code(code.digest(), &granted, consent).await?;
        if added { Ok(code) } else { Err(PageError::Expired) }
    }

    fn deliver(&self, visitor: &Visitor, answer: Answer<'_>) -> Result<Response, PageError> {
        let issuer = issuer(&visitor.belfry.base_url.to_string());
        match (self.request.reply.deliver(&issuer, answer), answer) {
            (Delivery::Redirect(location), _) => redirect(visitor, &location),
            (Delivery::Post { action, fields }, _) => {
                let frame = visitor.frame(self.lang());
                let app = &self.app.details.name;
                let page = FormPostPage { frame, app, action: &action, fields: &fields };
                show(visitor, StatusCode::OK, &page, self.forms())
            }
            (Delivery::Show, Answer::Code(code)) => {
                let mut answer = redirect(visitor, &native::path(self.lang()))?;
                let seconds = belfry_core::oauth::grant::LIFETIME.as_secs();
                let cookie = Cookie::Code.set(&visitor.belfry.base_url, code, seconds);
                answer.headers_mut().append(header::SET_COOKIE, cookie);
                Ok(answer)
            }
            (Delivery::Show, Answer::Refused(refusal)) => Err(refusal.into()),
        }
    }
}
