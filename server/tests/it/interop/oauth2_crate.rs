//! Interoperability with the client of the `oauth2` crate, with reqwest as its HTTP client.

use std::time::Duration;

use oauth2::basic::{BasicClient, BasicErrorResponseType};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, IntrospectionUrl, PkceCodeChallenge, RedirectUrl,
    RefreshToken, RequestTokenError, Scope, TokenIntrospectionResponse, TokenResponse, TokenUrl,
};
use serde_json::{Value, json};

use super::{AliceServer, approve};

const CALLBACK: &str = "https://app.example/cb";

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointSet, EndpointNotSet, EndpointSet>;

/// Registers an app and configures a client from the server metadata.
async fn register_client(url: &str) -> Client {
    let http_client = reqwest::Client::new();
    let registration =
        json!({ "client_name": "oauth2", "redirect_uris": CALLBACK, "scopes": "read push" });
    let request = http_client.post(format!("{url}/api/v1/apps")).json(&registration);
    let app: Value = request.send().await.unwrap().json().await.unwrap();
    let request = http_client.get(format!("{url}/.well-known/oauth-authorization-server"));
    let metadata: Value = request.send().await.unwrap().json().await.unwrap();
    let string_field = |document: &Value, key: &str| document[key].as_str().unwrap().to_owned();
    BasicClient::new(ClientId::new(string_field(&app, "client_id")))
        .set_client_secret(ClientSecret::new(string_field(&app, "client_secret")))
        .set_auth_uri(AuthUrl::new(string_field(&metadata, "authorization_endpoint")).unwrap())
        .set_token_uri(TokenUrl::new(string_field(&metadata, "token_endpoint")).unwrap())
        .set_introspection_url(
            IntrospectionUrl::new(string_field(&metadata, "introspection_endpoint")).unwrap(),
        )
        .set_redirect_uri(RedirectUrl::new(CALLBACK.to_owned()).unwrap())
}

async fn send(request: HttpRequest) -> Result<HttpResponse, reqwest::Error> {
    let reqwest_response = reqwest::Client::new().execute(request.try_into()?).await?;
    let mut response = HttpResponse::new(Vec::new());
    *response.status_mut() = reqwest_response.status();
    *response.headers_mut() = reqwest_response.headers().clone();
    *response.body_mut() = reqwest_response.bytes().await?.into();
    Ok(response)
}

/// Approves the request as Alice; returns the code and the state.
async fn request_code(server: &AliceServer, url: &str) -> (AuthorizationCode, String) {
    let response = approve(&server.process.url, &server.password, url).await;
    let mut parameters = response.redirect_parameters(CALLBACK);
    (
        AuthorizationCode::new(parameters.remove("code").unwrap()),
        parameters.remove("state").unwrap(),
    )
}

#[tokio::test]
async fn the_oauth2_crate_redeems_a_code_with_pkce_and_either_auth_method() {
    let server = AliceServer::start();
    for auth_method in [AuthType::BasicAuth, AuthType::RequestBody] {
        let client = register_client(&server.process.url).await.set_auth_type(auth_method);
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (url, state) = client
            .authorize_url(CsrfToken::new_random)
            .add_scopes(["read", "push"].map(|scope| Scope::new(scope.to_owned())))
            .set_pkce_challenge(challenge)
            .url();
        let (code, returned_state) = request_code(&server, url.as_str()).await;
        assert_eq!(&returned_state, state.secret());

        let (_, wrong_verifier) = PkceCodeChallenge::new_random_sha256();
        let request = client.exchange_code(code.clone()).set_pkce_verifier(wrong_verifier);
        match request.request_async(&send).await {
            Err(RequestTokenError::ServerResponse(error)) => {
                assert_eq!(error.error(), &BasicErrorResponseType::InvalidGrant);
            }
            result => panic!("{result:?}"),
        }
        let request = client.exchange_code(code).set_pkce_verifier(verifier);
        let token = request.request_async(&send).await.unwrap();
        let scopes: Vec<&str> =
            token.scopes().unwrap().iter().map(|scope| scope.as_str()).collect();
        assert_eq!(scopes, ["read", "push"]);
        assert_eq!(token.expires_in(), None);

        let introspection =
            client.introspect(token.access_token()).request_async(&send).await.unwrap();
        assert!(introspection.active());
        assert_eq!(introspection.username(), Some("alice"));
    }
}

#[tokio::test]
async fn the_oauth2_crate_gets_an_app_token_with_either_auth_method() {
    let server = AliceServer::start();
    for auth_method in [AuthType::BasicAuth, AuthType::RequestBody] {
        let client = register_client(&server.process.url).await.set_auth_type(auth_method);
        let request = client.exchange_client_credentials().add_scope(Scope::new("push".to_owned()));
        let token = request.request_async(&send).await.unwrap();
        assert_eq!(token.scopes().unwrap().len(), 1);
        let url = format!("{}/api/v1/apps/verify_credentials", server.process.url);
        let request = reqwest::Client::new().get(url).bearer_auth(token.access_token().secret());
        let app: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(app["name"], "oauth2");

        let admin_scope = Scope::new("admin:read".to_owned());
        let request = client.exchange_client_credentials().add_scope(admin_scope);
        match request.request_async(&send).await {
            Err(RequestTokenError::ServerResponse(error)) => {
                assert_eq!(error.error(), &BasicErrorResponseType::InvalidScope);
            }
            result => panic!("{result:?}"),
        }
    }
}

/// matrix-sdk uses the crate, and names the scopes as before the specification.
#[tokio::test]
async fn the_oauth2_crate_refreshes_without_a_secret() {
    const DEVICE: &str = "ABCDEFGHIJ";
    let server = AliceServer::start();
    let (url, http_client) = (&server.process.url, reqwest::Client::new());
    let registration = json!({
        "client_name": "oauth2", "client_uri": "https://app.example/",
        "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none",
    });
    let request = http_client.post(format!("{url}/id/register")).json(&registration);
    let registered: Value = request.send().await.unwrap().json().await.unwrap();
    let client = BasicClient::new(ClientId::new(registered["client_id"].as_str().unwrap().into()))
        .set_auth_uri(AuthUrl::new(format!("{url}/id/authorize")).unwrap())
        .set_token_uri(TokenUrl::new(format!("{url}/id/token")).unwrap())
        .set_redirect_uri(RedirectUrl::new(CALLBACK.to_owned()).unwrap());

    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let scope = |suffix: &str| Scope::new(format!("urn:matrix:org.matrix.msc2967.client:{suffix}"));
    let (authorization_url, _) = client
        .authorize_url(CsrfToken::new_random)
        .add_scopes([scope("api:*"), scope(&format!("device:{DEVICE}"))])
        .set_pkce_challenge(challenge)
        .url();
    let (code, _) = request_code(&server, authorization_url.as_str()).await;
    let request = client.exchange_code(code).set_pkce_verifier(verifier);
    let mut token = request.request_async(&send).await.unwrap();
    for _ in 0..10 {
        assert_eq!(token.expires_in(), Some(Duration::from_mins(5)));
        let whoami_url = format!("{url}/_matrix/client/v3/account/whoami");
        let request = http_client.get(whoami_url).bearer_auth(token.access_token().secret());
        let user: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(user["device_id"], DEVICE);
        let refresh_token = token.refresh_token().unwrap();
        token = client.exchange_refresh_token(refresh_token).request_async(&send).await.unwrap();
    }

    let unknown = RefreshToken::new("unknown".to_owned());
    match client.exchange_refresh_token(&unknown).request_async(&send).await {
        Err(RequestTokenError::ServerResponse(error)) => {
            assert_eq!(error.error(), &BasicErrorResponseType::InvalidGrant);
        }
        result => panic!("{result:?}"),
    }
}
