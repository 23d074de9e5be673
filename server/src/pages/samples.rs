//! Every page in every state, filled with the names of examples: for the tests, and for whoever
//! wants to look at them (`cargo run --example pages`).

use askama::Template;
use belfry_core::oauth::app::AppDetails;
use belfry_core::oauth::error::Refusal;
use belfry_core::oauth::parameter::Parameter;
use belfry_core::oauth::redirect::{OOB, RedirectUri};
use belfry_core::rules::Document;
use belfry_core::secret::Secret;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    AccountPage, AppLetIn, CodePage, ConsentPage, ErrorPage, FirstPartyApp, Form, FormPostPage,
    Frame, Language, SignInPage, SignInProblem, SignedOutPage, Trouble,
};

/// A page's name and its HTML.
pub(crate) type Sample = (&'static str, String);

const CODE: &str = "kYRcYyXmSCfYG9oPW6yqpUtFVd8mIhfdsGpVdKJB0sM";

/// Every page in this language, about an app of this name.
pub(crate) fn all(language: Language, app: &str) -> Result<Vec<Sample>, askama::Error> {
    let frame = Frame { language, server: "social.example" };
    let code = CodePage { frame, app, code: &Secret::new(CODE), account: "/oauth/account" };
    let mut pages = vec![
        ("account", account(frame, &apps(app), &rules(app)?)?),
        ("account-bare", account(frame, &[], &[])?),
        ("code", code.render()?),
        ("form-post", form_post(frame, app)?),
        ("signed-out", SignedOutPage { frame, sign_in: "/auth/sign_in" }.render()?),
    ];
    for (name, app, typed, problem) in [
        ("sign-in", None, "", None),
        ("sign-in-app", Some(app), "", None),
        ("sign-in-wrong", Some(app), "alice", Some(SignInProblem::Wrong)),
        ("sign-in-too-many", None, "alice", Some(SignInProblem::TooMany { minutes: 5 })),
    ] {
        let form = Form { action: "/auth/sign_in", csrf: "c", request: app.map(|_| "r") };
        let page = SignInPage { frame, form, app, name: typed, problem };
        pages.push((name, page.render()?));
    }
    for (name, scopes, redirect_uri) in [
        ("consent", "read write:statuses write:media push", "https://tusky.example/callback"),
        ("consent-device", "profile", "tusky://oauth"),
        ("consent-code", "read:lists write:lists follow", OOB),
        ("consent-admin", "read admin:read admin:write:reports", "https://tusky.example/callback"),
    ] {
        pages.push((name, consent(frame, app, scopes, redirect_uri)?));
    }
    for (name, trouble) in [
        ("refused", Trouble::Refused(Refusal::InvalidRedirectUri)),
        ("refused-missing", Trouble::Refused(Refusal::Missing(Parameter::ClientId))),
        ("denied", Trouble::Refused(Refusal::AccessDenied)),
        ("expired", Trouble::Expired),
        ("unchecked", Trouble::Unchecked),
        ("malformed", Trouble::Malformed),
        ("too-many", Trouble::TooMany),
        ("internal", Trouble::Internal),
        ("not-found", Trouble::NotFound),
    ] {
        pages.push((name, ErrorPage { frame, trouble }.render()?));
    }
    Ok(pages)
}

fn account(
    frame: Frame<'_>,
    apps: &[AppLetIn],
    rules: &[Document],
) -> Result<String, askama::Error> {
    let form = |action| Form { action, csrf: "c", request: None };
    let rules: Vec<&Document> = rules.iter().collect();
    let page = AccountPage {
        frame,
        account: "alice",
        sign_out: form("/oauth/sign_out"),
        remove: form("/oauth/account/remove_app"),
        apps,
        rules: &rules,
    };
    page.render()
}

fn apps(name: &str) -> Vec<AppLetIn> {
    let app = |id, own, name: &str, website: Option<&str>, scopes: &str| AppLetIn {
        id,
        own,
        name: name.to_owned(),
        website: website.map(str::to_owned),
        scopes: scopes.parse().unwrap_or_default(),
        since: Timestamp::from_second(1_790_000_000 + id).unwrap_or(Timestamp::UNIX_EPOCH),
    };
    let website = Some("https://tusky.example/about?from=app");
    vec![
        app(1, Some(FirstPartyApp::CommandLine), "My bot", None, "read:statuses admin:read"),
        app(2, Some(FirstPartyApp::Matrix), "matrix", None, "read write push"),
        app(3, None, name, website, "read write:statuses push"),
    ]
}

/// Rules of every kind and of every effect, of a user who also changed a built-in one.
fn rules(id: &str) -> Result<Vec<Document>, askama::Error> {
    let rule = |id: &str, enabled: bool, actions: Value| json!({ "rule_id": id, "enabled": enabled, "actions": actions });
    let content = |id: &str, pattern: &str| {
        let actions = json!(["notify", { "set_tweak": "sound" }, { "set_tweak": "highlight" }]);
        let mut rule = rule(id, true, actions);
        rule["pattern"] = pattern.into();
        rule
    };
    let none = || json!([]);
    let global = json!({
        "rules": {
            "override": [rule(id, false, none())],
            "content": [content("cake", "cake"), content("sweet", id)],
            "room": [rule("!bellringers:social.example", true, none())],
            "sender": [rule("@bob:social.example", true, json!(["notify"]))],
            "underride": [rule("rest", true, none())],
        },
        "changes": { ".m.rule.message": { "enabled": false } },
    });
    let device = json!({
        "rules": {
            "override": [], "content": [], "sender": [], "underride": [],
            "room": [rule("!family:social.example", true, json!(["notify", { "set_tweak": "sound" }]))],
        },
        "changes": {},
    });
    let document = |scope: &str, text: Value| {
        let scope = scope.parse().map_err(|_| askama::Error::Fmt)?;
        Document::from_text(scope, &text.to_string()).map_err(|_| askama::Error::Fmt)
    };
    Ok(vec![document("global", global)?, document("device/phone", device)?])
}

fn form_post(frame: Frame<'_>, app: &str) -> Result<String, askama::Error> {
    let fields = [
        ("code", CODE.to_owned()),
        ("state", "\"><script>alert(1)</script>".to_owned()),
        ("iss", "https://social.example/".to_owned()),
    ];
    FormPostPage { frame, app, action: "https://tusky.example/callback", fields: &fields }.render()
}

fn consent(
    frame: Frame<'_>,
    app: &str,
    scopes: &str,
    redirect_uri: &str,
) -> Result<String, askama::Error> {
    let scopes = scopes.parse().unwrap_or_default();
    let redirect_uri = RedirectUri::new(redirect_uri).map_err(|_| askama::Error::Fmt)?;
    let app = AppDetails {
        name: app.to_owned(),
        website: Some("https://tusky.example/about?from=app".to_owned()),
        redirect_uris: vec![redirect_uri.clone()],
        scopes,
    };
    let page = ConsentPage {
        frame,
        form: Form { action: "/oauth/authorize", csrf: "c", request: Some("r") },
        switch: Form { action: "/auth/switch", csrf: "c", request: Some("r") },
        app: &app,
        account: "alice",
        scopes: &app.scopes,
        redirect_uri: &redirect_uri,
    };
    page.render()
}
