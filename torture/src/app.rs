//! An app with signed-in users, set up through the public interface.

use std::net::SocketAddr;

use crate::Result;
use crate::client::{Client, Request, Response, encode_form};

pub(crate) const CALLBACK: &str = "https://app.example/callback";
pub(crate) const SCOPES: &str = "read write push";

#[derive(Debug, Clone)]
pub(crate) struct App {
    id: String,
    secret: String,
}

/// A user with an access token and a session.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) token: String,
    cookie: String,
}

impl App {
    pub(crate) fn register(address: SocketAddr) -> Result<Self> {
        let fields = [("client_name", "App"), ("redirect_uris", CALLBACK), ("scopes", SCOPES)];
        let request = Request::form("/api/v1/apps", &fields);
        let response = Client::new(address).send_successfully(&request)?;
        Ok(Self {
            id: response.json_string("client_id")?,
            secret: response.json_string("client_secret")?,
        })
    }

    /// Signs up a user and signs them in.
    pub(crate) fn add_user(&self, address: SocketAddr, name: &str) -> Result<User> {
        let client = Client::new(address);
        let app_token =
            client.send_successfully(&self.token_request(SCOPES))?.json_string("access_token")?;
        let email = format!("{name}@example.org");
        let password = format!("correct horse {name}");
        let fields =
            [("username", name), ("email", &email), ("password", &password), ("agreement", "true")];
        let sign_up_request = Request::form("/api/v1/accounts", &fields).with_bearer(&app_token);
        let token = client.send_successfully(&sign_up_request)?.json_string("access_token")?;

        let page = client.send_successfully(&Request::get("/oauth/sign_in"))?;
        let mut fields = parse_hidden_fields(&page.body, "/oauth/sign_in")?;
        fields.extend([("username", name), ("password", &password)]);
        let sign_in_request = Request::form("/oauth/sign_in", &fields)
            .with_header("cookie", &page.cookies.join("; "));
        let response = client.send_successfully(&sign_in_request)?;
        let cookie = response
            .cookies
            .iter()
            // Skips deleted cookies.
            .find(|cookie| !cookie.ends_with('='))
            .ok_or_else(|| format!("sign-in set no session cookie: {}", response.body))?
            .clone();
        Ok(User { token, cookie })
    }

    pub(crate) fn token_request(&self, scope: &str) -> Request {
        self.authenticated_form(
            "/oauth/token",
            &[("grant_type", "client_credentials"), ("scope", scope)],
        )
    }

    pub(crate) fn revocation_request(&self, token: &str) -> Request {
        self.authenticated_form("/oauth/revoke", &[("token", token)])
    }

    pub(crate) fn redemption_request(&self, code: &str) -> Request {
        let fields =
            [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", CALLBACK)];
        self.authenticated_form("/oauth/token", &fields)
    }

    fn authenticated_form(&self, path: &str, fields: &[(&str, &str)]) -> Request {
        let mut all_fields = vec![("client_id", &*self.id), ("client_secret", &*self.secret)];
        all_fields.extend(fields);
        Request::form(path, &all_fields)
    }

    /// Requests a code and approves the request as this user. Returns the response to the approval,
    /// or to the first request if that does not show the consent page.
    pub(crate) fn authorize(&self, client: &Client, user: &User) -> Result<Response> {
        let parameters = [
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", CALLBACK),
            ("scope", SCOPES),
        ];
        approve(client, user, "/oauth/authorize", &parameters)
    }

    pub(crate) fn extract_code(response: &Response) -> Option<String> {
        let query = response.location.strip_prefix(CALLBACK)?.strip_prefix('?')?;
        form_urlencoded::parse(query.as_bytes())
            .find_map(|(name, value)| (name == "code").then(|| value.into_owned()))
    }
}

/// Sends an authorization request and approves it as this user. Returns the response to the
/// approval, or to the request if that does not show the consent page.
pub(crate) fn approve(
    client: &Client,
    user: &User,
    path: &str,
    parameters: &[(&str, &str)],
) -> Result<Response> {
    let request = Request::get(format!("{path}?{}", encode_form(parameters)));
    let response = client.send(&request.with_header("cookie", &user.cookie))?;
    if response.status != 200 {
        return Ok(response);
    }
    let mut fields = parse_hidden_fields(&response.body, "/oauth/authorize")?;
    fields.push(("decision", "allow"));
    let decision_request = Request::form("/oauth/authorize", &fields);
    client.send(&decision_request.with_header("cookie", &user.cookie))
}

fn parse_hidden_fields<'a>(page: &'a str, action: &str) -> Result<Vec<(&'a str, &'a str)>> {
    let (_, rest) = page
        .split_once(&format!("action=\"{action}\">"))
        .ok_or_else(|| format!("no form {action} in {page}"))?;
    let form = rest.split_once("</form>").map_or(rest, |(form, _)| form);
    let inputs = form.split("<input type=\"hidden\" name=\"").skip(1);
    Ok(inputs
        .filter_map(|input| {
            let (name, rest) = input.split_once("\" value=\"")?;
            Some((name, rest.split_once('"')?.0))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_fields_belong_to_their_form() {
        let page = "<form action=\"/other\"><input type=\"hidden\" name=\"x\" value=\"y\"></form>\
                    <form method=\"post\" action=\"/a\"><input type=\"hidden\" name=\"csrf\" value=\"1\">\
                    <input type=\"hidden\" name=\"b\" value=\"\"></form>";
        assert_eq!(parse_hidden_fields(page, "/a").unwrap(), [("csrf", "1"), ("b", "")]);
        assert!(parse_hidden_fields(page, "/c").is_err());
    }
}
