//! A form, on the next line an `Authorization` header, and then anything: all readers of OAuth and
//! of limits read it or refuse it, and no answer leaves for a place that the app did not register.

use std::net::{IpAddr, Ipv4Addr};

use belfry_core::limits::cidr::Cidr;
use belfry_core::limits::forwarded::TrustedProxies;
use belfry_core::limits::route::{Route, RoutePattern};
use belfry_core::matrix::{LoginRequest, RegisterRequest};
use belfry_core::oauth::app::{App, AppDetails, Registration};
use belfry_core::oauth::bearer;
use belfry_core::oauth::form::{self, Pairs};
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::oauth::request::{AuthorizationRequest, client_id};
use belfry_core::oauth::response::{AuthorizationResponse, Delivery, ResponseMode, ResponseTarget};
use belfry_core::oauth::revoke_request::RevokeRequest;
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::sign_up::SignUp;
use belfry_core::oauth::token_request::TokenRequest;
use belfry_core::secret::Secret;
use belfry_core::{json, percent};
use url::Url;

/// Checks one input.
pub fn check(input: &[u8]) {
    let mut lines = input.splitn(3, |byte| *byte == b'\n');
    let mut next = || lines.next().unwrap_or_default();
    let (query, header, rest) = (next(), next(), next());
    if let Ok(pairs) = form::parse(query) {
        read_all(&pairs, header);
    }
    if let Ok(pairs) =
        json::read(rest).map_err(drop).and_then(|json| form::from_json(json).map_err(drop))
    {
        read_all(&pairs, header);
    }
    let _ = (LoginRequest::read(rest), RegisterRequest::read(rest));
    let text = String::from_utf8_lossy(rest);
    let _ = (Route::of(&text), text.parse::<RoutePattern>(), percent::decode_segment(&text));
    if let Ok(range) = text.parse::<Cidr>() {
        assert_eq!(range.to_string().parse(), Ok(range));
    }
    let proxy = IpAddr::from(Ipv4Addr::LOCALHOST);
    let proxies = TrustedProxies::new("127.0.0.0/8".parse().into_iter().collect());
    let _ = proxies.client_address(proxy, [header].into_iter(), [rest].into_iter());
}

/// Lets everybody read the pairs who reads any.
fn read_all(pairs: &Pairs, header: &[u8]) {
    let parameters = Parameters::new(pairs);
    let named = pairs.iter().filter(|(name, _)| name == "access_token");
    let _ = bearer::extract_token([header], named.map(|(_, token)| token.as_str()));
    let _ = TokenRequest::parse(Some(header), parameters);
    let _ = RevokeRequest::parse(Some(header), parameters);
    let _ = SignUp::from_pairs(pairs.clone()).validate();
    let _ = client_id(parameters);
    for (_, value) in pairs {
        if let Ok(scopes) = value.parse::<Scopes>() {
            assert_eq!(scopes.to_string().parse(), Ok(scopes.clone()));
            assert!(scopes.covers_all(&scopes));
        }
        if let Ok(uri) = RedirectUri::new(value.as_str()) {
            leads_where_it_says(&uri);
        }
    }
    // The app is what the same pairs say of one, if they say enough.
    let details = Registration::from_pairs(pairs.clone()).validate().unwrap_or_else(|_| known());
    let app = App { id: 1, client_id: "app".to_owned(), details };
    if let Ok(request) = AuthorizationRequest::parse(parameters, Some(&app)) {
        is_answered(&request, &app);
    }
}

fn known() -> AppDetails {
    let uris = ["https://a.example/cb?x=1", "http://127.0.0.1/cb", "app://cb", "http://[::1]:1/"];
    AppDetails {
        name: "App".to_owned(),
        website: None,
        redirect_uris: uris.into_iter().filter_map(|uri| RedirectUri::new(uri).ok()).collect(),
        scopes: "read write:accounts push".parse().unwrap_or_default(),
    }
}

/// Checks that a browser finds the host that is written there, and no user.
fn leads_where_it_says(uri: &RedirectUri) {
    let Ok(url) = Url::parse(uri.as_str()) else { return };
    assert_eq!(url.fragment(), None, "{uri}");
    assert!(url.username().is_empty() && url.password().is_none(), "{uri}");
    let authority = uri.as_str().split_once("://").map(|(_, rest)| rest);
    let (Some(authority), "http" | "https") = (authority, url.scheme()) else { return };
    let authority = authority.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => {
            address.parse::<std::net::Ipv6Addr>().map(|address| format!("[{address}]")).ok()
        }
        None => authority.split(':').next().map(str::to_ascii_lowercase),
    };
    assert_eq!(url.host_str(), host.as_deref(), "{uri}");
}

/// Checks that the answer goes where the app registered, once in each part.
fn is_answered(request: &AuthorizationRequest, app: &App) {
    let reply = &request.target;
    let stored = serde_json::to_string(request).expect("a request is stored as JSON");
    assert_eq!(serde_json::from_str::<AuthorizationRequest>(&stored).ok().as_ref(), Some(request));
    assert!(app.find_redirect_uri(reply.redirect_uri.as_str()).is_some());
    if let Ok(asked) = &request.requested {
        assert!(app.details.scopes.covers_all(&asked.scopes));
    }
    let code = Secret::new("c0de");
    let delivery = reply.deliver("https://belfry.example", AuthorizationResponse::Code(&code));
    match delivery {
        Delivery::Show => assert!(reply.redirect_uri.is_oob()),
        Delivery::Post { action, fields } => {
            is_same_place(&action, reply);
            assert!(fields.contains(&("code", "c0de".to_owned())));
        }
        Delivery::Redirect(location) => {
            is_same_place(&location, reply);
            let cut = if reply.mode == ResponseMode::Query { '?' } else { '#' };
            let (_, answer) = location.split_once(cut).expect("it has an answer");
            let named = |wanted: &str| -> Vec<String> {
                let pairs = answer.split('&').filter_map(|pair| percent::parse_query(pair).ok());
                pairs.flatten().filter(|(name, _)| name == wanted).map(|(_, value)| value).collect()
            };
            assert_eq!(named("code"), ["c0de"], "{location}");
            assert_eq!(named("iss"), ["https://belfry.example"], "{location}");
            assert_eq!(named("state"), Vec::from_iter(reply.state.clone()), "{location}");
        }
    }
}

/// Checks that an answer goes to the page that the redirect URI names.
fn is_same_place(location: &str, reply: &ResponseTarget) {
    let page = |uri: &str| uri.split(['?', '#']).next().map(str::to_owned);
    assert_eq!(page(location), page(reply.redirect_uri.as_str()));
    assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "{location:?}");
}
