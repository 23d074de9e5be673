//! Every page in every state with sample data, for this example and for the page tests.

use std::time::Duration;

use askama::Template;
use belfry_core::account::FieldError;
use belfry_core::account::sign_up::{Field, InvalidField};
use belfry_core::oauth::app::AppDetails;
use belfry_core::oauth::client::Registrar;
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::parameter::Parameter;
use belfry_core::oauth::redirect::{OOB, RedirectUri};
use belfry_core::rules::preferences::Pause;
use belfry_core::secret::{LookupKey, Secret, SplitToken};
use belfry_core::user_agent::UserAgent;
use jiff::Timestamp;
use strum::VariantArray;

use super::{
    AccountNav, AccountPage, AccountSection, AccountSession, AccountToken, AuthenticationError,
    AuthorizedApp, CodePage, ConsentPage, ErrorCause, ErrorPage, Form, FormPostPage, FrontPage,
    Language, Layout, ListedApp, MAX_SESSIONS, NewRuleForm, Notice, PageNumber, PendingDeletion,
    RejectedPage, RulePage, RulesPage, RulesView, SecurityFormError, SecurityPage, SignInPage,
    SignUpPage, SignedOutPage, StaticFile, Trial, TrialErrors, TrialFields, TrialPage, assets,
};

#[path = "samples/devices.rs"]
mod devices;
#[path = "samples/notifications.rs"]
mod notifications;
#[path = "samples/rules.rs"]
mod rules;

/// A page's name and its HTML.
pub(crate) type Sample = (&'static str, String);

const CODE: &str = "kYRcYyXmSCfYG9oPW6yqpUtFVd8mIhfdsGpVdKJB0sM";

/// Renders every page in a language, for an app with the name `app`.
pub(crate) fn render_pages(language: Language, app: &str) -> Result<Vec<Sample>, askama::Error> {
    let server = "social.example";
    let title = "Bell Ringers";
    let style = assets::STYLE.path();
    let layout = Layout {
        language,
        server,
        title,
        logo: None,
        style,
        ignores_early_input: false,
        language_link: "?client_id=a",
    };
    let logo = logo();
    let code = CodePage { layout, app, code: &Secret::new(CODE) };
    let signed_out = SignedOutPage { layout, sign_in_path: "/auth/sign_in" };
    let mut pages = vec![
        ("account", render_account(layout, None, Some(app), &sample_apps(app))?),
        ("account-one-device", render_account(layout, None, None, &single_device_app(app))?),
        ("account-bare", render_account(layout, None, None, &[])?),
        ("code", code.render()?),
        ("front", render_front(layout, None)?),
        ("front-signed-in", render_front(layout, Some("alice"))?),
        ("form-post", render_form_post(layout, app)?),
        ("rejected", render_rejected(layout, app, &[])?),
        ("rejected-form", render_rejected(layout, app, &[("error", "invalid_scope".to_owned())])?),
        ("signed-out", signed_out.render()?),
    ];
    pages.extend(rules::render_pages(layout, app)?);
    for notice in Notice::VARIANTS {
        pages.push(("account-notice", render_account(layout, Some(*notice), None, &[])?));
    }
    pages.extend(devices::render_pages(layout, app)?);
    pages.extend(render_security_pages(layout)?);
    pages.extend(render_sign_up_pages(layout, app)?);
    pages.extend(notifications::render_pages(layout, app)?);
    for (page_name, app, entered_name, failure) in [
        ("sign-in", None, "", None),
        ("sign-in-app", Some(app), "", None),
        ("sign-in-wrong", Some(app), "alice@example.org", Some(AuthenticationError::WrongPassword)),
        ("sign-in-disabled", None, "alice", Some(AuthenticationError::Disabled)),
        (
            "sign-in-too-many",
            None,
            "alice",
            Some(AuthenticationError::TooManyAttempts(Duration::from_mins(5))),
        ),
    ] {
        let layout = Layout { logo: Some(&logo), ..layout };
        let form = Form { action: "/auth/sign_in", csrf: "c", request: app.map(|_| "r") };
        let page = SignInPage {
            layout,
            form,
            app,
            name: entered_name,
            failure,
            notice: failure.is_none().then_some(Notice::NotSaved),
            password_reset_url: app.map(|_| "https://social.example/reset"),
            sign_up_url: app.map(|_| "https://social.example/join"),
        };
        pages.push((page_name, page.render()?));
    }
    for (name, scopes, redirect_uri) in [
        (
            "consent",
            "read profile write:statuses write:media push",
            "https://tusky.example/callback",
        ),
        ("consent-device", "profile", "tusky://oauth"),
        ("consent-code", "read:lists write:lists follow", OOB),
        ("consent-admin", "read admin:read admin:write:reports", "https://tusky.example/callback"),
    ] {
        pages.push((name, render_consent(layout, app, scopes, redirect_uri)?));
    }
    for (name, cause) in [
        ("invalid-request", ErrorCause::OAuth(OAuthError::InvalidRedirectUri)),
        ("missing-parameter", ErrorCause::OAuth(OAuthError::Missing(Parameter::ClientId))),
        ("unknown-app", ErrorCause::OAuth(OAuthError::UnknownClient)),
        ("denied", ErrorCause::OAuth(OAuthError::AccessDenied)),
        ("expired", ErrorCause::Expired),
        ("forged-form", ErrorCause::ForgedForm),
        ("malformed", ErrorCause::Malformed),
        ("rate-limited", ErrorCause::RateLimited),
        ("internal", ErrorCause::Internal),
        ("busy", ErrorCause::Busy),
        ("not-found", ErrorCause::NotFound),
        ("registration-closed", ErrorCause::RegistrationClosed),
    ] {
        pages.push((name, ErrorPage { layout, cause }.render()?));
    }
    Ok(pages)
}

/// Returns the logo for the sign-in pages.
pub(crate) fn logo() -> StaticFile {
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 2 2'><circle cx='1' cy='1' r='1'/></svg>";
    StaticFile::logo_from_bytes(svg.into()).expect("this is an image")
}

fn render_front(layout: Layout<'_>, account: Option<&str>) -> Result<String, askama::Error> {
    let page = FrontPage {
        layout,
        description: "",
        account,
        account_path: "/oauth/account",
        sign_in_path: "/auth/sign_in",
        sign_up_url: Some("https://social.example/join"),
        api_path: "/openapi.json",
        documentation_url: Some("https://social.example/docs"),
    };
    page.render()
}

fn render_rejected(
    layout: Layout<'_>,
    app: &str,
    fields: &[(&'static str, String)],
) -> Result<String, askama::Error> {
    let error = OAuthError::UnknownScope("reed".into());
    let host = Some("tusky.example".to_owned());
    let url = "https://tusky.example/callback";
    RejectedPage { layout, app, host, error, url, fields }.render()
}

fn render_account(
    layout: Layout<'_>,
    notice: Option<Notice>,
    removed_app: Option<&str>,
    apps: &[AuthorizedApp],
) -> Result<String, askama::Error> {
    let form = |action| Form { action, csrf: "c", request: None };
    let listed_apps: Vec<ListedApp> = apps
        .iter()
        .map(|app| {
            let tokens = sample_tokens().into_iter().filter(|token| token.app_id == app.app_id);
            ListedApp { app: app.clone(), tokens: tokens.collect() }
        })
        .collect();
    let page = AccountPage {
        layout,
        nav: AccountNav {
            removed_app: removed_app.map(str::to_owned),
            ..nav(AccountSection::Overview, notice)
        },
        account: "alice",
        email: removed_app.map(|_| "alice@social.example"),
        pause: removed_app.map(|_| Pause { until: Some(timestamp(1_800_003_600)) }),
        sign_out_form: form("/oauth/sign_out"),
        remove_app_form: form("/oauth/account/remove_app"),
        revoke_token_form: form("/oauth/account/revoke_token"),
        apps: &listed_apps,
        // More than one page of apps.
        app_count: if apps.is_empty() { 0 } else { 120 },
        page: PageNumber::containing(50),
        now: now(),
    };
    page.render()
}

fn nav(section: AccountSection, notice: Option<Notice>) -> AccountNav {
    AccountNav {
        section,
        lang: None,
        notice,
        removed_app: None,
        deletion: None,
        links_devices: true,
    }
}

/// Returns the time at which the pages are shown.
fn now() -> Timestamp {
    timestamp(1_800_000_000)
}

fn timestamp(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn lookup_key(number: u8) -> LookupKey {
    SplitToken::new(Timestamp::UNIX_EPOCH, [number; SplitToken::RANDOM_BYTES])
        .hashed_secret()
        .lookup_key
}

/// Returns more tokens of the second app than the page shows, last used at different times.
fn sample_tokens() -> Vec<AccountToken> {
    let token = |number: u8, app_id, last_used_at| AccountToken {
        lookup_key: lookup_key(number),
        app_id,
        scopes: "read".parse().unwrap_or_default(),
        created_at: timestamp(1_790_000_000),
        expires_at: None,
        last_used_at,
        device_name: (app_id != 3).then(|| "Element on Pixel".to_owned()),
    };
    let seconds =
        [0, 3_600, 7_200, 86_400, 172_800, 864_000, 864_000, 864_000, 864_000, 864_000, 864_000];
    let ages = seconds.into_iter().zip(1..);
    let mut tokens: Vec<AccountToken> =
        ages.map(|(age, number)| token(number, 2, Some(timestamp(1_800_000_000 - age)))).collect();
    tokens.push(token(12, 3, None));
    tokens.push(token(13, 4, None));
    tokens
}

/// Renders the security page in every state.
fn render_security_pages(layout: Layout<'_>) -> Result<Vec<Sample>, askama::Error> {
    let session = |number: u8, browser: &str, age: i64| AccountSession {
        lookup_key: lookup_key(number),
        created_at: timestamp(1_790_000_000),
        seen_at: timestamp(1_800_000_000 - age),
        expires_at: timestamp(1_810_000_000),
        browser: UserAgent::from_text(browser),
        address: (number != 4).then(|| "192.0.2.x".to_owned()),
    };
    let sessions = [
        session(1, "Firefox/Linux", 60),
        session(2, "Safari/iPhone", 5 * 3_600),
        session(3, "curl/", 172_800),
        session(4, "/", 1_728_000),
    ];
    let many_sessions: Vec<AccountSession> =
        (1..).take(MAX_SESSIONS + 1).map(|number| session(number, "Edge/Windows", 60)).collect();
    let deletion = PendingDeletion { delete_at: timestamp(1_800_080_000), csrf: "c".to_owned() };
    let render = |sessions: &[AccountSession], errors: &[SecurityFormError], deletion| {
        let page = SecurityPage {
            layout,
            nav: AccountNav { deletion, ..nav(AccountSection::Security, None) },
            account: "alice",
            email: "alice@social.example",
            has_verified_email: errors.is_empty(),
            form: Form { action: "/oauth/sign_out", csrf: "c", request: None },
            sessions,
            current_session: lookup_key(1),
            now: now(),
            errors,
        };
        page.render()
    };
    let mut pages = vec![
        ("security", render(&sessions, &[], None)?),
        ("security-one-session", render(&sessions[..1], &[], None)?),
        ("security-many-sessions", render(&many_sessions, &[], None)?),
        ("security-deletion", render(&sessions, &[], Some(deletion))?),
    ];
    let wrong_password = SecurityFormError::CurrentPassword(AuthenticationError::WrongPassword);
    let common_password = SecurityFormError::NewPassword(FieldError::PasswordCommon);
    let too_many = AuthenticationError::TooManyAttempts(Duration::from_mins(5));
    for (name, errors) in [
        (
            "security-wrong",
            &[wrong_password, common_password, SecurityFormError::DifferentPasswords][..],
        ),
        ("security-email", &[SecurityFormError::Email(FieldError::EmailInvalid)]),
        ("security-email-password", &[SecurityFormError::EmailPassword(too_many)]),
        ("security-too-many", &[SecurityFormError::Deletion(too_many)]),
        ("security-last-admin", &[SecurityFormError::LastAdmin]),
    ] {
        pages.push((name, render(&sessions, errors, None)?));
    }
    Ok(pages)
}

/// Renders the sign-up page, empty and with errors.
fn render_sign_up_pages(layout: Layout<'_>, app: &str) -> Result<Vec<Sample>, askama::Error> {
    let empty_page = SignUpPage {
        layout,
        form: Form { action: "/oauth/sign_up", csrf: "c", request: None },
        app: None,
        username: "",
        email: "",
        rules_url: Some("https://social.example/rules"),
        has_agreed: false,
        errors: &[],
        passwords_differ: false,
        failure: None,
        sign_in_path: "/auth/sign_in",
    };
    let errors = [
        InvalidField { field: Field::Username, error: FieldError::Taken },
        InvalidField { field: Field::Email, error: FieldError::EmailInvalid },
        InvalidField { field: Field::Password, error: FieldError::TooShort(8) },
        InvalidField { field: Field::Agreement, error: FieldError::NotAccepted },
    ];
    let page_with_errors = SignUpPage {
        app: Some(app),
        form: Form { request: Some("r"), ..empty_page.form },
        username: "alice",
        email: "alice",
        errors: &errors,
        ..empty_page
    };
    let different_passwords = SignUpPage {
        username: "alice",
        email: "alice@social.example",
        has_agreed: true,
        passwords_differ: true,
        failure: Some(AuthenticationError::Busy),
        ..empty_page
    };
    let mut pages = vec![
        ("new-account", empty_page.render()?),
        ("new-account-app-wrong", page_with_errors.render()?),
        ("new-account-repeated", different_passwords.render()?),
    ];
    for (field, error) in [
        (Field::Username, FieldError::Blank),
        (Field::Username, FieldError::NameInvalid),
        (Field::Username, FieldError::TooLong(30)),
        (Field::Username, FieldError::Reserved),
        (Field::Email, FieldError::TooLong(320)),
        (Field::Password, FieldError::Blank),
        (Field::Password, FieldError::TooLong(128)),
    ] {
        let page = SignUpPage { errors: &[InvalidField { field, error }], ..empty_page };
        pages.push(("new-account-wrong", page.render()?));
    }
    Ok(pages)
}

fn sample_apps(app_name: &str) -> Vec<AuthorizedApp> {
    let app = |app_id,
               registered_by: Registrar,
               name: &str,
               website: Option<&str>,
               scopes: &str| AuthorizedApp {
        app_id,
        client_id: registered_by.to_string(),
        registered_by,
        name: name.to_owned(),
        website: website.map(str::to_owned),
        scopes: scopes.parse().unwrap_or_default(),
        since: Timestamp::from_second(1_790_000_000 + app_id).unwrap_or(Timestamp::UNIX_EPOCH),
    };
    let website = Some("https://tusky.example/about?from=app");
    vec![
        app(1, Registrar::CommandLine, "My bot", None, "read:statuses admin:read"),
        app(2, Registrar::Matrix, "matrix", None, "read write push"),
        app(3, Registrar::Api, app_name, website, "read write:statuses push"),
    ]
}

/// Returns a Matrix client in which the user has signed in once.
fn single_device_app(app_name: &str) -> Vec<AuthorizedApp> {
    let matrix =
        sample_apps(app_name).into_iter().filter(|app| app.registered_by == Registrar::Matrix);
    matrix.map(|app| AuthorizedApp { app_id: 4, ..app }).collect()
}

fn render_form_post(layout: Layout<'_>, app: &str) -> Result<String, askama::Error> {
    let fields = [
        ("code", CODE.to_owned()),
        ("state", "\"><script>alert(1)</script>".to_owned()),
        ("iss", "https://social.example/".to_owned()),
    ];
    FormPostPage { layout, app, action: "https://tusky.example/callback", fields: &fields }.render()
}

fn render_consent(
    layout: Layout<'_>,
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
        layout,
        form: Form { action: "/oauth/authorize", csrf: "c", request: Some("r") },
        switch_account_form: Form { action: "/auth/switch", csrf: "c", request: Some("r") },
        app: &app,
        account: "alice",
        scopes: &app.scopes,
        redirect_uri: &redirect_uri,
    };
    page.render()
}
