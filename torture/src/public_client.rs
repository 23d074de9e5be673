//! A client without a secret, whose sign-ins have refresh tokens.

use std::net::SocketAddr;

use serde_json::json;

use crate::Result;
use crate::app::{CALLBACK, SCOPES, User, approve};
use crate::client::{Client, Request, Response};

/// The verifier and its challenge of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

#[derive(Debug, Clone)]
pub(crate) struct PublicClient {
    id: String,
}

/// The tokens of a response.
#[derive(Debug, Clone)]
pub(crate) struct TokenPair {
    pub(crate) access: String,
    pub(crate) refresh: String,
}

impl PublicClient {
    /// Registers the client. Each registration returns the same client.
    pub(crate) fn register(address: SocketAddr) -> Result<Self> {
        let metadata = json!({
            "client_name": "Public client",
            "client_uri": "https://app.example/",
            "redirect_uris": [CALLBACK],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
        });
        let request = Request::post("/id/register", &metadata);
        let response = Client::new(address).send_successfully(&request)?;
        Ok(Self { id: response.json_string("client_id")? })
    }

    /// Requests a code and approves the request, like [`App::authorize`](crate::app::App::authorize).
    pub(crate) fn authorize(&self, client: &Client, user: &User) -> Result<Response> {
        let parameters = [
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", CALLBACK),
            ("scope", SCOPES),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        approve(client, user, "/id/authorize", &parameters)
    }

    pub(crate) fn redemption_request(&self, code: &str) -> Request {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", &self.id),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        Request::form("/id/token", &fields)
    }

    pub(crate) fn refresh_request(&self, token: &str) -> Request {
        let fields =
            [("grant_type", "refresh_token"), ("client_id", &self.id), ("refresh_token", token)];
        Request::form("/id/token", &fields)
    }

    pub(crate) fn revocation_request(token: &str) -> Request {
        Request::form("/id/revoke", &[("token", token)])
    }
}

impl TokenPair {
    pub(crate) fn read(response: &Response) -> Result<Self> {
        Ok(Self {
            access: response.json_string("access_token")?,
            refresh: response.json_string("refresh_token")?,
        })
    }
}
