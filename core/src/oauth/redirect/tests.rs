//! Tests of redirect URIs.

use proptest::prelude::*;

use super::*;

fn redirect_uri(text: &str) -> RedirectUri {
    RedirectUri::new(text).unwrap()
}

#[test]
fn valid_redirect_uris_are_accepted() {
    for text in [
        OOB,
        "https://app.example/callback",
        "https://app.example",
        "https://app.example/callback?from=belfry&x=%20",
        "http://localhost:3000/",
        "http://app.localhost/callback",
        "http://127.0.0.1/callback",
        "http://127.9.9.9/callback",
        "http://[::1]:8080/callback",
        "HTTPS://App.Example/callback",
        // Private-use schemes (RFC 8252, section 7.1).
        "com.example.app:/callback",
        "com.example.app://callback",
        "oauth2redirect://com.keylesspalace.tusky/",
        "icecubesapp:///",
        "tusky://",
        "com.tapbots.Ivory.10217:/request_token",
        "Mastodon-Android-Auth://callback",
        "myapp://cb",
        "MyApp://callback",
        "web+ap://callback",
        "steam2://callback",
    ] {
        assert!(RedirectUri::new(text).is_ok(), "{text}");
    }
}

#[test]
fn an_invalid_redirect_uri_is_rejected_with_its_reason() {
    use RedirectUriError::{
        Forbidden, Fragment, Insecure, Invalid, Opaque, Relative, UserInfo, Wildcard,
    };
    for (text, error) in [
        ("", Relative),
        ("callback", Relative),
        ("/callback", Relative),
        ("//app.example/callback", Relative),
        ("app.example/callback?a:b", Relative),
        ("127.0.0.1:3000/callback", Relative),
        // RFC 6749, section 3.1.2.
        ("https://app.example/callback#x", Fragment),
        ("https://app.example/callback#", Fragment),
        ("com.example.app:/callback#", Fragment),
        // A user name that looks like a host.
        ("https://a@evil.example/callback", UserInfo),
        ("http://evil@127.0.0.1/callback", UserInfo),
        ("https://a:b@evil.example/", UserInfo),
        ("app://a@b/", UserInfo),
        ("https://*.example/callback", Wildcard),
        ("https://app.example/*", Wildcard),
        ("https://app.example/callback?x=*", Wildcard),
        ("https://app.example/.+(callback|x)^", Invalid),
        // Only the exact URN is accepted.
        ("urn:ietf:wg:oauth:2.0:oob:auto", Opaque),
        ("URN:IETF:WG:OAUTH:2.0:OOB", Opaque),
        ("urn:ietf:wg:oauth:2.0:oob#", Fragment),
        ("myapp:callback", Opaque),
        ("localhost:3000", Opaque),
        ("localhost:/callback", Opaque),
        ("myapp:", Opaque),
        ("myapp:?code", Opaque),
        ("https:app.example", Opaque),
        ("https:/app.example", Invalid),
        ("https://", Invalid),
        ("https:///callback", Invalid),
        ("https://:443/callback", Invalid),
        ("https://app.example:99999/", Invalid),
        ("app://[zz]/", Invalid),
        // IPv4 addresses in forms that only browsers understand.
        ("http://127.1/callback", Invalid),
        ("http://2130706433/callback", Invalid),
        ("http://0x7f000001/callback", Invalid),
        // Homographs and invisible characters.
        ("https://аpple.example/", Invalid),
        ("https://apple。example/", Invalid),
        ("https://app\u{200b}le.example/", Invalid),
        ("https://app.example/\u{202e}", Invalid),
        // Header and markup injection.
        ("https://app.example/\r\nSet-Cookie: a=b", Invalid),
        ("https://app.example/\0", Invalid),
        (" https://app.example/", Invalid),
        ("https://app.example\\@evil.example/", Invalid),
        ("https://app.example/%", Invalid),
        ("https://app.example/<script>", Invalid),
        ("https://app.example/\"", Invalid),
        ("javascript:alert(1)", Forbidden),
        // RFC 8252, section 7.3: only loopback addresses need no encryption.
        ("http://app.example/callback", Insecure),
        ("HTTP://app.example/callback", Insecure),
        ("http://192.168.1.2/callback", Insecure),
        ("http://[2001:db8::1]/callback", Insecure),
        ("http://localhost.example/callback", Insecure),
    ] {
        assert_eq!(RedirectUri::new(text), Err(error), "{text:?}");
    }
}

#[test]
fn a_scheme_that_a_browser_or_an_operating_system_opens_is_forbidden_in_every_spelling() {
    for scheme in [
        "javascript",
        "data",
        "vbscript",
        "file",
        "blob",
        "about",
        "view-source",
        "ws",
        "intent",
        "ms-settings",
        "MS-Word",
        "microsoft-edge",
        "search-ms",
        "x-apple.systempreferences",
        "X-Apple.health",
        "itms-services",
        "chrome-extension",
        "ssh",
        "tel",
        "mailto",
        "JavaScript",
        "VBSCRIPT",
        "\tjavascript",
        "\0javascript",
        " javascript",
        "\u{a0}javascript",
        "java\r\nscript",
    ] {
        for suffix in ["x", "//x/y", "/x", "//app.example/%0aalert(1)", "\"'<>"] {
            let text = format!("{scheme}:{suffix}");
            assert_eq!(RedirectUri::new(&*text), Err(RedirectUriError::Forbidden), "{text:?}");
        }
    }
}

// RFC 9700, section 4.1.3.
#[test]
fn uris_are_compared_as_exact_strings() {
    let uri = redirect_uri("https://a.example/cb");
    assert_eq!(uri.match_requested("https://a.example/cb"), Some(uri.clone()));
    for requested in [
        "",
        "https://a.example/cb/",
        "https://a.example/cb?x=1",
        "https://a.example/cb?",
        "https://a.example/cb#",
        "https://a.example/cb/../evil",
        "https://a.example/cb/%2e%2e/evil",
        "https://a.example//cb",
        "https://a.example/./cb",
        "HTTPS://A.EXAMPLE/cb",
        "https://A.example/cb",
        "https://a.example:443/cb",
        "https://a.example/%63b",
        "https://a.example/CB",
        "https://a.example/cb ",
        " https://a.example/cb",
        "https://a.example/cb\n",
        "http://a.example/cb",
        "https://a.example@evil.example/cb",
        "https://a.example.evil.example/cb",
    ] {
        assert_eq!(uri.match_requested(requested), None, "{requested:?}");
    }
    assert_eq!(
        redirect_uri("https://a.example/x%2Fy").match_requested("https://a.example/x%2fy"),
        None
    );
}

// RFC 8252, section 7.3.
#[test]
fn a_loopback_address_matches_with_any_port() {
    for (uri, requested) in [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1:51234/cb"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1/cb"),
        ("http://[::1]/cb", "http://[::1]:51234/cb"),
        ("http://[::1]:1/cb?x=1", "http://[::1]:65535/cb?x=1"),
        ("http://127.0.0.1", "http://127.0.0.1:51234"),
    ] {
        let result = redirect_uri(uri).match_requested(requested);
        assert_eq!(result.as_ref().map(RedirectUri::as_str), Some(requested), "{uri}");
    }
}

#[test]
fn only_the_port_may_differ_in_a_loopback_uri() {
    let uri = redirect_uri("http://127.0.0.1/cb");
    for requested in [
        "http://127.0.0.1:51234/other",
        "http://127.0.0.1:51234/cb/",
        "http://127.0.0.1:51234/cb?x",
        "http://127.0.0.1:51234",
        "https://127.0.0.1:51234/cb",
        "HTTP://127.0.0.1:51234/cb",
        "http://127.0.0.2:51234/cb",
        "http://0.0.0.0:51234/cb",
        "http://127.1:51234/cb",
        "http://2130706433/cb",
        "http://[::1]:51234/cb",
        "http://[::ffff:127.0.0.1]/cb",
        "http://localhost/cb",
        "http://evil@127.0.0.1/cb",
        "http://127.0.0.1@evil.example/cb",
        "http://127.0.0.1:80@evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://127.0.0.10/cb",
        "http://127.0.0.1:/cb",
        "http://127.0.0.1:0/cb",
        "http://127.0.0.1:65536/cb",
        "http://127.0.0.1:+80/cb",
        "http://127.0.0.1:8o/cb",
        "http://127.0.0.1:80\\/cb",
        "http://127.0.0.1:80#/cb",
        "http://127.0.0.1:80 /cb",
    ] {
        assert_eq!(uri.match_requested(requested), None, "{requested:?}");
    }
    for (uri, requested) in [
        ("https://127.0.0.1/cb", "https://127.0.0.1:51234/cb"),
        ("http://localhost/cb", "http://localhost:51234/cb"),
        ("http://localhost/cb", "http://localhost.evil.example/cb"),
        ("http://localhost/cb", "http://localhost./cb"),
        ("http://127.0.0.2/cb", "http://127.0.0.2:51234/cb"),
        ("https://app.example/cb", "https://app.example:51234/cb"),
    ] {
        assert_eq!(redirect_uri(uri).match_requested(requested), None, "{uri} for {requested}");
    }
}

#[test]
fn the_oob_urn_matches_only_itself() {
    let uri = redirect_uri(OOB);
    assert!(uri.is_oob() && uri.match_requested(OOB).is_some());
    assert_eq!(uri.match_requested("urn:ietf:wg:oauth:2.0:oob:auto"), None);
    assert_eq!(uri.match_requested("URN:IETF:WG:OAUTH:2.0:OOB"), None);
    assert!(!redirect_uri("https://a.example/").is_oob());
}

#[test]
fn only_a_web_address_has_a_remote_host() {
    for (uri, host) in [
        ("https://app.example/callback?next=evil.example", Some("app.example")),
        ("https://app.example:8443/", Some("app.example")),
        ("https://APP.example", Some("app.example")),
        ("https://xn--pple-43d.com/cb", Some("xn--pple-43d.com")),
        ("https://192.0.2.7/cb", Some("192.0.2.7")),
        ("https://[2001:db8::7]/cb", Some("[2001:db8::7]")),
        ("https://localhost.evil.example/cb", Some("localhost.evil.example")),
        ("http://127.0.0.1:4000/cb", None),
        ("http://[::1]/cb", None),
        ("http://[0:0::1]/cb", None),
        ("http://localhost/cb", None),
        ("http://app.localhost/cb", None),
        ("tusky://oauth.evil.example/cb", None),
        ("com.example.app:/oauth2redirect", None),
        (OOB, None),
    ] {
        assert_eq!(redirect_uri(uri).remote_host().as_deref(), host, "{uri}");
    }
}

proptest! {
    #[test]
    fn an_accepted_uri_is_unchanged_printable_ascii(text in any::<String>()) {
        if let Ok(uri) = RedirectUri::new(text.as_str()) {
            prop_assert!(text.is_ascii() && !text.contains(['\r', '\n', '\0', ' ', '#']));
            prop_assert_eq!(uri.as_str(), text);
        }
    }

    #[test]
    fn matching_is_reflexive_and_symmetric(
        text in r"(https?|app)://(127\.0\.0\.1|\[::1\]|a\.b|localhost)(:[0-9]{1,5})?(/[a-z]{0,2})?",
        port in any::<u16>(),
    ) {
        if let Ok(uri) = RedirectUri::new(text.as_str()) {
            prop_assert_eq!(uri.match_requested(&text), Some(uri.clone()));
            let requested = text.replacen("/c", &format!(":{port}/c"), 1);
            if let Some(matched_uri) = uri.match_requested(&requested) {
                prop_assert!(matched_uri.match_requested(&text).is_some());
                // Every URI that matches could have been registered.
                prop_assert!(RedirectUri::new(requested).is_ok());
            }
        }
    }

    #[test]
    fn an_arbitrary_requested_uri_does_not_match(requested in any::<String>()) {
        prop_assert_eq!(redirect_uri("http://127.0.0.1/cb").match_requested(&requested), None);
    }
}

fn on_base(
    text: &str,
    application_type: ApplicationType,
    base_host: Option<&str>,
) -> Result<String, BaseRedirectUriError> {
    RedirectUri::new_on_base(text, application_type, base_host).map(|uri| uri.0)
}

#[test]
fn a_public_client_may_register_addresses_on_its_base_and_on_the_device() {
    use ApplicationType::{Native, Web};
    let base = Some("app.example.com");
    for (text, application_type, base_host) in [
        ("https://app.example.com/cb?x=1", Web, base),
        ("https://APP.example.com:8443", Web, base),
        ("https://sso.app.example.com/cb", Web, base),
        ("https://app.example.com/cb", Native, base),
        ("https://192.0.2.7/cb", Web, Some("192.0.2.7")),
        ("https://[2001:db8::7]/cb", Web, Some("[2001:db8::7]")),
        ("https://intranet/cb", Web, Some("intranet")),
        // Matrix, `redirect_uris` of native clients.
        ("com.example.app:/cb", Native, base),
        ("com.example.app:/", Native, base),
        ("com.example.app:cb", Native, base),
        ("COM.example.App:/cb", Native, base),
        ("com.example.app.beta:/cb?x=1", Native, base),
        ("com.example.app:/cb", Native, Some("example.com")),
        // Without a base too.
        ("http://localhost/cb", Web, None),
        ("http://localhost:51004/cb?x=1", Web, None),
        ("http://127.0.0.1", Native, None),
        ("http://[::1]:1/", Web, base),
    ] {
        assert_eq!(on_base(text, application_type, base_host), Ok(text.to_owned()), "{text}");
    }
}

#[test]
fn other_redirect_uris_of_a_public_client_are_rejected_with_the_reason() {
    use ApplicationType::{Native, Web};
    use BaseRedirectUriError::{
        Authority, LocalHost, NoBase, OtherHost, OtherScheme, PrivateSchemeOfWebClient, Uri,
    };
    let base = Some("app.example.com");
    for (text, application_type, base_host, error) in [
        ("https://example.com/cb", Web, base, OtherHost),
        ("https://myapp.example.com/cb", Web, base, OtherHost),
        ("https://evil-app.example.com/cb", Native, base, OtherHost),
        ("https://app.example.com.evil.example/cb", Web, base, OtherHost),
        ("https://app.example.com/cb", Web, None, NoBase),
        // A top-level domain is not a base for all its domains.
        ("https://example.com/cb", Web, Some("com"), OtherHost),
        ("com.example.app:/cb", Native, Some("com"), OtherScheme),
        ("com:/cb", Native, Some("com"), OtherScheme),
        ("com.example:/cb", Native, base, OtherScheme),
        ("com.example.application:/cb", Native, base, OtherScheme),
        ("app.example.com:/cb", Native, base, OtherScheme),
        ("myapp:/cb", Native, base, OtherScheme),
        (OOB, Native, base, OtherScheme),
        ("com.example.app://cb", Native, base, Authority),
        ("com.example.app:///cb", Native, base, Authority),
        ("com.example.app:/cb", Web, base, PrivateSchemeOfWebClient),
        ("com.example.app:/cb", Native, None, NoBase),
        ("http://127.9.9.9/cb", Native, base, LocalHost),
        ("http://app.localhost/cb", Native, base, LocalHost),
        ("http://LOCALHOST/cb", Native, base, LocalHost),
        ("http://localhost:0/cb", Web, base, LocalHost),
        ("http://app.example.com/cb", Web, base, Uri(RedirectUriError::Insecure)),
        ("http://localhost/cb#x", Web, base, Uri(RedirectUriError::Fragment)),
        ("https://app.example.com/cb#", Web, base, Uri(RedirectUriError::Fragment)),
        ("https://a@app.example.com/cb", Web, base, Uri(RedirectUriError::UserInfo)),
        ("com.apple.app:/cb", Native, Some("apple.com"), Uri(RedirectUriError::Forbidden)),
        ("com.example.app:/*", Native, base, Uri(RedirectUriError::Wildcard)),
        ("/cb", Web, base, Uri(RedirectUriError::Relative)),
    ] {
        assert_eq!(on_base(text, application_type, base_host), Err(error), "{text}");
    }
}

// Matrix specification v1.15, "Redirect URI validation".
#[test]
fn a_loopback_uri_without_a_port_matches_with_any_port() {
    for (text, requested, is_match) in [
        ("http://localhost/cb", "http://localhost:51004/cb", true),
        ("http://127.0.0.1/cb?x=1", "http://127.0.0.1:51004/cb?x=1", true),
        ("http://[::1]", "http://[::1]:65535", true),
        ("http://localhost:8080/cb", "http://localhost:8080/cb", true),
        ("http://localhost:8080/cb", "http://localhost:8081/cb", false),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1/cb", false),
        ("http://localhost/cb", "http://127.0.0.1:51004/cb", false),
        ("http://localhost/cb", "http://localhost:51004/other", false),
        ("http://localhost/cb", "http://localhost.evil.example/cb", false),
        ("http://localhost/cb", "http://localhost:80@evil.example/cb", false),
        ("http://localhost/cb", "https://localhost:51004/cb", false),
        ("https://a.example/cb", "https://a.example/cb", true),
        ("https://a.example/cb", "https://a.example:51004/cb", false),
        ("com.example:cb", "com.example:cb", true),
        ("com.example:cb", "com.example:/cb", false),
    ] {
        let uri = RedirectUri::from_stored(text).unwrap();
        let result = uri.match_requested_with_optional_port(requested);
        assert_eq!(result.is_some(), is_match, "{requested} for {text}");
        assert!(result.is_none_or(|uri| uri.as_str() == requested));
    }
}

proptest! {
    #[test]
    fn a_registered_uri_is_stored_unchanged(
        text in r"(https?|com\.example):(//)?(localhost|example\.com)?[a-z:/?#*@.]{0,4}",
    ) {
        let issuer_uri = RedirectUri::new(text.as_str()).ok();
        let public_client_uri =
            RedirectUri::new_on_base(&text, ApplicationType::Native, Some("example.com")).ok();
        for uri in issuer_uri.into_iter().chain(public_client_uri) {
            prop_assert_eq!(uri.as_str(), &text);
            prop_assert_eq!(RedirectUri::from_stored(text.as_str()), Ok(uri));
        }
    }
}
