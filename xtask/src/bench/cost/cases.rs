//! The most expensive valid requests, and the data that makes them expensive.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::REPETITIONS;
use crate::bench::overload::{expensive_event, put_expensive_rules};
use crate::bench::request::{Request, Response};
use crate::cargo;

const PUSH_RULES: &str = "/_matrix/client/v3/pushrules/";
const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const PASSWORD: &str = "correct-horse-battery";
const CALLBACK: &str = "https://app.example/callback";

/// The token of the application service in [`SETTINGS`].
const SERVICE_TOKEN: &str = "bench-service";

/// The server's settings.
pub(super) const SETTINGS: &str = "[[application_services]]\n\
    id = \"bench\"\n\
    as_token = \"bench-service\"\n\
    sender_localpart = \"bench\"\n\
    namespaces.users = [{ regex = \"@.*\" }]\n";

/// A request, and the kind of client that can send it.
pub(super) struct Case {
    pub name: &'static str,
    pub client: &'static str,
    /// Variants of the request, which are sent in turn.
    pub requests: Vec<Request>,
}

/// The server and its data.
pub(super) struct Installation<'a> {
    /// The `belfry-bench` binary, which inserts data that no request can create.
    pub bench: &'a Path,
    pub dir: &'a Path,
    pub address: SocketAddr,
}

/// A user with an access token and a session.
struct User {
    token: String,
    cookie: String,
}

impl User {
    fn page_request(&self, path: &str) -> Request {
        Request::new("GET", path).with_cookie(&self.cookie)
    }

    fn push_rules_request(&self, path: &str, body: &Value) -> Request {
        let request = Request::new("POST", &format!("{PUSH_RULES}{path}"));
        request.with_bearer(&self.token).with_body(JSON, body.to_string())
    }
}

impl Installation<'_> {
    /// Stores the data and returns the requests.
    pub(super) fn prepare_cases(&self) -> Result<Vec<Case>, Box<dyn Error>> {
        let mut cases = self.anonymous_cases()?;
        cases.extend(self.access_cases()?);
        cases.extend(self.rule_cases()?);
        cases.extend(self.evaluation_cases()?);
        Ok(cases)
    }

    fn anonymous_cases(&self) -> Result<Vec<Case>, Box<dyn Error>> {
        let (id, credentials) = self.register_app()?;
        let token_request =
            form_request("/oauth/token", &format!("grant_type=client_credentials&{credentials}"));
        self.add_user("visitor")?;
        let login_request = |password: &str| {
            let body =
                json!({ "type": "m.login.password", "user": "visitor", "password": password });
            Request::new("POST", "/_matrix/client/v3/login").with_body(JSON, body.to_string())
        };
        let app_token = self.request_app_token()?;
        let new_sign_up = |number: u32| sign_up_request(&app_token, &format!("new{number}"));
        let authorize_path = format!("{}&state={}", authorization_path(&id), "s".repeat(4000));
        let uri = format!("https://app.example/{}", "a".repeat(1900));
        let registration =
            form_request("/api/v1/apps", &format!("client_name=App&redirect_uris={uri}"));
        let large_form =
            form_request("/oauth/account/rules", &"a=&".repeat(21_000)).with_expected_status(303);
        Ok(vec![
            case(
                "GET authorize, 4 kB of state",
                "unauthenticated",
                Request::new("GET", &authorize_path),
            ),
            case("POST apps, 2 kB of URIs", "unauthenticated", registration),
            case("POST token, client_credentials", "unauthenticated", token_request),
            // Each sign-up needs a new name.
            Case {
                name: "POST accounts, sign-up",
                client: "unauthenticated",
                requests: (0..=REPETITIONS).map(new_sign_up).collect(),
            },
            case(
                "POST login, wrong password",
                "unauthenticated",
                login_request("wrong").with_expected_status(403),
            ),
            case("POST login", "user", login_request(PASSWORD)),
            case("POST form of 63 kB", "unauthenticated", large_form),
        ])
    }

    /// Returns the requests of an account with as many grants, tokens and sessions as the limits
    /// allow.
    fn access_cases(&self) -> Result<Vec<Case>, Box<dyn Error>> {
        let user = self.add_user("owner")?;
        self.run_command(Command::new(self.bench).args(["fill-account", "owner"]))?;
        let page = user.page_request("/oauth/account/security");
        let html = body_text(&self.send(&page)?);
        let download = form_request(
            "/oauth/account/security/download",
            &format!("csrf={}", hidden_field_value(&html, "csrf")?),
        );
        let (id, _) = self.register_app()?;
        Ok(vec![
            case(
                "GET authorize, 50,000 tokens",
                "user",
                user.page_request(&authorization_path(&id)),
            ),
            case(
                "GET account, 50,000 tokens of 500 apps",
                "user",
                user.page_request("/oauth/account"),
            ),
            case("GET security, 50 sessions", "user", page),
            case("POST download, 50,000 tokens", "user", download.with_cookie(&user.cookie)),
        ])
    }

    fn rule_cases(&self) -> Result<Vec<Case>, Box<dyn Error>> {
        let collector = self.add_user("collector")?;
        let tagger = self.add_user("tagger")?;
        let rule_id = |number: usize| format!("!{number:03}{}", "&".repeat(200));
        let rule = |number: usize| {
            let tweak = json!({ "set_tweak": "sound", "value": "&".repeat(680) });
            json!({ "rule_id": rule_id(number), "actions": ["notify", tweak], "enabled": true })
        };
        let rules: Vec<Value> = (0..1000).map(rule).collect();
        self.send(
            &collector.push_rules_request("import", &json!({ "global": { "room": rules } })),
        )?;
        let profiles: Map<String, Value> = (0..1000)
            .map(|number| {
                (
                    rule_id(number),
                    json!({ "room": [{ "rule_id": rule_id(number), "actions": [] }] }),
                )
            })
            .collect();
        self.send(
            &tagger.push_rules_request("import", &json!({ "global": {}, "device": profiles })),
        )?;
        let path = format!("{PUSH_RULES}global/room/{}/enabled", rule_id(0).replace('&', "%26"));
        let set_enabled = |enabled: bool| {
            let put = Request::new("PUT", &path).with_bearer(&collector.token);
            put.with_body(JSON, json!({ "enabled": enabled }).to_string())
        };
        let change_all = |enabled: bool| {
            let change = |number| json!({ "op": "set_enabled", "kind": "room", "rule_id": rule_id(number), "enabled": enabled });
            collector.push_rules_request(
                "bulk",
                &json!({ "changes": (0..1000).map(change).collect::<Vec<_>>() }),
            )
        };
        let empty_profiles: Map<String, Value> =
            (0..170_000).map(|number| (format!("{number:x}"), json!({}))).collect();
        let profile_import =
            tagger.push_rules_request("import", &json!({ "global": {}, "device": empty_profiles }));
        let html = body_text(&self.send(&collector.page_request("/oauth/account/try"))?);
        let message = "text=Hello&sender=@b:x&room=!r:x&members=3&name=&profile=";
        let try_request = form_request(
            "/oauth/account/try",
            &format!("csrf={}&{message}", hidden_field_value(&html, "csrf")?),
        )
        .with_cookie(&collector.cookie);
        let rules_request = Request::new("GET", PUSH_RULES).with_bearer(&collector.token);
        Ok(vec![
            case(
                "GET rules page, 1,000 rules",
                "user",
                collector.page_request("/oauth/account/rules"),
            ),
            case(
                "GET notifications, 1,000 rules",
                "user",
                collector.page_request("/oauth/account/notifications"),
            ),
            case(
                "GET rules page, 1,000 profiles",
                "user",
                tagger.page_request("/oauth/account/rules"),
            ),
            case(
                "GET notifications, 1,000 profiles",
                "user",
                tagger.page_request("/oauth/account/notifications"),
            ),
            case("GET try page, 1,000 profiles", "user", tagger.page_request("/oauth/account/try")),
            case("POST try page, 1,000 rules", "user", try_request),
            case("GET pushrules, 1 MB", "user", rules_request),
            Case {
                name: "PUT enabled, 1 MB of rules",
                client: "user",
                requests: [false, true].map(set_enabled).into(),
            },
            Case {
                name: "POST bulk, 1,000 changes, 1 MB in total",
                client: "user",
                requests: [false, true].map(change_all).into(),
            },
            // Last, because it replaces the rules.
            case("POST import, 170,000 empty profiles", "user", profile_import),
        ])
    }

    fn evaluation_cases(&self) -> Result<Vec<Case>, Box<dyn Error>> {
        let user = self.add_user("evaluator")?;
        put_expensive_rules(self.address, &user.token)?;
        let event: Value = serde_json::from_str(&expensive_event())?;
        let explain = user.push_rules_request(
            "explain",
            &json!({ "event": event, "room": { "member_count": 3 } }),
        );
        let member = json!({ "user_id": format!("@evaluator:{}", self.address.ip()) });
        let body = json!({ "event": event, "members": vec![member; 1000] });
        let evaluate = Request::new("POST", "/_matrix/app/v1/evaluate")
            .with_bearer(SERVICE_TOKEN)
            .with_body(JSON, body.to_string());
        Ok(vec![
            case("POST explain, 1 MB of expensive rules", "user", explain),
            case("POST evaluate, 1,000 members with them", "service", evaluate),
        ])
    }

    /// Registers an app and returns its id and the fields of its credentials.
    fn register_app(&self) -> Result<(String, String), Box<dyn Error>> {
        let fields = format!("client_name=App&redirect_uris={CALLBACK}&scopes=read+write+push");
        let app: Value =
            serde_json::from_slice(&self.send(&form_request("/api/v1/apps", &fields))?.body)?;
        let field = |name: &str| app[name].as_str().unwrap_or_default().to_owned();
        let id = field("client_id");
        let credentials = format!("client_id={id}&client_secret={}", field("client_secret"));
        Ok((id, credentials))
    }

    /// Requests an app token, which a sign-up needs.
    fn request_app_token(&self) -> Result<String, Box<dyn Error>> {
        let (_, credentials) = self.register_app()?;
        let request = format!("grant_type=client_credentials&scope=write&{credentials}");
        parse_token(&self.send(&form_request("/oauth/token", &request))?)
    }

    /// Signs a user up and in.
    fn add_user(&self, name: &str) -> Result<User, Box<dyn Error>> {
        let token = parse_token(&self.send(&sign_up_request(&self.request_app_token()?, name))?)?;

        let page = self.send(&Request::new("GET", "/oauth/sign_in"))?;
        let html = body_text(&page);
        let fields = format!(
            "csrf={}&username={name}&password={PASSWORD}",
            hidden_field_value(&html, "csrf")?
        );
        let sign_in = form_request("/oauth/sign_in", &fields).with_cookie(&parse_cookie(&page)?);
        let cookie = parse_cookie(&self.send(&sign_in.with_expected_status(303))?)?;
        Ok(User { token, cookie })
    }

    /// Runs a command in the data directory and returns its output.
    fn run_command(&self, command: &mut Command) -> io::Result<String> {
        cargo::remove_inherited_variables(command);
        let output = command.current_dir(self.dir).output()?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("{command:?}: {error}")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    fn send(&self, request: &Request) -> io::Result<Response> {
        request.send(self.address)
    }
}

fn case(name: &'static str, client: &'static str, request: Request) -> Case {
    Case { name, client, requests: vec![request] }
}

fn sign_up_request(app_token: &str, name: &str) -> Request {
    let fields =
        format!("username={name}&email={name}@example.org&password={PASSWORD}&agreement=true");
    form_request("/api/v1/accounts", &fields).with_bearer(app_token)
}

fn form_request(path: &str, fields: &str) -> Request {
    Request::new("POST", path).with_body(FORM, fields)
}

fn authorization_path(client_id: &str) -> String {
    format!(
        "/oauth/authorize?response_type=code&client_id={client_id}&redirect_uri={CALLBACK}&scope=read"
    )
}

fn parse_token(response: &Response) -> Result<String, Box<dyn Error>> {
    let body: Value = serde_json::from_slice(&response.body)?;
    body["access_token"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| "the response contains no access token".into())
}

fn parse_cookie(response: &Response) -> Result<String, Box<dyn Error>> {
    let cookie = response
        .headers
        .iter()
        .find(|(name, _)| name == "set-cookie")
        .and_then(|(_, value)| value.split(';').next());
    cookie.map(str::to_owned).ok_or_else(|| "the response sets no cookie".into())
}

fn body_text(response: &Response) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

/// Returns the value of the first hidden field with this name.
fn hidden_field_value<'a>(page: &'a str, name: &str) -> Result<&'a str, Box<dyn Error>> {
    let field = format!("name=\"{name}\" value=\"");
    let value = page.split_once(&field).and_then(|(_, rest)| rest.split('"').next());
    value.ok_or_else(|| format!("no field {name} in {page}").into())
}
