//! A request, for us to send once and for wrk to send often.

/// A request. `{unique}`, `{random}` (0 to 99), `{account}` (below `accounts`) and `{pick}` (any of
/// `picks`) in its path, headers and body differ from call to call.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub picks: Vec<String>,
    pub accounts: u32,
    /// What must be answered; any success if unset.
    pub status: Option<u16>,
}

impl Request {
    pub(super) fn new(method: &str, path: &str) -> Self {
        Self { method: method.into(), path: path.into(), ..Self::default() }
    }

    /// Whether this status is what the row is about.
    pub(super) fn accepts(&self, status: u16) -> bool {
        self.status.map_or((200..300).contains(&status), |wanted| wanted == status)
    }

    /// One of the requests that it stands for, the same each time.
    pub(super) fn example(&self) -> Self {
        let pick = self.picks.first().map_or("", String::as_str);
        let fill = |text: &String| {
            let text = text.replace("{unique}", "example").replace("{random}", "0");
            text.replace("{account}", "0").replace("{pick}", pick)
        };
        Self {
            path: fill(&self.path),
            headers: self.headers.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
            body: fill(&self.body),
            ..self.clone()
        }
    }

    /// A script by which wrk sends it; scripts of different runs make different `{unique}`s.
    pub(super) fn script(&self, run: u32) -> String {
        let header =
            |(name, value): &(String, String)| format!("[{}] = {}", literal(name), literal(value));
        let headers: Vec<String> = self.headers.iter().map(header).collect();
        let picks: Vec<String> = self.picks.iter().map(|pick| literal(pick)).collect();
        let body = if self.body.is_empty() { "nil".into() } else { literal(&self.body) };
        let given = format!(
            "local run, method, path, body = {run}, {}, {}, {body}\n\
             local headers = {{ {} }}\n\
             local picks = {{ {} }}\n\
             local accounts = {}\n",
            literal(&self.method),
            literal(&self.path),
            headers.join(", "),
            picks.join(", "),
            self.accounts.max(1),
        );
        given + if self.varies() { VARYING } else { FIXED }
    }

    fn varies(&self) -> bool {
        let texts = [&self.path, &self.body];
        let mut texts = texts.into_iter().chain(self.headers.iter().map(|(_, value)| value));
        let marks = ["{unique}", "{random}", "{account}", "{pick}"];
        texts.any(|text| marks.iter().any(|mark| text.contains(mark)))
    }
}

/// wrk makes the request once.
const FIXED: &str = "\
wrk.method, wrk.path, wrk.body, wrk.headers = method, path, body, headers
";

/// wrk makes a request for every call, in two threads that share nothing. In run 0, which warms up,
/// they go through the accounts one after the other.
const VARYING: &str = r#"
local threads = 0
function setup(thread)
    thread:set("thread_number", threads)
    threads = threads + 1
end

function init()
    math.randomseed(run * 1000 + thread_number)
end

local count = 0
function request()
    count = count + 1
    local values = {
        unique = run .. "-" .. thread_number .. "-" .. count,
        random = tostring(math.random(0, 99)),
        account = string.format("%d", run == 0
            and (count * 2 + thread_number) % accounts or math.random(0, accounts - 1)),
        pick = #picks > 0 and picks[math.random(#picks)] or "",
    }
    local function fill(text) return (text:gsub("{(%l+)}", values)) end
    local filled = {}
    for name, value in pairs(headers) do filled[name] = fill(value) end
    return wrk.format(method, fill(path), filled, body and fill(body))
end
"#;

/// The text as a string of Lua: what is not plain is written by its number.
fn literal(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b'"' | b'\\' | 0..0x20 | 0x7f.. => format!("\\{byte:03}"),
        plain => char::from(plain).to_string(),
    };
    format!("\"{}\"", text.bytes().map(letter).collect::<Vec<_>>().concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_a_string_of_lua() {
        for (text, expected) in
            [("plain", r#""plain""#), ("a\"b\\\n", r#""a\034b\092\010""#), ("é9", r#""\195\1699""#)]
        {
            assert_eq!(literal(text), expected);
        }
    }

    #[test]
    fn a_request_that_is_always_the_same_is_made_once() {
        let fixed = Request {
            headers: vec![("accept".into(), "application/json".into())],
            ..Request::new("GET", "/healthz")
        };
        assert!(fixed.script(1).ends_with(FIXED));
        assert!(fixed.script(1).contains(r#"["accept"] = "application/json""#));
        for varying in [
            Request::new("PUT", "/rule/{random}"),
            Request {
                headers: vec![("authorization".into(), "Bearer {pick}".into())],
                ..Request::new("GET", "/")
            },
            Request { body: "{\"name\":\"{unique}\"}".into(), ..Request::new("POST", "/") },
        ] {
            assert!(varying.script(1).ends_with(VARYING), "{varying:?}");
        }
    }

    #[test]
    fn an_example_has_nothing_left_to_fill() {
        let request = Request {
            body: r#"{"id":"{unique}","n":{random}}"#.into(),
            picks: vec!["t1".into(), "t2".into()],
            headers: vec![("authorization".into(), "Bearer {pick}".into())],
            ..Request::new("PUT", "/{random}")
        };
        let example = request.example();
        assert_eq!(example.path, "/0");
        assert_eq!(example.headers[0].1, "Bearer t1");
        assert_eq!(example.body, r#"{"id":"example","n":0}"#);
    }

    #[test]
    fn a_row_can_be_about_a_refusal() {
        let refused = Request { status: Some(429), ..Request::new("GET", "/") };
        assert!(refused.accepts(429) && !refused.accepts(200));
        assert!(Request::new("GET", "/").accepts(204) && !Request::new("GET", "/").accepts(404));
    }
}
