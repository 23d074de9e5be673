//! Authorization responses: their destination and the encoding of their parameters.

use super::error::OAuthError;
use super::redirect::RedirectUri;
use crate::percent::{decode_lenient, encode};
use crate::secret::Secret;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// The encoding of response parameters. The variants have the order of
    /// `response_modes_supported`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum ResponseMode {
        #[default]
        Query = "query",
        Fragment = "fragment",
        /// A form that the browser posts to the redirect URI.
        FormPost = "form_post",
    }
}

/// Destination and encoding of the response to an authorization request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseTarget {
    pub redirect_uri: RedirectUri,
    pub mode: ResponseMode,
    /// The opaque value that the app gets back.
    pub state: Option<String>,
}

/// The browser's way to deliver the response to the app. Not `Debug`, because it can contain a
/// code.
#[derive(Clone, PartialEq, Eq)]
pub enum Delivery {
    Redirect(String),
    Post {
        /// The URL that the form is posted to.
        action: String,
        /// The fields, not HTML-escaped.
        fields: Vec<(&'static str, String)>,
    },
    /// Show the response to the user, who copies it to the app.
    Show,
}

const RESPONSE_PARAMETERS: [&str; 5] = ["code", "error", "error_description", "state", "iss"];

impl ResponseTarget {
    /// Determines how a code, or the error of the request, is delivered. `issuer` is sent as `iss`
    /// (RFC 9207).
    pub fn build_delivery(&self, issuer: &str, response: Result<&Secret, &OAuthError>) -> Delivery {
        if self.redirect_uri.is_oob() {
            return Delivery::Show;
        }
        let mut fields = match response {
            Ok(code) => vec![("code", code.reveal().to_owned())],
            Err(error) => {
                vec![("error", error.code().to_owned()), ("error_description", error.to_string())]
            }
        };
        fields.extend(self.state.clone().map(|state| ("state", state)));
        fields.push(("iss", issuer.to_owned()));
        let uri = strip_response_parameters(self.redirect_uri.as_str());
        match self.mode {
            ResponseMode::Query => {
                let separator = match uri.split_once('?') {
                    None => "?",
                    Some((_, "")) => "",
                    Some(_) => "&",
                };
                Delivery::Redirect(uri + separator + &encode_fields(&fields))
            }
            ResponseMode::Fragment => Delivery::Redirect(uri + "#" + &encode_fields(&fields)),
            ResponseMode::FormPost => Delivery::Post { action: uri, fields },
        }
    }
}

fn encode_fields(fields: &[(&str, String)]) -> String {
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    pairs.join("&")
}

/// Removes query parameters named like response parameters, so that a redirect URI cannot forge
/// one.
fn strip_response_parameters(uri: &str) -> String {
    let Some((base_uri, query)) = uri.split_once('?') else { return uri.to_owned() };
    let is_response_parameter = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        decode_lenient(name).is_some_and(|name| RESPONSE_PARAMETERS.contains(&name.as_str()))
    };
    let (response_pairs, other_pairs): (Vec<&str>, Vec<&str>) =
        query.split('&').partition(is_response_parameter);
    if response_pairs.is_empty() {
        return uri.to_owned();
    }
    let separator = if other_pairs.is_empty() { "" } else { "?" };
    [base_uri, separator, &other_pairs.join("&")].concat()
}

#[cfg(test)]
mod tests;
