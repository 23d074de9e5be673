//! Authorization responses: where they are sent, and how their parameters are encoded.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::OAuthError;
use super::redirect::RedirectUri;
use crate::percent::{decode_lenient, encode};
use crate::secret::Secret;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// How the parameters of a response are sent. The order is that of the metadata.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ResponseMode {
        /// In the query of the redirect URI.
        #[default]
        Query = "query",
        /// In the fragment of the redirect URI.
        Fragment = "fragment",
        /// In a form that the browser posts to the redirect URI.
        FormPost = "form_post",
    }
}

impl FromStr for ResponseMode {
    type Err = OAuthError;

    fn from_str(text: &str) -> Result<Self, OAuthError> {
        Self::from_name(text).ok_or(OAuthError::UnsupportedResponseMode)
    }
}

/// Where and how the response to an authorization request is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseTarget {
    /// The redirect URI of the request.
    pub redirect_uri: RedirectUri,
    /// How the parameters are sent.
    pub mode: ResponseMode,
    /// The opaque value that the app gets back.
    pub state: Option<String>,
}

/// The outcome of an authorization request.
#[derive(Debug, Clone, Copy)]
pub enum AuthorizationResponse<'a> {
    /// The user approved the request.
    Code(&'a Secret),
    /// The user denied the request, or it was invalid.
    Error(OAuthError),
}

/// How the browser delivers the response to the app.
#[derive(Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Redirect to this URL.
    Redirect(String),
    /// Submit a form.
    Post {
        /// The URL that the form is posted to.
        action: String,
        /// The fields, not HTML-escaped.
        fields: Vec<(&'static str, String)>,
    },
    /// Show the response to the user, who copies it to the app.
    Show,
}

impl fmt::Debug for Delivery {
    /// Omits the contents, which can be a code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redirect(_) => "Redirect(..)",
            Self::Post { .. } => "Post(..)",
            Self::Show => "Show",
        })
    }
}

/// Every parameter that a response can have.
const NAMES: [&str; 5] = ["code", "error", "error_description", "state", "iss"];

impl ResponseTarget {
    /// Determines how a response is delivered. `issuer` is sent as `iss` (RFC 9207).
    #[must_use]
    pub fn deliver(&self, issuer: &str, response: AuthorizationResponse<'_>) -> Delivery {
        if self.redirect_uri.is_oob() {
            return Delivery::Show;
        }
        let mut fields = match response {
            AuthorizationResponse::Code(code) => vec![("code", code.reveal().to_owned())],
            AuthorizationResponse::Error(error) => vec![
                ("error", error.code().as_str().to_owned()),
                ("error_description", error.to_string()),
            ],
        };
        fields.extend(self.state.clone().map(|state| ("state", state)));
        fields.push(("iss", issuer.to_owned()));
        let target = strip_response_parameters(self.redirect_uri.as_str());
        match self.mode {
            ResponseMode::Query => {
                let separator = match target.split_once('?') {
                    None => "?",
                    Some((_, "")) => "",
                    Some(_) => "&",
                };
                Delivery::Redirect(target + separator + &join(&fields))
            }
            ResponseMode::Fragment => Delivery::Redirect(target + "#" + &join(&fields)),
            ResponseMode::FormPost => Delivery::Post { action: target, fields },
        }
    }
}

fn join(fields: &[(&str, String)]) -> String {
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    pairs.join("&")
}

/// Removes query parameters of the redirect URI that have the name of a response parameter.
fn strip_response_parameters(uri: &str) -> String {
    let Some((before, query)) = uri.split_once('?') else { return uri.to_owned() };
    let is_response_parameter = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        decode_lenient(name).is_some_and(|name| NAMES.contains(&name.as_str()))
    };
    let pairs: Vec<&str> = query.split('&').collect();
    let other: Vec<&str> =
        pairs.iter().copied().filter(|pair| !is_response_parameter(pair)).collect();
    if other.len() == pairs.len() {
        return uri.to_owned();
    }
    let separator = if other.is_empty() { "" } else { "?" };
    [before, separator, &other.join("&")].concat()
}

#[cfg(test)]
mod tests;
