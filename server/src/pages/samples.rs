//! Every page in every state, filled with the names of examples: for the tests, and for whoever
//! wants to look at them (`cargo run --example pages`).

use askama::Template;
use belfry_core::oauth::app::AppDetails;
use belfry_core::oauth::error::Refusal;
use belfry_core::oauth::parameter::Parameter;
use belfry_core::oauth::redirect::{OOB, RedirectUri};
use belfry_core::secret::Secret;

use super::{
    AccountPage, CodePage, ConsentPage, ErrorPage, Form, FormPostPage, Frame, Language, SignInPage,
    SignInProblem, SignedOutPage, Trouble,
};

/// A page's name and its HTML.
pub(crate) type Sample = (&'static str, String);

const CODE: &str = "kYRcYyXmSCfYG9oPW6yqpUtFVd8mIhfdsGpVdKJB0sM";

/// Every page in this language, about an app of this name.
pub(crate) fn all(language: Language, app: &str) -> Result<Vec<Sample>, askama::Error> {
    let frame = Frame { language, server: "social.example" };
    let switch = Form { action: "/oauth/sign_out", csrf: "c", request: None };
    let mut pages = vec![
        ("account", AccountPage { frame, account: "alice", switch }.render()?),
        ("code", CodePage { frame, app, code: &Secret::new(CODE) }.render()?),
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
