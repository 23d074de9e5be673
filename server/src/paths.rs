//! Paths that are also used outside the router: in pages, redirects, the OAuth metadata and the
//! OpenAPI document.

use crate::language::Language;

pub(crate) const APPS: &str = "/api/v1/apps";
pub(crate) const PUSH_SUBSCRIPTION: &str = "/api/v1/push/subscription";
pub(crate) const ADMIN_ACCOUNTS: &str = "/api/v2/admin/accounts";
/// The prefix of profile paths; the account name follows.
pub(crate) const PROFILE: &str = "/@";
pub(crate) const NODEINFO: &str = "/nodeinfo/2.0";

pub(crate) const AUTHORIZE: &str = "/oauth/authorize";
pub(crate) const AUTHORIZE_RESUME: &str = "/oauth/authorize/resume";
pub(crate) const OUT_OF_BAND_CODE: &str = "/oauth/authorize/native";
pub(crate) const TOKEN: &str = "/oauth/token";
pub(crate) const REVOKE: &str = "/oauth/revoke";
pub(crate) const INTROSPECT: &str = "/oauth/introspect";
pub(crate) const USERINFO: &str = "/oauth/userinfo";

/// The prefix of the endpoints of the issuer for clients without a secret.
pub(crate) const ID_PREFIX: &str = "/id";
pub(crate) const ID_AUTHORIZE: &str = "/id/authorize";
pub(crate) const ID_TOKEN: &str = "/id/token";
pub(crate) const ID_REVOKE: &str = "/id/revoke";
pub(crate) const ID_INTROSPECT: &str = "/id/introspect";
pub(crate) const ID_REGISTER: &str = "/id/register";
/// The addresses of the metadata of that issuer.
pub(crate) const ID_METADATA: [&str; 3] = [
    "/.well-known/oauth-authorization-server/id",
    "/.well-known/openid-configuration/id",
    "/id/.well-known/openid-configuration",
];

pub(crate) const SIGN_IN: &str = "/oauth/sign_in";
pub(crate) const SIGN_OUT: &str = "/oauth/sign_out";
pub(crate) const SIGN_UP: &str = "/oauth/sign_up";
pub(crate) const ACCOUNT: &str = "/oauth/account";
pub(crate) const ACCOUNT_NOTIFICATIONS: &str = "/oauth/account/notifications";
pub(crate) const ACCOUNT_DEVICES: &str = "/oauth/account/devices";
pub(crate) const ACCOUNT_SECURITY: &str = "/oauth/account/security";
pub(crate) const REMOVE_APP: &str = "/oauth/account/remove_app";
pub(crate) const REVOKE_TOKEN: &str = "/oauth/account/revoke_token";
pub(crate) const CHANGE_PASSWORD: &str = "/oauth/account/security/password";
pub(crate) const CHANGE_EMAIL: &str = "/oauth/account/security/email";
pub(crate) const END_SESSION: &str = "/oauth/account/security/end_session";
pub(crate) const END_OTHER_SESSIONS: &str = "/oauth/account/security/end_other_sessions";
pub(crate) const DOWNLOAD_DATA: &str = "/oauth/account/security/download";
pub(crate) const DELETE_ACCOUNT: &str = "/oauth/account/security/delete";
pub(crate) const CANCEL_DELETION: &str = "/oauth/account/security/keep";

pub(crate) const FRONT: &str = "/";
pub(crate) const OPENAPI: &str = "/openapi.json";
pub(crate) const HEALTHZ: &str = "/healthz";
pub(crate) const METADATA: &str = "/.well-known/oauth-authorization-server";
pub(crate) const READYZ: &str = "/readyz";
pub(crate) const STATIC: &str = "/oauth/static";
pub(crate) const GATEWAY_CHECK: &str = "/gateway/check";

/// The version prefixes of the Matrix client API. They are equivalent.
pub(crate) const CLIENT_API_VERSIONS: [&str; 3] = ["api/v1", "r0", "v3"];

/// The query parameter of language links that makes the server remember their `lang`. `lang` alone
/// is not remembered, because apps send it too.
pub(crate) const REMEMBER_LANGUAGE: &str = "remember";

/// Returns a path with this language in its query, or the path alone if `lang` is `None`.
pub(crate) fn with_language(path: &str, lang: Option<Language>) -> String {
    with_parameters(path, lang.map(|language| ("lang", language.code())))
}

/// Returns a path with these parameters added to its query. Values that may contain special
/// characters must be percent-encoded.
pub(crate) fn with_parameters<V: AsRef<str>>(
    path: &str,
    parameters: impl IntoIterator<Item = (&'static str, V)>,
) -> String {
    let mut path = path.to_owned();
    for (name, value) in parameters {
        path.push(if path.contains('?') { '&' } else { '?' });
        path.extend([name, "=", value.as_ref()]);
    }
    path
}
