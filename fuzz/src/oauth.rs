//! Fuzz target for the parsers of OAuth and rate limits: no parser panics, and authorization
//! responses go only to registered redirect URIs.
//!
//! An input is a form, an `Authorization` header on the next line, then arbitrary bytes.

use std::net::{IpAddr, Ipv4Addr};

use belfry_core::account::sign_up::SignUp;
use belfry_core::form::{self, Pairs};
use belfry_core::limits::cidr::Cidr;
use belfry_core::limits::forwarded::TrustedProxies;
use belfry_core::limits::route::{Route, RoutePattern};
use belfry_core::matrix::{LoginRequest, RegisterRequest};
use belfry_core::oauth::app::{App, AppDetails, AppRegistration};
use belfry_core::oauth::authorization_request::AuthorizationRequest;
use belfry_core::oauth::authorization_response::{Delivery, ResponseMode, ResponseTarget};
use belfry_core::oauth::client::{ClientProperties, Registrar};
use belfry_core::oauth::issuer_policy::{ID, MASTODON};
use belfry_core::oauth::parameter::Parameter;
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::oauth::registration::ClientMetadata;
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::token;
use belfry_core::oauth::token_request::ClientTokenRequest;
use belfry_core::oauth::token_request::TokenRequest;
use belfry_core::secret::Secret;
use belfry_core::{json, percent};
use url::Url;

pub fn check_input(input: &[u8]) {
    let mut lines = input.splitn(3, |byte| *byte == b'\n');
    let mut next_line = || lines.next().unwrap_or_default();
    let query = next_line();
    let header = next_line();
    let body = next_line();
    if let Ok(pairs) = form::parse(query) {
        run_form_parsers(&pairs, header);
    }
    if let Ok(pairs) =
        json::parse(body).map_err(drop).and_then(|json| form::from_json(json).map_err(drop))
    {
        run_form_parsers(&pairs, header);
    }
    let _ = (LoginRequest::parse(body), RegisterRequest::parse(body));
    let text = String::from_utf8_lossy(body);
    let _ = (Route::normalize(&text), text.parse::<RoutePattern>(), percent::decode_segment(&text));
    if let Ok(range) = text.parse::<Cidr>() {
        assert_eq!(range.to_string().parse(), Ok(range));
    }
    let proxy = IpAddr::from(Ipv4Addr::LOCALHOST);
    let proxies = TrustedProxies("127.0.0.0/8".parse().into_iter().collect());
    let _ = proxies.client_address(proxy, [header].into_iter(), [body].into_iter());
    let _ = ClientMetadata::parse(body, &ID);
}

fn run_form_parsers(pairs: &Pairs, header: &[u8]) {
    let parameters = Parameters::new(pairs);
    let tokens = pairs.iter().filter(|(name, _)| name == "access_token");
    let _ = token::extract_token([header], tokens.map(|(_, token)| token.as_str()));
    let _ = TokenRequest::parse(&MASTODON, Some(header), parameters);
    let _ = ClientTokenRequest::parse(&MASTODON, Some(header), parameters);
    let _ = TokenRequest::parse(&ID, Some(header), parameters);
    let _ = SignUp::from_pairs(pairs).validate(|_| false);
    let _ = parameters.required(Parameter::ClientId);
    for (_, value) in pairs {
        if let Ok(scopes) = value.parse::<Scopes>() {
            assert_eq!(scopes.to_string().parse(), Ok(scopes.clone()));
            assert!(scopes.first_not_covered(&scopes).is_none());
        }
        if let Ok(uri) = RedirectUri::new(value.as_str()) {
            check_redirect_uri(&uri);
        }
    }
    // The app is registered with the same parameters, if they are valid.
    let details = AppRegistration::from_pairs(pairs.clone())
        .validate(&MASTODON)
        .unwrap_or_else(|_| default_app_details());
    let properties = ClientProperties::new(&MASTODON, Registrar::Api);
    let app = App { id: 1, client_id: "app".to_owned(), details, properties };
    if let Ok(request) = AuthorizationRequest::parse(&MASTODON, parameters, Some(&app)) {
        check_response(&request, &app);
    }
}

fn default_app_details() -> AppDetails {
    let uris = ["https://a.example/cb?x=1", "http://127.0.0.1/cb", "app://cb", "http://[::1]:1/"];
    AppDetails {
        name: "App".to_owned(),
        website: None,
        redirect_uris: uris.into_iter().filter_map(|uri| RedirectUri::new(uri).ok()).collect(),
        scopes: "read write:accounts push".parse().unwrap_or_default(),
    }
}

/// Checks that a browser would contact the host in the text, without credentials.
fn check_redirect_uri(uri: &RedirectUri) {
    let Ok(url) = Url::parse(uri.as_str()) else { return };
    assert_eq!(url.fragment(), None, "{uri:?}");
    assert!(url.username().is_empty() && url.password().is_none(), "{uri:?}");
    let authority = uri.as_str().split_once("://").map(|(_, rest)| rest);
    let (Some(authority), "http" | "https") = (authority, url.scheme()) else { return };
    let authority = authority.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => {
            address.parse::<std::net::Ipv6Addr>().map(|address| format!("[{address}]")).ok()
        }
        None => authority.split(':').next().map(str::to_ascii_lowercase),
    };
    assert_eq!(url.host_str(), host.as_deref(), "{uri:?}");
}

/// Checks that the response goes to a registered redirect URI, with each parameter once.
fn check_response(request: &AuthorizationRequest, app: &App) {
    let target = &request.target;
    assert!(app.find_redirect_uri(target.redirect_uri.as_str()).is_some());
    if let Ok(grant) = &request.grant {
        assert!(app.details.scopes.first_not_covered(&grant.scopes).is_none());
    }
    let code = Secret::new("c0de");
    let delivery = target.build_delivery("https://belfry.example", Ok(&code));
    match delivery {
        Delivery::Show => assert!(target.redirect_uri.is_oob()),
        Delivery::Post { action, fields } => {
            check_location(&action, target);
            assert!(fields.contains(&("code", "c0de".to_owned())));
        }
        Delivery::Redirect(location) => {
            check_location(&location, target);
            let separator = if target.mode == ResponseMode::Query { '?' } else { '#' };
            let (_, response) = location.split_once(separator).expect("it has parameters");
            let parameter_values = |parameter: &str| -> Vec<String> {
                let pairs = response.split('&').filter_map(|pair| percent::parse_query(pair).ok());
                pairs
                    .flatten()
                    .filter(|(name, _)| name == parameter)
                    .map(|(_, value)| value)
                    .collect()
            };
            assert_eq!(parameter_values("code"), ["c0de"], "{location}");
            assert_eq!(parameter_values("iss"), ["https://belfry.example"], "{location}");
            assert_eq!(
                parameter_values("state"),
                Vec::from_iter(target.state.clone()),
                "{location}"
            );
        }
    }
}

/// Checks that a location differs from the redirect URI only in query and fragment.
fn check_location(location: &str, target: &ResponseTarget) {
    let without_parameters = |uri: &str| uri.split(['?', '#']).next().map(str::to_owned);
    assert_eq!(without_parameters(location), without_parameters(target.redirect_uri.as_str()));
    assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "{location:?}");
}
