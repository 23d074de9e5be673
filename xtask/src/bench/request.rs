//! A request that xtask sends once and wrk sends repeatedly.

use std::io;
use std::net::SocketAddr;

use super::wrk;

/// A request. In the path, headers and body, `{account}` is replaced by an account number,
/// `{padded}` by the same number padded to ten digits, and `{random}` by a number from 0 to 99. wrk
/// replaces them in each request; [`Request::send`] uses 0. In the headers,
/// [`Request::with_accounts`] replaces `{token}` by the access token of the account.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
    /// The expected status; any success if `None`.
    pub expected_status: Option<u16>,
    pub accounts: u32,
}

/// The placeholders that differ between requests, with their values in [`Request::send`].
const PLACEHOLDERS: [(&str, &str); 3] =
    [("{account}", "0"), ("{padded}", "0000000000"), ("{random}", "0")];

pub(super) struct Response {
    pub status: u16,
    /// The names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub(super) fn new(method: &'static str, path: &str) -> Self {
        Self { method, path: path.into(), ..Self::default() }
    }

    pub(super) fn with_bearer(mut self, token: &str) -> Self {
        self.headers.push(("authorization", format!("Bearer {token}")));
        self
    }

    pub(super) fn with_body(mut self, content_type: &str, body: impl Into<String>) -> Self {
        self.headers.push(("content-type", content_type.to_owned()));
        self.body = body.into();
        self
    }

    /// Sets the number of accounts, and replaces `{token}` in the headers with the template for
    /// their tokens.
    pub(super) fn with_accounts(mut self, accounts: u32, token: &str) -> Self {
        self.accounts = accounts;
        for (_, value) in &mut self.headers {
            *value = value.replace("{token}", token);
        }
        self
    }

    /// Returns whether this status is the expected one.
    fn accepts(&self, status: u16) -> bool {
        self.expected_status.map_or((200..300).contains(&status), |expected| expected == status)
    }

    /// Returns whether wrk counts the expected responses as successful.
    pub(super) fn expects_success(&self) -> bool {
        self.expected_status.is_none_or(|status| status < 400)
    }

    /// Sends the request once, for the first account.
    pub(super) fn send(&self, address: SocketAddr) -> io::Result<Response> {
        let replace_placeholders = |text: &str| {
            PLACEHOLDERS
                .iter()
                .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
        };
        let url = format!("http://{address}{}", replace_placeholders(&self.path));
        let method = minreq::Method::Custom(self.method.to_owned());
        let mut request =
            minreq::Request::new(method, url).with_body(replace_placeholders(&self.body));
        for (name, value) in &self.headers {
            request = request.with_header(*name, replace_placeholders(value));
        }
        let response = request
            .with_timeout(30)
            .with_follow_redirects(false)
            .send()
            .map_err(io::Error::other)?;
        let status = response.status_code;
        if !self.accepts(status) {
            let body = response.as_str().unwrap_or_default();
            let error = format!("{} {}: status {status}: {body}", self.method, self.path);
            return Err(io::Error::other(error));
        }
        let headers =
            response.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        Ok(Response { status, headers: headers.collect(), body: response.into_bytes() })
    }

    /// Returns the Lua script that makes wrk send this request. The random numbers depend on
    /// `round`; in round 0, all accounts are requested in order.
    pub(super) fn wrk_script(&self, round: u32) -> String {
        let headers: Vec<String> = self
            .headers
            .iter()
            .map(|(name, value)| format!("[{}] = {}", lua_string(name), lua_string(value)))
            .collect();
        let body = if self.body.is_empty() { "nil".into() } else { lua_string(&self.body) };
        let variables = format!(
            "local round, method, path, body = {round}, {}, {}, {body}\n\
             local headers = {{ {} }}\n\
             local accounts, threads = {}, {}\n",
            lua_string(self.method),
            lua_string(&self.path),
            headers.join(", "),
            self.accounts.max(1),
            wrk::THREADS,
        );
        variables
            + if self.has_placeholders() { VARYING_REQUEST_SCRIPT } else { FIXED_REQUEST_SCRIPT }
    }

    fn has_placeholders(&self) -> bool {
        let parts =
            [&self.path, &self.body].into_iter().chain(self.headers.iter().map(|(_, value)| value));
        parts.into_iter().any(|part| PLACEHOLDERS.iter().any(|(name, _)| part.contains(name)))
    }
}

/// Script for a request that wrk builds once.
const FIXED_REQUEST_SCRIPT: &str = "\
wrk.method, wrk.path, wrk.body, wrk.headers = method, path, body, headers
";

/// Script for requests that wrk builds one by one. In round 0, the warm-up, its threads together
/// request all accounts in order.
const VARYING_REQUEST_SCRIPT: &str = r#"
local next_thread = 0
function setup(thread)
    thread:set("thread_number", next_thread)
    next_thread = next_thread + 1
end

function init()
    math.randomseed(round * 1000 + thread_number)
end

local count = 0
function request()
    count = count + 1
    local account = round == 0
        and (count * threads + thread_number) % accounts or math.random(0, accounts - 1)
    local values = {
        random = tostring(math.random(0, 99)),
        account = string.format("%d", account),
        padded = string.format("%010d", account),
    }
    local function fill(text) return (text:gsub("{(%l+)}", values)) end
    local filled = {}
    for name, value in pairs(headers) do filled[name] = fill(value) end
    return wrk.format(method, fill(path), filled, body and fill(body))
end
"#;

/// Returns the text as a Lua string literal, with special characters as decimal escapes.
fn lua_string(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'"' | b'\\' | 0..0x20 | 0x7f.. => format!("\\{byte:03}"),
        plain => char::from(plain).to_string(),
    };
    format!("\"{}\"", text.bytes().map(escape).collect::<String>())
}
