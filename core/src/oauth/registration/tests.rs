//! Tests of registrations and client ID metadata documents.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::oauth::issuer_policy::MASTODON;
use crate::oauth::redirect::RedirectUriError;

/// Supports a grant type that alone cannot sign a user in. `refresh_token` is unknown to it.
const POLICY: IssuerPolicy = IssuerPolicy {
    grant_types: &[GrantType::AuthorizationCode, GrantType::ClientCredentials],
    ..MASTODON
};

const SCOPES: &str = "openid profile";

/// Returns a registration in which the fields of `changes` replace the usual ones.
fn registration(changes: Value) -> Value {
    let mut fields = json!({
        "client_uri": "https://app.example.com/about",
        "redirect_uris": ["https://app.example.com/cb"],
    });
    if let Value::Object(changes) = changes {
        fields.as_object_mut().unwrap().extend(changes);
    }
    fields
}

fn parse(fields: &Value) -> Result<ClientMetadata, ClientMetadataError> {
    ClientMetadata::parse(fields.to_string().as_bytes(), &POLICY)
}

fn parse_document(url: &str, fields: &Value) -> Result<ClientMetadata, ClientMetadataError> {
    let url = DocumentUrl::parse(url)?;
    ClientMetadata::parse_document(fields.to_string().as_bytes(), &url, &POLICY)
}

fn response(metadata: &ClientMetadata) -> Value {
    let issued_at = Timestamp::from_second(1_800_000_000).unwrap();
    metadata.registration_response("c", issued_at, SCOPES)
}

#[test]
fn a_registration_of_element_is_accepted() {
    let metadata = parse(&json!({
        "client_name": "Element",
        "client_name#de": "Element",
        "client_uri": "https://element.io/",
        "logo_uri": "https://element.io/mobile-icon.png",
        "tos_uri": "https://element.io/acceptable-use-policy-terms",
        "policy_uri": "https://element.io/privacy",
        "contacts": ["support@element.io"],
        "redirect_uris":
            ["io.element.app:/callback", "https://app.element.io/?no_universal_links=true"],
        "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token", "unknown"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }))
    .unwrap();
    assert_eq!(metadata.scope, None);
    assert_eq!(
        response(&metadata),
        json!({
            "client_id": "c",
            "client_id_issued_at": 1_800_000_000,
            "client_name": "Element",
            "client_uri": "https://element.io/",
            "redirect_uris":
                ["io.element.app:/callback", "https://app.element.io/?no_universal_links=true"],
            "grant_types": ["authorization_code"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
            "scope": SCOPES,
        })
    );
}

#[test]
fn a_registration_of_an_mcp_client_is_accepted() {
    let metadata = parse(&json!({
        "client_name": "Claude Code (belfry)",
        "redirect_uris": ["http://localhost:51004/callback", "http://localhost:51004/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": "openid read",
        "client_uri": null,
        "logo_uri": null,
    }))
    .unwrap();
    let redirect_uris = vec![RedirectUri::from_stored("http://localhost:51004/callback").unwrap()];
    let expected = ClientMetadata {
        name: "Claude Code (belfry)".to_owned(),
        website: None,
        redirect_uris,
        application_type: ApplicationType::Web,
        grant_types: vec![GrantType::AuthorizationCode],
        scope: Some("openid read".to_owned()),
    };
    assert_eq!(metadata, expected);
    let expected_fields = ["application_type", "client_id", "client_id_issued_at", "client_name"]
        .into_iter()
        .chain(["grant_types", "redirect_uris", "response_types", "scope"])
        .chain(["token_endpoint_auth_method"]);
    assert!(response(&metadata).as_object().unwrap().keys().eq(expected_fields));
}

#[test]
fn a_client_without_a_usable_name_has_its_host_as_name() {
    let long_host = format!("{0}.{0}.example", "a".repeat(40));
    let long_client_uri = format!("https://{long_host}/");
    for (changes, expected) in [
        (json!({}), "app.example.com"),
        (json!({ "client_name": null }), "app.example.com"),
        (json!({ "client_name": " \u{200b}" }), "app.example.com"),
        (json!({ "client_name": "é".repeat(60) }), &*"é".repeat(60)),
        (json!({ "client_name": "é".repeat(61) }), &*("é".repeat(59) + "…")),
        (
            json!({ "client_uri": long_client_uri, "redirect_uris": ["http://localhost/"] }),
            &*(long_host[..59].to_owned() + "…"),
        ),
        (json!({ "client_uri": null, "redirect_uris": ["http://localhost/"] }), "Unnamed app"),
    ] {
        assert_eq!(parse(&registration(changes.clone())).unwrap().name, expected, "{changes}");
    }
}

#[test]
fn an_invalid_registration_is_rejected_with_its_reason() {
    use ClientMetadataError as Error;
    let wrong_type = |field: &str, expected| {
        Error::Json(JsonError::WrongType { field: field.to_owned(), expected })
    };
    let strings = "an array of strings";
    let other_host = |index| Error::RedirectUri { index, error: BaseRedirectUriError::OtherHost };
    let uris = |count: usize, length: usize| {
        let uri = |index| format!("http://localhost/{index:0>0$}", length - 17);
        json!({ "redirect_uris": (0..count).map(uri).collect::<Vec<_>>() })
    };
    assert_eq!(
        parse(&registration(uris(20, 100))).map(|metadata| metadata.redirect_uris.len()),
        Ok(20)
    );
    for (changes, error) in [
        (json!({ "client_name": ["a"] }), wrong_type("client_name", "a string")),
        (json!({ "client_name": "a\u{202e}b" }), Error::Name),
        (json!({ "client_name": "a\nb" }), Error::Name),
        (json!({ "client_uri": 1 }), wrong_type("client_uri", "a string")),
        (json!({ "client_uri": "" }), Error::Website),
        (json!({ "client_uri": "http://app.example.com" }), Error::Website),
        (json!({ "client_uri": "https://a@app.example.com" }), Error::Website),
        (json!({ "client_uri": "https://" }), Error::Website),
        (json!({ "client_uri": format!("https://a/{}", "a".repeat(1991)) }), Error::Website),
        (json!({ "application_type": "mobile" }), wrong_type("application_type", "web or native")),
        (json!({ "token_endpoint_auth_method": "client_secret_basic" }), Error::AuthMethod),
        (json!({ "token_endpoint_auth_method": "" }), Error::AuthMethod),
        (json!({ "grant_types": "authorization_code" }), wrong_type("grant_types", strings)),
        (json!({ "grant_types": [] }), Error::GrantTypes),
        (json!({ "grant_types": ["refresh_token", "client_credentials"] }), Error::GrantTypes),
        (json!({ "response_types": [1] }), wrong_type("response_types", strings)),
        (json!({ "response_types": ["token", "code id_token"] }), Error::ResponseTypes),
        (
            json!({ "redirect_uris": "https://app.example.com/cb" }),
            wrong_type("redirect_uris", strings),
        ),
        (json!({ "redirect_uris": null }), Error::NoRedirectUri),
        (json!({ "redirect_uris": [] }), Error::NoRedirectUri),
        (uris(21, 20), Error::TooManyRedirectUris),
        (uris(20, 101), Error::TooManyRedirectUris),
        (json!({ "redirect_uris": ["https://evil.example/", "https://b.example"] }), other_host(0)),
        (json!({ "scope": ["openid"] }), wrong_type("scope", "a string")),
    ] {
        assert_eq!(parse(&registration(changes.clone())), Err(error), "{changes}");
    }
    assert_eq!(parse(&json!([])), Err(wrong_type("the body", "a JSON object")));
}

#[test]
fn an_error_has_its_code_and_says_which_uri_is_wrong() {
    let error = BaseRedirectUriError::Uri(RedirectUriError::Fragment);
    let uri_error = ClientMetadataError::RedirectUri { index: 3, error };
    assert_eq!(uri_error.to_string(), "redirect_uris[3] cannot contain a fragment.");
    for (error, code) in [
        (uri_error, "invalid_redirect_uri"),
        (ClientMetadataError::NoRedirectUri, "invalid_redirect_uri"),
        (ClientMetadataError::TooManyRedirectUris, "invalid_redirect_uri"),
        (ClientMetadataError::AuthMethod, "invalid_client_metadata"),
        (ClientMetadataError::OtherClientId, "invalid_client_metadata"),
        (JsonError::Syntax(String::new()).into(), "invalid_client_metadata"),
    ] {
        assert_eq!(error.code(), code, "{error:?}");
    }
}

#[test]
fn a_document_url_is_a_normalized_https_url_with_a_path() {
    for (text, host) in [
        ("https://claude.ai/oauth/claude-code-client-metadata", "claude.ai"),
        ("https://app.example.com:8443/a/?b", "app.example.com"),
        ("https://app.example.com//", "app.example.com"),
    ] {
        let url = DocumentUrl::parse(text).unwrap();
        assert_eq!((url.as_str(), url.host()), (text, host));
    }
    for text in [
        "",
        "c",
        "http://app.example.com/c",
        "https://app.example.com",
        "https://app.example.com/",
        "https://app.example.com/?c",
        "https://app.example.com/c#",
        "https://a@app.example.com/c",
        "https://@app.example.com/c",
        "https://app.example.com/./c",
        "https://app.example.com/a/../c",
        "https://app.example.com/a/%2E./c",
        "https://app.example.com/a/..",
        "https://app.example.com:443/c",
        "https://APP.example.com/c",
        "HTTPS://app.example.com/c",
        "https://app.example.com\\c",
        "https://app.example.com/é",
        "https://127.1/c",
        &format!("https://app.example.com/{}", "c".repeat(MAX_URIS_LENGTH)),
    ] {
        assert_eq!(DocumentUrl::parse(text), Err(ClientMetadataError::DocumentUrl), "{text}");
    }
}

#[test]
fn a_document_describes_a_client_of_its_host() {
    // VS Code.
    let url = "https://vscode.dev/oauth/client-metadata.json";
    let document = json!({
        "client_id": url,
        "client_name": "Visual Studio Code",
        "client_uri": "https://code.visualstudio.com",
        "grant_types":
            ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        "response_types": ["code"],
        "redirect_uris": [
            "https://vscode.dev/redirect", "https://insiders.vscode.dev/redirect",
            "http://127.0.0.1/", "http://127.0.0.1:33418/", "dev.vscode.app:cb",
        ],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    let metadata = parse_document(url, &document).unwrap();
    assert_eq!(metadata.name, "Visual Studio Code");
    assert_eq!(metadata.website.as_deref(), Some("https://code.visualstudio.com"));
    assert_eq!(metadata.redirect_uris.len(), 5);

    let error = BaseRedirectUriError::OtherHost;
    let missing_id = JsonError::MissingField("client_id".to_owned());
    for (field, value, error) in [
        ("client_id", json!("https://vscode.dev/oauth"), ClientMetadataError::OtherClientId),
        (
            "redirect_uris",
            json!(["https://code.visualstudio.com/"]),
            ClientMetadataError::RedirectUri { index: 0, error },
        ),
        ("token_endpoint_auth_method", json!("private_key_jwt"), ClientMetadataError::AuthMethod),
    ] {
        let mut other_document = document.clone();
        other_document[field] = value;
        assert_eq!(parse_document(url, &other_document), Err(error));
    }
    assert_eq!(parse_document(url, &json!({})), Err(missing_id.into()));
    // The website does not verify the name.
    let unnamed_document = registration(json!({
        "client_id": url, "redirect_uris": ["http://localhost/"]
    }));
    assert_eq!(parse_document(url, &unnamed_document).unwrap().name, "vscode.dev");
}

fn any_metadata() -> impl Strategy<Value = ClientMetadata> {
    let uris = ["https://a.example/1", "https://a.example/2", "http://localhost/", "example.a:b"];
    (
        select(vec!["App", "Other app"]),
        select(vec![None, Some("https://a.example"), Some("https://a.example/")]),
        subsequence(uris.to_vec(), 1..=4).prop_shuffle(),
        select(ApplicationType::ALL),
        subsequence(GrantType::ALL.to_vec(), 1..=GrantType::ALL.len()).prop_shuffle(),
    )
        .prop_map(|(name, website, uris, application_type, grant_types)| ClientMetadata {
            name: name.to_owned(),
            website: website.map(str::to_owned),
            redirect_uris: uris.into_iter().flat_map(RedirectUri::from_stored).collect(),
            application_type,
            grant_types,
            scope: None,
        })
}

fn any_scopes() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(vec!["openid", "profile", "email"], 1..=3).prop_shuffle()
}

/// Returns the registered fields with lists in a fixed order, without the code under test.
fn sorted_fields(metadata: &ClientMetadata, scopes: &[&'static str]) -> impl PartialEq + use<> {
    let mut uris: Vec<_> =
        metadata.redirect_uris.iter().map(|uri| uri.as_str().to_owned()).collect();
    uris.sort();
    let mut grant_types = metadata.grant_types.clone();
    grant_types.sort_by_key(|grant_type| grant_type.as_str());
    let mut scopes = scopes.to_vec();
    scopes.sort_unstable();
    let ClientMetadata { name, website, application_type, .. } = metadata.clone();
    (name, website, application_type, uris, grant_types, scopes)
}

proptest! {
    #[test]
    fn clients_have_the_same_id_exactly_if_they_registered_the_same(
        metadata in any_metadata(), scopes in any_scopes(),
        other_metadata in any_metadata(), other_scopes in any_scopes(),
    ) {
        let client_id = metadata.client_id(&scopes.join(" "));
        let mut reversed = metadata.clone();
        reversed.redirect_uris.reverse();
        reversed.grant_types.reverse();
        let reversed_scopes: Vec<_> = scopes.iter().copied().rev().collect();
        prop_assert_eq!(&reversed.client_id(&reversed_scopes.join(" ")), &client_id);

        let other = other_metadata;
        for (changed, changed_scopes) in [
            (ClientMetadata { name: other.name.clone(), ..metadata.clone() }, &scopes),
            (ClientMetadata { website: other.website.clone(), ..metadata.clone() }, &scopes),
            (
                ClientMetadata { redirect_uris: other.redirect_uris.clone(), ..metadata.clone() },
                &scopes,
            ),
            (
                ClientMetadata { application_type: other.application_type, ..metadata.clone() },
                &scopes,
            ),
            (
                ClientMetadata { grant_types: other.grant_types.clone(), ..metadata.clone() },
                &scopes,
            ),
            (metadata.clone(), &other_scopes),
            (other, &other_scopes),
        ] {
            let is_same =
                sorted_fields(&metadata, &scopes) == sorted_fields(&changed, changed_scopes);
            let changed_id = changed.client_id(&changed_scopes.join(" "));
            prop_assert_eq!(changed_id == client_id, is_same, "{:?}", changed);
        }
    }

    // RFC 7591, section 3.2.2.
    #[test]
    fn an_error_is_described_in_ascii(text in any::<String>()) {
        for name in ["client_name", "client_uri", "redirect_uris", "grant_types", "scope"] {
            for value in [json!(text), json!([text])] {
                if let Err(error) = parse(&registration(json!({ name: value }))) {
                    prop_assert!(error.to_string().is_ascii(), "{}", error);
                }
            }
        }
        if let Err(error) = ClientMetadata::parse(text.as_bytes(), &POLICY) {
            prop_assert!(error.to_string().is_ascii(), "{}", error);
        }
    }
}

#[test]
fn the_client_id_is_the_digest_of_the_sorted_metadata() {
    let metadata = parse(&registration(json!({ "client_name": "App" }))).unwrap();
    let sorted_metadata = [
        r#"{"application_type":"web","client_name":"App","#,
        r#""client_uri":"https://app.example.com/about","grant_types":["authorization_code"],"#,
        r#""redirect_uris":["https://app.example.com/cb"],"response_types":["code"],"#,
        r#""scope":"openid profile","token_endpoint_auth_method":"none"}"#,
    ];
    let expected = Sha256Digest::compute(&sorted_metadata.concat()).to_text();
    assert_eq!(metadata.client_id("profile openid"), expected);
}
