//! How an authorization request is answered: by a redirect, by a form, or on a page.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::OAuthError;
use super::form;
use super::redirect::RedirectUri;
use crate::secret::Secret;

/// Where in the answer the parameters stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseMode {
    /// In the query of the redirect URI.
    #[default]
    Query,
    /// In the fragment of the redirect URI.
    Fragment,
    /// In a form that the browser posts to the redirect URI.
    FormPost,
}

impl ResponseMode {
    /// Every mode, in the order of the metadata.
    pub const ALL: &[Self] = &[Self::Query, Self::Fragment, Self::FormPost];

    /// The mode as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Fragment => "fragment",
            Self::FormPost => "form_post",
        }
    }
}

impl FromStr for ResponseMode {
    type Err = OAuthError;

    fn from_str(text: &str) -> Result<Self, OAuthError> {
        let known = Self::ALL.iter().copied().find(|mode| mode.as_str() == text);
        known.ok_or(OAuthError::UnsupportedResponseMode)
    }
}

/// Where and how the answer to a request goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseTarget {
    /// The app's URI, as the request named it.
    pub redirect_uri: RedirectUri,
    /// Where the parameters stand.
    pub mode: ResponseMode,
    /// What the app wants to see again.
    pub state: Option<String>,
}

/// What is answered.
#[derive(Debug, Clone, Copy)]
pub enum AuthorizationResponse<'a> {
    /// The user agreed.
    Code(&'a Secret),
    /// The user did not agree, or was not asked.
    Error(OAuthError),
}

/// What is to be done so that the app gets the answer.
#[derive(Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Send the browser there.
    Redirect(String),
    /// Let the browser post these fields there.
    Post {
        /// Where the form goes.
        action: String,
        /// Its fields, not yet escaped.
        fields: Vec<(&'static str, String)>,
    },
    /// Show the answer to the user, who carries it to the app.
    Show,
}

impl fmt::Debug for Delivery {
    /// Without what it delivers: that can be a code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redirect(_) => "Redirect(..)",
            Self::Post { .. } => "Post(..)",
            Self::Show => "Show",
        })
    }
}

/// Every parameter that an answer can have.
const NAMES: [&str; 5] = ["code", "error", "error_description", "state", "iss"];

impl ResponseTarget {
    /// Says how to deliver an answer of the server whose issuer this is.
    #[must_use]
    pub fn deliver(&self, issuer: &str, answer: AuthorizationResponse<'_>) -> Delivery {
        if self.redirect_uri.is_oob() {
            return Delivery::Show;
        }
        let fields = self.fields(issuer, answer);
        let target = without_answer(self.redirect_uri.as_str());
        match self.mode {
            ResponseMode::Query => {
                let link = match target.split_once('?') {
                    None => "?",
                    Some((_, "")) => "",
                    Some(_) => "&",
                };
                Delivery::Redirect(target + link + &join(&fields))
            }
            ResponseMode::Fragment => Delivery::Redirect(target + "#" + &join(&fields)),
            ResponseMode::FormPost => Delivery::Post { action: target, fields },
        }
    }

    fn fields(
        &self,
        issuer: &str,
        answer: AuthorizationResponse<'_>,
    ) -> Vec<(&'static str, String)> {
        let mut fields = match answer {
            AuthorizationResponse::Code(code) => vec![("code", code.reveal().to_owned())],
            AuthorizationResponse::Error(refusal) => vec![
                ("error", refusal.code().as_str().to_owned()),
                ("error_description", refusal.to_string()),
            ],
        };
        fields.extend(self.state.clone().map(|state| ("state", state)));
        fields.push(("iss", issuer.to_owned()));
        fields
    }
}

fn join(fields: &[(&str, String)]) -> String {
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", form::encode(value))).collect();
    pairs.join("&")
}

/// The URI without those parameters of its own that could be taken for the server's answer.
fn without_answer(uri: &str) -> String {
    let Some((before, query)) = uri.split_once('?') else { return uri.to_owned() };
    let is_ours = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        form::decode(name).is_some_and(|name| NAMES.contains(&name.as_str()))
    };
    let pairs: Vec<&str> = query.split('&').collect();
    let kept: Vec<&str> = pairs.iter().copied().filter(|pair| !is_ours(pair)).collect();
    if kept.len() == pairs.len() {
        return uri.to_owned();
    }
    let link = if kept.is_empty() { "" } else { "?" };
    [before, link, &kept.join("&")].concat()
}

#[cfg(test)]
mod tests;
