//! `/oauth/account/rules/edit`: the JSON of one rule.
//!
//! The form contains the digest of the rule that it showed, so that a rule that was changed in the
//! meantime is not overwritten. What the user entered is shown again whenever it is not saved, also
//! after the session has ended.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::matrix;
use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::rules::{
    Document, IdError, MAX_CONDITIONS, RuleEdit, RuleError, RuleId, RuleKind, RuleRef, RuleScope,
    User, template,
};
use belfry_core::secret::Sha256Digest;

use super::{form, redirect_to_rule, show_error, write};
use crate::http::account::stale_session::StaleSession;
use crate::http::error::{CommonError, PageError};
use crate::http::extract::form::{Form, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect_to_sign_in, respond, show_large_page, show_page};
use crate::language::{Language, Localize, rule_message};
use crate::pages::{
    self, AccountSection, EditError, EditTarget, Notice, RuleEditPage, RuleLinks, RulesView,
    StaleForm,
};
use crate::paths::{EDIT_RULE, with_language};

/// `GET /oauth/account/rules/edit`: the form of a rule, or of a new one if there is no `rule_id`.
pub(crate) async fn edit_page(session: BrowserSession, Query(query): Query) -> Response {
    let result = async {
        if session.account().is_none() {
            return redirect_to_sign_in(&session, AccountSection::Rules, None);
        }
        let (scope, kind) = read_group(&query)?;
        let id = last_value(&query, "rule_id");
        if id.is_empty() {
            let profile = match scope {
                RuleScope::Global => String::new(),
                RuleScope::Device(tag) => tag.as_str().to_owned(),
            };
            let target = EditTarget::New { kind, profile, id: String::new() };
            return Edit { target, shown: None, json: template(kind).to_owned() }.show(
                &session,
                StatusCode::OK,
                None,
                None,
            );
        }
        let rule = RuleRef { scope, kind, id: id.to_owned() };
        let Some(current) = current_rule(&session, &rule).await? else {
            let (status, error) =
                (StatusCode::NOT_FOUND, RuleError::NoSuchRule { kind, id: rule.id });
            return show_error(&session, &RulesView::default(), status, &error, None).await;
        };
        let target = EditTarget::Existing(rule);
        Edit { target, shown: Some(current.digest), json: current.json }.show(
            &session,
            StatusCode::OK,
            None,
            None,
        )
    };
    let result = result.await;
    respond(&session, result)
}

/// `POST /oauth/account/rules/edit`: saves the JSON of a rule.
pub(crate) async fn save_rule(session: BrowserSession, request: Request) -> Response {
    let result = async {
        let max_bytes = form::max_bytes(&session.state);
        let Form(pairs) = Form::within(max_bytes, request, &session.state).await?;
        let edit = Edit::read(&pairs)?;
        let language = session.layout(session.lang).language;
        if let Some(stale) = StaleSession::detect(&session, &pairs)? {
            return edit.show_unsaved(&session, stale);
        }
        let (rule, parsed) = match edit.validate(&session, language) {
            Ok(valid) => valid,
            Err(error) => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                return edit.show(&session, status, Some(error), None);
            }
        };
        let (target, shown) = (rule.clone(), edit.shown);
        let change =
            move |document: &mut Document| document.edit(target.kind, &target.id, shown, &parsed);
        match write(&session, &rule.scope, change).await? {
            Ok(()) => {
                let view = RulesView::of(&rule.scope, rule.kind);
                redirect_to_rule(&session, &view, &rule, Notice::Saved).await
            }
            Err(error) => edit.show_rejected(&session, &rule, &error, language).await,
        }
    };
    let result = result.await;
    respond(&session, result)
}

/// A rule, and its JSON as entered.
pub(super) struct Edit {
    target: EditTarget,
    /// The digest of the rule that was shown.
    shown: Option<Sha256Digest>,
    json: String,
}

/// A rule as it is stored.
struct Current {
    json: String,
    digest: Sha256Digest,
}

impl Edit {
    /// A deleted rule.
    pub(super) fn of_deleted(rule: &RuleRef, json: &str) -> Self {
        let target = EditTarget::Existing(rule.clone());
        Self { target, shown: None, json: json.to_owned() }
    }

    /// Shows the form again, which can be sent after the user has signed in in another tab.
    pub(super) fn show_unsaved(
        &self,
        session: &BrowserSession,
        stale: StaleSession,
    ) -> Result<Response, PageError> {
        let error = EditError::Stale(stale.describe(session, AccountSection::Rules));
        self.show(session, stale.status(), Some(error), None)
    }

    fn read(pairs: &Pairs) -> Result<Self, CommonError> {
        let value = |name: &str| last_value(pairs, name);
        let malformed = |error: &dyn ToString| CommonError::Malformed(error.to_string());
        let target = match value("rule") {
            "" => EditTarget::New {
                kind: value("kind").parse().map_err(|error| malformed(&error))?,
                profile: value("profile").trim().to_owned(),
                id: value("rule_id").trim().to_owned(),
            },
            path => {
                EditTarget::Existing(RuleRef::from_path(path).map_err(|error| malformed(&error))?)
            }
        };
        let shown = Sha256Digest::from_text(value("shown"));
        Ok(Self { target, shown, json: value("json").to_owned() })
    }

    /// The rule and its new content, or the error of a field.
    fn validate(
        &self,
        session: &BrowserSession,
        language: Language,
    ) -> Result<(RuleRef, RuleEdit), EditError> {
        let rules = &session.state.config.rules;
        let rule = match &self.target {
            EditTarget::Existing(rule) => rule.clone(),
            EditTarget::New { kind, profile, id } => {
                let invalid = |error: IdError| error.localize(language);
                let id = id.parse::<RuleId>().map_err(|error| EditError::Id(invalid(error)))?;
                let scope = match profile.as_str() {
                    "" => RuleScope::Global,
                    tag => RuleScope::Device(
                        tag.parse().map_err(|error| EditError::Profile(invalid(error)))?,
                    ),
                };
                RuleRef { scope, kind: *kind, id: id.into() }
            }
        };
        let invalid = |error: RuleError| json_error(&error, language);
        if self.json.len() > rules.max_body_bytes {
            let max = rules.max_body_bytes;
            return Err(EditError::Rejected(language.text_with(
                "rule-edit-too-long",
                "count",
                max,
            )));
        }
        let edit = RuleEdit::read(rule.kind, &rule.id, self.json.as_bytes()).map_err(invalid)?;
        if let RuleEdit::Rule(new) = &edit {
            new.check_conditions(MAX_CONDITIONS).map_err(invalid)?;
            new.check_until(session.state.clock.now()).map_err(invalid)?;
        }
        Ok((rule, edit))
    }

    /// Shows the form again after the rules were found to be different, or full.
    async fn show_rejected(
        mut self,
        session: &BrowserSession,
        rule: &RuleRef,
        error: &RuleError,
        language: Language,
    ) -> Result<Response, PageError> {
        let current = current_rule(session, rule).await?;
        let stale = |key: &str| {
            EditError::Stale(StaleForm { text: language.text(key).into_owned(), sign_in: None })
        };
        let error = match error {
            RuleError::ChangedMeanwhile { .. } => {
                // Saving again replaces the rule that is shown now.
                self.shown = current.as_ref().map(|current| current.digest);
                stale("rule-edit-changed")
            }
            RuleError::NoSuchRule { .. } => {
                self.shown = None;
                stale("rule-edit-deleted")
            }
            RuleError::RuleExists { .. } => EditError::Id(error.localize(language)),
            other => json_error(other, language),
        };
        let is_stale = matches!(error, EditError::Stale(_));
        let status = match error {
            EditError::Stale(_) | EditError::Id(_) => StatusCode::CONFLICT,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let current = current.filter(|_| is_stale).map(|current| current.json);
        self.show(session, status, Some(error), current.as_deref())
    }

    fn show(
        &self,
        session: &BrowserSession,
        status: StatusCode,
        error: Option<EditError>,
        current: Option<&str>,
    ) -> Result<Response, PageError> {
        let action = with_language(EDIT_RULE, session.lang);
        let view = match &self.target {
            EditTarget::Existing(rule) => RulesView::of(&rule.scope, rule.kind),
            EditTarget::New { .. } => RulesView::default(),
        };
        let page = RuleEditPage {
            layout: session.layout(session.lang),
            nav: session.nav(AccountSection::Rules),
            form: pages::Form { action: &action, csrf: &session.csrf_token(), request: None },
            target: &self.target,
            json: &self.json,
            shown: &self.shown.map(Sha256Digest::to_text).unwrap_or_default(),
            error,
            current,
            back: &RuleLinks { lang: session.lang }.rules(&view),
        };
        match session.account() {
            Some(account) => show_large_page(session, status, &page, account.id),
            None => show_page(session, status, &page, None),
        }
    }
}

/// Errors of the JSON have no text in other languages.
fn json_error(error: &RuleError, language: Language) -> EditError {
    match rule_message(error, language) {
        Some(text) => EditError::Rejected(text),
        None => EditError::Json { reason: error.to_string() },
    }
}

/// The scope and kind in a query; rules for words on all devices by default.
fn read_group(query: &Pairs) -> Result<(RuleScope, RuleKind), CommonError> {
    let value = |name: &str| Some(last_value(query, name)).filter(|text| !text.is_empty());
    let scope = value("scope").unwrap_or("global").parse().map_err(|_| CommonError::NotFound)?;
    let kind = value("kind").unwrap_or("content").parse().map_err(|_| CommonError::NotFound)?;
    Ok((scope, kind))
}

/// The rule of the signed-in user as it is stored.
async fn current_rule(
    session: &BrowserSession,
    rule: &RuleRef,
) -> Result<Option<Current>, PageError> {
    let Some(account) = session.account() else { return Ok(None) };
    let rulesets = session.state.store.rulesets(account.id, session.state.clock.now()).await?;
    let new = Document::new(rule.scope.clone());
    let document = rulesets.document(&rule.scope).unwrap_or(&new);
    let user_id = matrix::user_id(&account.name, session.state.server_name());
    let stored = document.rule(rule.kind, &rule.id, User::new(&user_id)).ok();
    Ok(stored.map(|rule| Current { json: rule.editable_json(), digest: rule.digest() }))
}
