//! The metadata of public clients: dynamic registrations (RFC 7591) and client ID metadata
//! documents (CIMD, draft-ietf-oauth-client-id-metadata-document).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;
use url::Url;

use super::app::{MAX_NAME_LENGTH, MAX_URIS_LENGTH};
use super::client::{AuthMethod, GrantType};
use super::issuer_policy::IssuerPolicy;
use super::redirect::{ApplicationType, BaseRedirectUriError, RedirectUri};
use super::scope::Scopes;
use super::web_address::{is_web_address, web_host};
use crate::json::{Fields, JsonError};
use crate::secret::Sha256Digest;
use crate::text::{changes_direction, is_blank};

/// Maximum number of redirect URIs of a public client.
pub const MAX_REDIRECT_URIS: usize = 20;

/// The name of a client that has neither a name nor a host.
const DEFAULT_NAME: &str = "Unnamed app";

/// The grant types that issue the first token of a sign-in. The others need an earlier token, or a
/// secret.
const SIGN_IN_GRANT_TYPES: [&str; 2] =
    ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"];

/// The validated metadata of a public client. Logos, terms, contacts, keys and translations are not
/// part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientMetadata {
    /// The name to show, which is not unique and not verified.
    pub name: String,
    /// The `client_uri`. The redirect URIs of a registration are on its host or the user's device.
    pub website: Option<String>,
    /// Empty only if the client does not use the authorization code grant.
    pub redirect_uris: Vec<RedirectUri>,
    pub application_type: ApplicationType,
    /// The grant types of the issuer that the client may use.
    pub grant_types: Vec<GrantType>,
    /// The requested scopes, not validated.
    pub scope: Option<String>,
}

/// The URL of a client ID metadata document, which is the `client_id` of its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentUrl {
    text: String,
    host: String,
}

/// The reason the metadata of a client is rejected. The message is the `error_description`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClientMetadataError {
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The name contains a control character, or one that changes the text direction.
    #[error("client_name must not contain control characters.")]
    Name,
    #[error(
        "client_uri must be an https URL without a user name, of at most {MAX_URIS_LENGTH} \
         characters. Omit it if the client has no website."
    )]
    Website,
    #[error(
        "token_endpoint_auth_method must be none, because only public clients can be registered \
         here."
    )]
    AuthMethod,
    #[error(
        "grant_types must contain authorization_code, or the device code grant if \
         grant_types_supported in the server's metadata lists it."
    )]
    GrantTypes,
    #[error("response_types must contain code, which the grant type authorization_code uses.")]
    ResponseTypes,
    #[error("redirect_uris must contain a URI, because the client uses authorization_code.")]
    NoRedirectUri,
    #[error(
        "redirect_uris must contain at most {MAX_REDIRECT_URIS} URIs, with at most \
         {MAX_URIS_LENGTH} characters together."
    )]
    TooManyRedirectUris,
    #[error("redirect_uris[{index}] {error}")]
    RedirectUri { index: usize, error: BaseRedirectUriError },
    #[error(
        "client_id must be a normalized https URL with a path, at most {MAX_URIS_LENGTH} \
         characters long, without fragment, user name, default port and dot segments."
    )]
    DocumentUrl,
    #[error("client_id must be the URL of the document that contains it.")]
    OtherClientId,
}

impl ClientMetadataError {
    /// Returns the value of `error` in a response (RFC 7591, section 3.2.2).
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoRedirectUri | Self::TooManyRedirectUris | Self::RedirectUri { .. } => {
                "invalid_redirect_uri"
            }
            _ => "invalid_client_metadata",
        }
    }
}

impl DocumentUrl {
    /// Validates a URL before its document is requested. Only the normalized form is valid, so that
    /// a document has one `client_id`. Whether the host is reachable and public is not checked.
    pub fn parse(text: &str) -> Result<Self, ClientMetadataError> {
        let is_valid = is_https_address(text)
            && Url::parse(text).is_ok_and(|url| {
                url.as_str() == text && url.path() != "/" && url.fragment().is_none()
            });
        let host = web_host(text).filter(|_| is_valid).ok_or(ClientMetadataError::DocumentUrl)?;
        Ok(Self { text: text.to_owned(), host })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host that is responsible for the client.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl ClientMetadata {
    /// Validates the body of a registration request. The caller limits its length.
    pub fn parse(body: &[u8], policy: &IssuerPolicy) -> Result<Self, ClientMetadataError> {
        Self::from_fields(Fields::parse(body)?, policy, None)
    }

    /// Validates a client ID metadata document. Its redirect URIs are on the host that it was
    /// requested from, or on the user's device. The website is not verified.
    pub fn parse_document(
        body: &[u8],
        url: &DocumentUrl,
        policy: &IssuerPolicy,
    ) -> Result<Self, ClientMetadataError> {
        let mut fields = Fields::parse(body)?;
        if fields.require_string("client_id")? != url.as_str() {
            return Err(ClientMetadataError::OtherClientId);
        }
        Self::from_fields(fields, policy, Some(url.host()))
    }

    fn from_fields(
        mut fields: Fields,
        policy: &IssuerPolicy,
        document_host: Option<&str>,
    ) -> Result<Self, ClientMetadataError> {
        let website: Option<String> = take(&mut fields, "client_uri", "a string")?;
        if website.as_deref().is_some_and(|website| !is_https_address(website)) {
            return Err(ClientMetadataError::Website);
        }
        let website_host = website.as_deref().and_then(web_host);
        let base_host = document_host.or(website_host.as_deref());
        let name = read_name(&mut fields, base_host)?;
        let method: Option<String> = take(&mut fields, "token_endpoint_auth_method", "a string")?;
        if method.is_some_and(|method| method != AuthMethod::None.as_str()) {
            return Err(ClientMetadataError::AuthMethod);
        }
        let application_type = take(&mut fields, "application_type", "web or native")?;
        let application_type = application_type.unwrap_or_default();
        let grant_types = read_grant_types(&mut fields, policy)?;
        let redirect_uris = read_redirect_uris(&mut fields, application_type, base_host)?;
        if redirect_uris.is_empty() && grant_types.contains(&GrantType::AuthorizationCode) {
            return Err(ClientMetadataError::NoRedirectUri);
        }
        let scope = take(&mut fields, "scope", "a string")?;
        Ok(Self { name, website, redirect_uris, application_type, grant_types, scope })
    }

    /// Returns the scopes to register: those of the metadata that a client which registers itself
    /// may have, or all of these.
    pub fn scopes(&self, policy: &IssuerPolicy) -> Scopes {
        let all: Scopes = policy.self_registered_scopes().collect();
        let requested = Scopes::from_stored(self.scope.as_deref().unwrap_or_default());
        let granted: Scopes = requested.iter().filter(|scope| all.contains(*scope)).collect();
        if granted.is_empty() { all } else { granted }
    }

    /// Returns the `client_id` of a registration with these registered scopes: a digest, so that
    /// all installations of an app that register the same metadata are one client. Absent fields
    /// are not part of it, so a future optional field does not change the ids of clients without.
    pub fn client_id(&self, scopes: &str) -> String {
        let mut sorted_scopes: Vec<&str> = scopes.split(' ').collect();
        sorted_scopes.sort_unstable();
        let mut fields = self.registered_fields(&sorted_scopes.join(" "));
        for value in fields.values_mut() {
            if let Value::Array(items) = value {
                items.sort_unstable_by(|a, b| a.as_str().cmp(&b.as_str()));
            }
        }
        Sha256Digest::compute(&json!(fields).to_string()).to_text()
    }

    /// Returns the response to a registration (RFC 7591, section 3.2.1).
    pub fn registration_response(
        &self,
        client_id: &str,
        issued_at: Timestamp,
        scopes: &str,
    ) -> Value {
        let mut fields = self.registered_fields(scopes);
        fields.insert("client_id", client_id.into());
        fields.insert("client_id_issued_at", issued_at.as_second().into());
        json!(fields)
    }

    /// Returns the fields that are registered, sorted by name.
    fn registered_fields(&self, scopes: &str) -> BTreeMap<&'static str, Value> {
        let redirect_uris: Vec<&str> = self.redirect_uris.iter().map(RedirectUri::as_str).collect();
        let grant_types: Vec<&str> =
            self.grant_types.iter().map(|grant_type| grant_type.as_str()).collect();
        let uses_code = self.grant_types.contains(&GrantType::AuthorizationCode);
        let response_types: &[&str] = if uses_code { &["code"] } else { &[] };
        let mut fields = BTreeMap::from([
            ("application_type", json!(self.application_type.as_str())),
            ("client_name", json!(self.name)),
            ("grant_types", json!(grant_types)),
            ("redirect_uris", json!(redirect_uris)),
            ("response_types", json!(response_types)),
            ("scope", json!(scopes)),
            ("token_endpoint_auth_method", json!(AuthMethod::None.as_str())),
        ]);
        fields.extend(self.website.as_ref().map(|website| ("client_uri", json!(website))));
        fields
    }
}

/// Removes and returns an optional field. `null` counts as absent, because some JSON libraries
/// write it for fields without a value.
fn take<T: DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    expected: &'static str,
) -> Result<Option<T>, JsonError> {
    Ok(fields.take_as::<Option<T>>(name, expected)?.flatten())
}

/// Returns whether the text is an `https` URL of limited length, without a user name.
fn is_https_address(text: &str) -> bool {
    let is_https = text.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
    is_https && text.len() <= MAX_URIS_LENGTH && is_web_address(text)
}

/// Reads the name. A blank one is replaced by the host, and a long one is truncated: the client
/// cannot ask its user for a better one.
fn read_name(fields: &mut Fields, base_host: Option<&str>) -> Result<String, ClientMetadataError> {
    let name: String = take(fields, "client_name", "a string")?.unwrap_or_default();
    if name.contains(|c: char| c.is_control() || changes_direction(c)) {
        return Err(ClientMetadataError::Name);
    }
    let name = if is_blank(&name) { base_host.unwrap_or(DEFAULT_NAME) } else { &name };
    if name.chars().count() <= MAX_NAME_LENGTH {
        return Ok(name.to_owned());
    }
    Ok(name.chars().take(MAX_NAME_LENGTH - 1).chain(['…']).collect())
}

/// Reads the grant types that the issuer supports, in its order, and checks the response types. The
/// defaults are those of RFC 7591, section 2.
fn read_grant_types(
    fields: &mut Fields,
    policy: &IssuerPolicy,
) -> Result<Vec<GrantType>, ClientMetadataError> {
    let names: Option<Vec<String>> = take(fields, "grant_types", "an array of strings")?;
    let names = names.unwrap_or_else(|| vec![GrantType::AuthorizationCode.as_str().to_owned()]);
    let mut grant_types = policy.grant_types.to_vec();
    // Every sign-in gets a refresh token, so every client may use it.
    grant_types.retain(|grant_type| {
        *grant_type == GrantType::RefreshToken
            || names.iter().any(|name| name == grant_type.as_str())
    });
    if !grant_types.iter().any(|known| SIGN_IN_GRANT_TYPES.contains(&known.as_str())) {
        return Err(ClientMetadataError::GrantTypes);
    }
    let response_types: Option<Vec<String>> =
        take(fields, "response_types", "an array of strings")?;
    let has_code = response_types.is_none_or(|names| names.iter().any(|name| name == "code"));
    if grant_types.contains(&GrantType::AuthorizationCode) && !has_code {
        return Err(ClientMetadataError::ResponseTypes);
    }
    Ok(grant_types)
}

/// Reads the redirect URIs. Those that are not allowed are not registered, as the response says (RFC
/// 7591, section 3.2.1): many clients send the same list to every server. If none is left, the error
/// of the first one is returned.
fn read_redirect_uris(
    fields: &mut Fields,
    application_type: ApplicationType,
    base_host: Option<&str>,
) -> Result<Vec<RedirectUri>, ClientMetadataError> {
    let texts: Option<Vec<String>> = take(fields, "redirect_uris", "an array of strings")?;
    let texts = texts.unwrap_or_default();
    let length: usize = texts.iter().map(String::len).sum();
    if texts.len() > MAX_REDIRECT_URIS || length > MAX_URIS_LENGTH {
        return Err(ClientMetadataError::TooManyRedirectUris);
    }
    let mut redirect_uris = Vec::with_capacity(texts.len());
    let mut first_error = None;
    for (index, text) in texts.iter().enumerate() {
        match RedirectUri::new_on_base(text, application_type, base_host) {
            Ok(uri) if redirect_uris.contains(&uri) => {}
            Ok(uri) => redirect_uris.push(uri),
            Err(error) => {
                first_error.get_or_insert(ClientMetadataError::RedirectUri { index, error });
            }
        }
    }
    match first_error {
        Some(error) if redirect_uris.is_empty() => Err(error),
        _ => Ok(redirect_uris),
    }
}

#[cfg(test)]
mod tests;
