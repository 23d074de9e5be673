//! A simple browser: it stores cookies, submits forms, and follows redirects only in `follow`.

use std::collections::BTreeMap;

use url::Url;

use super::client::{TestClient, TestResponse};

/// A browser for a service in this process, or for a server over HTTP.
pub(crate) struct Browser {
    transport: Transport,
    pub(crate) cookies: BTreeMap<String, String>,
    /// The `Sec-Fetch-Site` header of its requests; `None` in an old browser.
    pub(crate) fetch_site: Option<&'static str>,
}

enum Transport {
    InProcess(TestClient),
    Http { client: reqwest::Client, url: String },
}

/// Returns a page's text without bidirectional isolates. A `|` separates the text of different
/// elements.
pub(crate) fn visible_text(page: &TestResponse) -> String {
    let after_tags = page.text.split('<').filter_map(|part| Some(part.split_once('>')?.1.trim()));
    let passages: Vec<&str> = after_tags.filter(|text| !text.is_empty()).collect();
    passages.join("|").replace(['\u{2068}', '\u{2069}'], "")
}

impl Browser {
    /// Creates a browser for a service in this process.
    pub(crate) fn new(client: TestClient) -> Self {
        Self::with_transport(Transport::InProcess(client))
    }

    /// Creates a browser for a server process at this URL.
    pub(crate) fn over_http(url: &str) -> Self {
        let no_redirects = reqwest::redirect::Policy::none();
        let client = reqwest::Client::builder().redirect(no_redirects).build().unwrap();
        Self::with_transport(Transport::Http { client, url: url.to_owned() })
    }

    fn with_transport(transport: Transport) -> Self {
        Self { transport, cookies: BTreeMap::new(), fetch_site: Some("same-origin") }
    }

    /// Sends the following requests to the node at this URL.
    pub(crate) fn switch_node(&mut self, node_url: &str) {
        if let Transport::Http { url, .. } = &mut self.transport {
            node_url.clone_into(url);
        }
    }

    pub(crate) fn session_cookie(&self) -> &str {
        let cookie = ["__Host-belfry", "belfry"].iter().find_map(|name| self.cookies.get(*name));
        cookie.expect("the browser has a cookie")
    }

    pub(crate) async fn get(&mut self, path: &str) -> TestResponse {
        self.send("GET", path, None).await
    }

    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> TestResponse {
        self.send("POST", path, Some(encode_form(fields))).await
    }

    /// Submits the form with this action on a page, with additional fields.
    pub(crate) async fn submit(
        &mut self,
        page: &TestResponse,
        action: &str,
        extra_fields: &[(&str, &str)],
    ) -> TestResponse {
        let mut fields = page.hidden_fields(action);
        fields.extend(extra_fields.iter().copied().map(owned_pair));
        self.post(action, &borrowed_pairs(&fields)).await
    }

    #[track_caller]
    pub(crate) fn follow(&mut self, response: &TestResponse) -> impl Future<Output = TestResponse> {
        let location = response.header("location").to_owned();
        assert!(location.starts_with('/'), "{response:?}");
        assert_eq!(response.status, 303);
        async move { self.get(&location).await }
    }

    /// Signs in on the sign-in page, as a user of [`super::Service::add_account`], and follows the
    /// redirect.
    pub(crate) async fn sign_in(&mut self, page: &TestResponse, name: &str) -> TestResponse {
        let password = format!("correct horse {name}");
        // The form's action includes the query of the page.
        let from_action =
            page.text.split(" action=\"").find(|rest| rest.starts_with("/oauth/sign_in"));
        let action =
            from_action.and_then(|rest| rest.split('"').next()).unwrap_or("/oauth/sign_in");
        let mut fields = page.hidden_fields(action);
        fields.extend([("username", name), ("password", &*password)].map(owned_pair));
        let response = self.post(&action.replace("&#38;", "&"), &borrowed_pairs(&fields)).await;
        self.follow(&response).await
    }

    /// Signs in as a user of [`super::Service::add_account`] and returns the browser.
    pub(crate) async fn sign_in_as(mut self, name: &str) -> Self {
        let page = self.get("/oauth/sign_in").await;
        self.sign_in(&page, name).await.assert_page(200, &format!("@{name}:ring.example"));
        self
    }

    pub(crate) async fn decide(&mut self, page: &TestResponse, decision: &str) -> TestResponse {
        self.submit(page, "/oauth/authorize", &[("decision", decision)]).await
    }

    async fn send(&mut self, method: &str, path: &str, form: Option<String>) -> TestResponse {
        let mut headers = vec![("accept", "text/html,application/xhtml+xml".to_owned())];
        if !self.cookies.is_empty() {
            let pairs = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
            headers.push(("cookie", pairs.collect::<Vec<_>>().join("; ")));
        }
        if form.is_some() {
            headers.push(("content-type", "application/x-www-form-urlencoded".to_owned()));
        }
        headers.extend(self.fetch_site.map(|site| ("sec-fetch-site", site.to_owned())));
        let response = match &self.transport {
            Transport::InProcess(client) => {
                let client = headers
                    .iter()
                    .fold(client.clone(), |client, (name, value)| client.with_header(name, value));
                client.send(&format!("{method} {path}"), form.unwrap_or_default()).await
            }
            Transport::Http { client, url } => {
                let mut request = client.request(method.parse().unwrap(), format!("{url}{path}"));
                for (name, value) in headers {
                    request = request.header(name, value);
                }
                let response = request.body(form.unwrap_or_default()).send().await.unwrap();
                TestResponse {
                    status: response.status().as_u16(),
                    headers: response.headers().clone(),
                    text: response.text().await.unwrap(),
                }
            }
        };
        self.store_cookies(&response);
        response
    }

    fn store_cookies(&mut self, response: &TestResponse) {
        for cookie in response.headers.get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            let (name, value_and_attributes) = cookie.split_once('=').unwrap();
            let (value, attributes) = value_and_attributes.split_once(';').unwrap();
            if attributes.contains("Max-Age=0;") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

impl TestResponse {
    #[track_caller]
    pub(crate) fn hidden_fields(&self, action: &str) -> Vec<(String, String)> {
        let tag_end = format!("action=\"{action}\">");
        let (_, after_tag) =
            self.text.split_once(&tag_end).unwrap_or_else(|| panic!("{action}: {self:?}"));
        let (form, _) = after_tag.split_once("</form>").unwrap();
        let inputs = form.split("<input type=\"hidden\" name=\"").skip(1);
        inputs
            .map(|input| {
                let (name, rest) = input.split_once("\" value=\"").unwrap();
                (name.to_owned(), rest.split_once('"').unwrap().0.to_owned())
            })
            .collect()
    }

    /// Asserts a redirect to this URI and returns the parameters of its query or fragment.
    #[track_caller]
    pub(crate) fn redirect_parameters(&self, redirect_uri: &str) -> BTreeMap<String, String> {
        assert_eq!(self.status, 303, "{self:?}");
        let location = self.header("location");
        let suffix = location.strip_prefix(redirect_uri).unwrap_or_else(|| panic!("{location}"));
        let parameters = suffix.strip_prefix(['?', '#']).unwrap_or_else(|| panic!("{location}"));
        url::form_urlencoded::parse(parameters.as_bytes()).into_owned().collect()
    }

    #[track_caller]
    pub(crate) fn assert_page(&self, status: u16, text: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "text/html; charset=utf-8");
        assert!(self.text.contains(text), "{text}: {self:?}");
        assert_eq!(self.header("location"), "");
    }
}

fn owned_pair((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn borrowed_pairs(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

pub(crate) fn encode_form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

pub(crate) fn with_query(path: &str, parameters: &[(&str, &str)]) -> String {
    let mut url = Url::parse("http://x").unwrap().join(path).unwrap();
    url.query_pairs_mut().extend_pairs(parameters);
    format!("{}?{}", url.path(), url.query().unwrap_or_default())
}
