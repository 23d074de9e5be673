//! Tests of the templates, and of pages whose text depends on more than one value.

use std::fs;
use std::path::Path;

use belfry_core::oauth::app::AppDetails;
use belfry_core::oauth::redirect::{OOB, RedirectUri};
use regex_lite::Regex;

use super::*;

/// Returns the name and the content of each template.
pub(crate) fn templates() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

pub(crate) fn sample_layout() -> Layout<'static> {
    let server = "social.example";
    Layout {
        language: Language::English,
        server,
        title: server,
        style: assets::STYLE.path(),
        ignores_early_input: true,
        language_link: "/",
    }
}

#[test]
fn templates_escape_everything_and_have_no_inline_code() {
    let forbidden =
        Regex::new(r"(?i)\|\s*safe|\sstyle=|<style|javascript:|<base|<object|\son[a-z]+=|https?:")
            .unwrap();
    for (name, template) in templates() {
        assert!(forbidden.find(&template).is_none(), "{name}: {:?}", forbidden.find(&template));
        for script in template.split("<script").skip(1) {
            assert!(script.starts_with(" src=\"{{ crate::pages::assets::"), "{name}: {script}");
            let tag = script.split("</script>").next().unwrap();
            // The guard sees every press, because it is loaded before the page is shown.
            assert_eq!(tag.ends_with(" defer>"), !tag.contains("PRESS_GUARD"), "{name}: {tag}");
        }
    }
}

#[test]
fn every_form_posted_to_this_server_has_the_csrf_token() {
    for (name, template) in templates() {
        for form in template.split("<form").skip(1) {
            assert!(form.starts_with(" method=\"post\""), "{name}: {form}");
            let form = form.split("</form>").next().unwrap();
            // The response of these pages goes to the app.
            let is_response = ["form_post.html", "rejected.html"].contains(&&*name);
            assert_eq!(form.contains("hidden::fields("), !is_response, "{name}: {form}");
        }
    }
}

/// A link can move the focus to an element by its id while the user holds a key.
#[test]
fn no_link_gives_the_focus_to_a_button_that_changes_something() {
    for (name, template) in templates() {
        for button in template.split("<button").skip(1) {
            let attributes = button.split('>').next().unwrap();
            for attribute in [" id=", " autofocus", " accesskey="] {
                // The copy button changes nothing.
                let is_allowed = attributes.contains(" type=\"button\"");
                assert!(is_allowed || !attributes.contains(attribute), "{name}: {attributes}");
            }
        }
    }
}

#[test]
fn the_consent_page_shows_app_account_scopes_and_redirect_target() {
    let render = |scopes: &str, redirect_uri: &str| {
        let redirect_uri = RedirectUri::new(redirect_uri).unwrap();
        let app = AppDetails {
            name: "Tusky</h1>".to_owned(),
            website: Some("https://tusky.example/about?from=app".to_owned()),
            redirect_uris: vec![redirect_uri.clone()],
            scopes: scopes.parse().unwrap(),
        };
        let form = Form { action: "/", csrf: "c", request: Some("r") };
        let page = ConsentPage {
            layout: sample_layout(),
            form,
            switch_account_form: form,
            app: &app,
            is_operator_app: false,
            is_unverified: false,
            account: "alice",
            scopes: &app.scopes,
            redirect_uri: &redirect_uri,
        };
        page.render().unwrap()
    };
    let page = render("read profile write:statuses push", "https://tusky.example/callback");
    for text in [
        "<h1>Allow \u{2068}Tusky&#60;/h1&#62;\u{2069} to use your account?</h1>",
        "<bdi>tusky.example</bdi>",
        "<bdi>@alice:social.example</bdi>",
        "<li>See everything in your account</li>",
        "<li><strong>Publish, edit and delete posts in your name</strong></li>",
        "<li>Send you push notifications, see the messages in them, and see and change the rules for them</li>",
        "After that you go back to \u{2068}tusky.example\u{2069}.",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("See your name and profile"), "it is part of full access");
    assert!(!page.contains("administrator"));
    assert!(render("admin:read", "tusky://oauth").contains("As an administrator of this server:"));
    assert!(render("profile", "tusky://oauth").contains("an app on this device"));
    assert!(render("follow", OOB).contains("a code to enter in"));
}

#[test]
fn an_app_error_has_a_sentence_for_users_and_the_api_message_for_developers() {
    for (error, sentence, details) in [
        (
            OAuthError::UnknownClient,
            "does not know the app",
            "There is no app with this client_id.",
        ),
        (
            OAuthError::InvalidRedirectUri,
            "to an address that it has not",
            "This redirect_uri is not",
        ),
        (
            OAuthError::UnknownScope("reed".into()),
            "asks for permissions",
            "The scope reed does not",
        ),
    ] {
        let code = error.code();
        let cause = ErrorCause::OAuth(error);
        let page = ErrorPage { layout: sample_layout(), cause }.render().unwrap();
        assert!(page.contains(sentence), "{page}");
        let details = format!("<code lang=\"en\" dir=\"ltr\">{code}: {details}");
        assert!(page.contains(&details), "{page}");
    }
}
