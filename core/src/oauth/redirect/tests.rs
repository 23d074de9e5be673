use proptest::prelude::*;

use super::*;

fn registered(text: &str) -> RedirectUri {
    RedirectUri::new(text).unwrap()
}

#[test]
fn what_apps_register_is_taken() {
    for text in [
        OOB,
        "https://app.example/callback",
        "https://app.example",
        "https://app.example/callback?from=belfry&x=%20",
        "http://app.example/callback",
        "http://localhost:3000/",
        "http://127.0.0.1/callback",
        "http://[::1]:8080/callback",
        "HTTPS://App.Example/callback",
        // Attack 14: schemes of an app's own.
        "com.example.app:/callback",
        "com.example.app://callback",
        "oauth2redirect://com.keylesspalace.tusky/",
        "icecubesapp:///",
        "tusky://",
    ] {
        assert!(RedirectUri::new(text).is_ok(), "{text}");
    }
}

#[test]
fn what_must_not_be_registered_is_refused_by_name() {
    use RedirectUriError::{Forbidden, Fragment, Invalid, Opaque, Relative, UserInfo, Wildcard};
    for (text, error) in [
        ("", Relative),
        ("callback", Relative),
        ("/callback", Relative),
        ("//app.example/callback", Relative),
        ("app.example/callback?a:b", Relative),
        // Attack 6.
        ("https://app.example/callback#x", Fragment),
        ("https://app.example/callback#", Fragment),
        ("com.example.app:/callback#", Fragment),
        // Attack 5.
        ("https://a@evil.example/callback", UserInfo),
        ("http://evil@127.0.0.1/callback", UserInfo),
        ("https://a:b@evil.example/", UserInfo),
        ("app://a@b/", UserInfo),
        // Attack 20.
        ("https://*.example/callback", Wildcard),
        ("https://app.example/*", Wildcard),
        ("https://app.example/callback?x=*", Wildcard),
        ("https://app.example/.+(callback|x)^", Invalid),
        // Attack 22: only the URN itself, in its own letters.
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
        // Attack 9: forms of an address that only a browser understands.
        ("http://127.1/callback", Invalid),
        ("http://2130706433/callback", Invalid),
        ("http://0x7f000001/callback", Invalid),
        // Attack 11.
        ("https://аpple.example/", Invalid),
        ("https://apple。example/", Invalid),
        ("https://app\u{200b}le.example/", Invalid),
        ("https://app.example/\u{202e}", Invalid),
        // Attack 16.
        ("https://app.example/\r\nSet-Cookie: a=b", Invalid),
        ("https://app.example/\0", Invalid),
        (" https://app.example/", Invalid),
        ("https://app.example\\@evil.example/", Invalid),
        ("https://app.example/%", Invalid),
        ("https://app.example/<script>", Invalid),
        ("https://app.example/\"", Invalid),
        ("javascript:alert(1)", Forbidden),
    ] {
        assert_eq!(RedirectUri::new(text), Err(error), "{text:?}");
    }
}

// Attack 7.
#[test]
fn a_scheme_that_runs_code_is_forbidden_however_it_is_written() {
    for scheme in [
        "javascript",
        "data",
        "vbscript",
        "file",
        "blob",
        "about",
        "ws",
        "JavaScript",
        "VBSCRIPT",
        "\tjavascript",
        "\njavascript",
        "\0javascript",
        " javascript",
        "\u{1f}javascript",
        "\u{a0}javascript",
        "java\tscript",
        "java\r\nscript",
    ] {
        for rest in ["x", "//x/y", "/x", "//app.example/%0aalert(1)", "\"'<>"] {
            let text = format!("{scheme}:{rest}");
            assert_eq!(RedirectUri::new(&*text), Err(RedirectUriError::Forbidden), "{text:?}");
        }
    }
}

// Attacks 2, 3 and 4.
#[test]
fn uris_match_character_by_character() {
    let own = registered("https://a.example/cb");
    assert_eq!(own.match_requested("https://a.example/cb"), Some(own.clone()));
    for sent in [
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
        assert_eq!(own.match_requested(sent), None, "{sent:?}");
    }
    assert_eq!(
        registered("https://a.example/x%2Fy").match_requested("https://a.example/x%2fy"),
        None
    );
}

// Attack 8.
#[test]
fn the_port_of_a_loopback_address_is_free() {
    for (own, sent) in [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1:51234/cb"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1/cb"),
        ("http://[::1]/cb", "http://[::1]:51234/cb"),
        ("http://[::1]:1/cb?x=1", "http://[::1]:65535/cb?x=1"),
        ("http://127.0.0.1", "http://127.0.0.1:51234"),
    ] {
        let matched = registered(own).match_requested(sent);
        assert_eq!(matched.as_ref().map(RedirectUri::as_str), Some(sent), "{own}");
    }
}

// Attacks 5, 9 and 10.
#[test]
fn nothing_else_of_a_loopback_uri_is_free() {
    let own = registered("http://127.0.0.1/cb");
    for sent in [
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
        assert_eq!(own.match_requested(sent), None, "{sent:?}");
    }
    for (own, sent) in [
        ("https://127.0.0.1/cb", "https://127.0.0.1:51234/cb"),
        ("http://localhost/cb", "http://localhost:51234/cb"),
        ("http://localhost/cb", "http://localhost.evil.example/cb"),
        ("http://localhost/cb", "http://localhost./cb"),
        ("http://127.0.0.2/cb", "http://127.0.0.2:51234/cb"),
        ("http://app.example/cb", "http://app.example:51234/cb"),
    ] {
        assert_eq!(registered(own).match_requested(sent), None, "{own} for {sent}");
    }
}

// Attack 22.
#[test]
fn the_oob_urn_matches_only_itself() {
    let own = registered(OOB);
    assert!(own.is_oob() && own.match_requested(OOB).is_some());
    assert_eq!(own.match_requested("urn:ietf:wg:oauth:2.0:oob:auto"), None);
    assert_eq!(own.match_requested("URN:IETF:WG:OAUTH:2.0:OOB"), None);
    assert!(!registered("https://a.example/").is_oob());
}

#[test]
fn a_uri_that_is_kept_is_checked_when_it_is_read_back() {
    let own = registered("https://a.example/cb?x=%2F");
    let json = serde_json::to_string(&own).unwrap();
    assert_eq!(json, r#""https://a.example/cb?x=%2F""#);
    assert_eq!(serde_json::from_str::<RedirectUri>(&json).unwrap(), own);
    assert!(serde_json::from_str::<RedirectUri>(r#""javascript:x""#).is_err());
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused(text in any::<String>()) {
        if let Ok(uri) = RedirectUri::new(text.as_str()) {
            prop_assert!(text.is_ascii() && !text.contains(['\r', '\n', '\0', ' ', '#']));
            prop_assert_eq!(uri.as_str(), text);
        }
    }

    #[test]
    fn matching_is_reflexive_and_symmetric(
        one in r"(https?|app)://(127\.0\.0\.1|\[::1\]|a\.b|localhost)(:[0-9]{1,5})?(/[a-z]{0,2})?",
        port in any::<u16>(),
    ) {
        if let Ok(uri) = RedirectUri::new(one.as_str()) {
            prop_assert_eq!(uri.match_requested(&one), Some(uri.clone()));
            let sent = one.replacen("/c", &format!(":{port}/c"), 1);
            if let Some(matched) = uri.match_requested(&sent) {
                prop_assert!(matched.match_requested(&one).is_some());
                // Whatever matched could have been registered.
                prop_assert!(RedirectUri::new(sent).is_ok());
            }
        }
    }

    #[test]
    fn any_text_can_be_sent(sent in any::<String>()) {
        prop_assert_eq!(registered("http://127.0.0.1/cb").match_requested(&sent), None);
    }
}
