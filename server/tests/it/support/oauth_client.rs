//! An OAuth client: a registered app.

use serde_json::Value;

use super::browser::{Browser, encode_form, with_query};
use super::client::{TestClient, TestResponse};

/// The default redirect URI.
pub(crate) const CALLBACK: &str = "https://app.example/cb";

/// A registered app and its connection to the service.
#[derive(Clone)]
pub(crate) struct OAuthClient {
    pub(crate) http: TestClient,
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) redirect_uri: String,
}

impl OAuthClient {
    /// Registers an app with all scopes except admin scopes.
    pub(crate) async fn register(client: TestClient) -> Self {
        Self::register_with(client, CALLBACK, "read write follow push profile").await
    }

    /// Registers an app with these redirect URIs, one per line, and these scopes. Its requests use
    /// the first redirect URI.
    pub(crate) async fn register_with(
        client: TestClient,
        redirect_uris: &str,
        scopes: &str,
    ) -> Self {
        let form_client = client.with_header("content-type", "application/x-www-form-urlencoded");
        let fields =
            [("client_name", "Tusky"), ("redirect_uris", redirect_uris), ("scopes", scopes)];
        let response = form_client.send("POST /api/v1/apps", encode_form(&fields)).await;
        assert_eq!(response.status, 200, "{response:?}");
        let app = response.json();
        let string_field = |key: &str| app[key].as_str().unwrap().to_owned();
        let redirect_uri = redirect_uris.split('\n').next().unwrap().to_owned();
        Self {
            http: form_client,
            id: string_field("client_id"),
            secret: string_field("client_secret"),
            redirect_uri,
        }
    }

    /// Returns a copy of the app with a different redirect URI.
    pub(crate) fn with_redirect_uri(&self, redirect_uri: &str) -> Self {
        Self { redirect_uri: redirect_uri.to_owned(), ..self.clone() }
    }

    /// Returns the path of an authorization request, with additional parameters.
    pub(crate) fn authorize_path(&self, extra_parameters: &[(&str, &str)]) -> String {
        let mut parameters = vec![
            ("response_type", "code"),
            ("client_id", &*self.id),
            ("redirect_uri", &*self.redirect_uri),
        ];
        parameters.extend(extra_parameters);
        with_query("/oauth/authorize", &parameters)
    }

    /// Posts a form with the app's credentials in the body.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> TestResponse {
        let mut all_fields = vec![("client_id", &*self.id), ("client_secret", &*self.secret)];
        all_fields.extend(fields);
        self.http.send(&format!("POST {path}"), encode_form(&all_fields)).await
    }

    pub(crate) async fn redeem(
        &self,
        code: &str,
        extra_parameters: &[(&str, &str)],
    ) -> TestResponse {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &*self.redirect_uri),
        ];
        fields.extend(extra_parameters);
        self.post("/oauth/token", &fields).await
    }

    pub(crate) async fn obtain_app_token(&self, scope: &str) -> String {
        let fields = [("grant_type", "client_credentials"), ("scope", scope)];
        expect_token(&self.post("/oauth/token", &fields).await)
    }

    /// Signs the user in and approves the request, if required, and returns the code.
    pub(crate) async fn obtain_code(
        &self,
        browser: &mut Browser,
        user_name: &str,
        extra_parameters: &[(&str, &str)],
    ) -> String {
        let mut page = browser.get(&self.authorize_path(extra_parameters)).await;
        if page.text.contains("name=\"password\"") {
            page = browser.sign_in(&page, user_name).await;
        }
        let response = if page.status == 200 { browser.decide(&page, "allow").await } else { page };
        response.redirect_parameters(&self.redirect_uri)["code"].clone()
    }
}

#[track_caller]
pub(crate) fn expect_token(response: &TestResponse) -> String {
    assert_eq!(response.status, 200, "{response:?}");
    response.json()["access_token"].as_str().unwrap().to_owned()
}

/// Returns the status and `error` of an OAuth error, which must have a description.
#[track_caller]
pub(crate) fn status_and_error(response: &TestResponse) -> (u16, String) {
    let body: Value = response.json();
    assert!(
        body["error_description"].as_str().is_some_and(|text| !text.is_empty()),
        "{response:?}"
    );
    (response.status, body["error"].as_str().unwrap().to_owned())
}

/// Returns the expected result of [`status_and_error`].
pub(crate) fn oauth_error(status: u16, error: &str) -> (u16, String) {
    (status, error.to_owned())
}
