//! The admin who sends a request to the admin API.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_core::account::Role;
use belfry_core::admin::audit_detail;
use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::oauth::scope::Scope;

use crate::app::AppState;
use crate::http::error::ApiError;
use crate::http::extract::audit::RequestAudit;
use crate::http::extract::bearer::Bearer;

/// An admin. Handlers that extract it reject app tokens and tokens of other users.
pub(crate) struct Admin {
    pub(crate) bearer: Bearer,
    name: String,
    audit: RequestAudit,
}

impl FromRequestParts<AppState> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let bearer = Bearer::from_request_parts(parts, state).await?;
        let admin = bearer.token.account.as_ref().filter(|account| account.role == Role::Admin);
        let name = admin.ok_or(ApiError::NotAllowed)?.name.clone();
        let Ok(audit) = RequestAudit::from_request_parts(parts, state).await;
        Ok(Self { bearer, name, audit })
    }
}

impl Admin {
    pub(crate) fn require_scope(&self, scope: Scope) -> Result<(), ApiError> {
        self.bearer.require_scope(&[scope])
    }

    /// Returns the audit event of an action by the admin, with the comment, which may be empty.
    pub(crate) fn audit_event(&self, kind: AuditKind, comment: &str) -> NewAuditEvent {
        NewAuditEvent {
            detail: Some(audit_detail(&self.name, comment)),
            ..self.audit.success_event(kind)
        }
    }
}
