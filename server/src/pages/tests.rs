//! Tests that every page is complete in every language, escaped, and valid under a strict
//! Content-Security-Policy.

use strum::VariantArray;

use super::samples;
use super::*;

/// Returns the name and the HTML of every page in every language.
fn pages_in_every_language(app: &str) -> impl Iterator<Item = (String, String)> {
    Language::ALL.iter().copied().flat_map(move |language| {
        let pages = samples::render_pages(language, app).unwrap();
        pages.into_iter().map(move |(name, page)| (format!("{name}.{}", language.code()), page))
    })
}

pub(crate) fn sample_layout() -> Layout<'static> {
    let server = "social.example";
    let style = assets::STYLE.path();
    Layout {
        language: Language::English,
        server,
        title: server,
        logo: None,
        style,
        ignores_early_input: true,
        language_link: "/",
    }
}

/// Returns all values of an attribute.
fn attribute_values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let opening = format!(" {attribute}=\"");
    page.split(opening.as_str()).skip(1).filter_map(|value| value.split('"').next()).collect()
}

#[test]
fn a_page_declares_its_language_direction_and_title() {
    for &language in Language::ALL {
        for (name, page) in samples::render_pages(language, "Tusky").unwrap() {
            let opening = format!(
                "<!doctype html>\n<html lang=\"{}\" dir=\"{}\">",
                language.tag(),
                language.direction()
            );
            assert!(page.starts_with(&opening), "{name}: {page}");
            let title = page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
            let heading = page.split("<h1>").nth(1).unwrap().split("</h1>").next().unwrap();
            assert_eq!(title, format!("{heading} · Bell Ringers"), "{name}");
            assert_eq!(page.matches("<h1").count(), 1, "{name}");
        }
    }
    assert_eq!(Language::Arabic.direction(), "rtl");
}

#[test]
fn a_page_is_hidden_from_search_engines_and_sends_no_referrer() {
    for (name, page) in pages_in_every_language("Tusky") {
        for meta in [
            "<meta name=\"referrer\" content=\"no-referrer\">",
            "<meta name=\"robots\" content=\"noindex\">",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
        ] {
            assert!(page.contains(meta), "{name}: {meta}");
        }
    }
}

#[test]
fn every_template_variable_is_replaced() {
    for (name, page) in pages_in_every_language("Tusky") {
        // The JSON of a rule has braces, too.
        for placeholder in ["{$", "{ $", "{{", "{%", "$}"] {
            assert!(!page.contains(placeholder), "{name}: {page}");
        }
    }
}

/// The redirect URI of the app.
const CALLBACK_URL: &str = "https://tusky.example/callback";
/// The configured link on the sign-in page for resetting a password.
const RESET_URL: &str = "https://social.example/reset";
/// The configured link to the sign-up page.
const SIGN_UP_URL: &str = "https://social.example/join";
/// The configured link to the service's rules on the sign-up page.
const RULES_URL: &str = "https://social.example/rules";
/// The configured link on the front page.
const DOCS_URL: &str = "https://social.example/docs";

/// Returns whether a link points to the notifications page with a query or a fragment.
fn is_notifications_link(path: &str) -> bool {
    let query = path.strip_prefix(AccountSection::Notifications.path());
    query.is_some_and(|query| query.starts_with('?') || query.starts_with('#'))
}

#[test]
fn pages_have_no_inline_code_and_load_nothing_from_other_origins() {
    for (name, page) in pages_in_every_language("Tusky") {
        let lowercase_page = page.to_lowercase();
        for forbidden in [" style=", "<style", "javascript:", "<iframe", "<base", "<object"] {
            assert!(!lowercase_page.contains(forbidden), "{name}: {forbidden}");
        }
        let has_handler = lowercase_page.split(" on").skip(1).any(|rest| {
            rest.split_once('=')
                .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_lowercase()))
        });
        assert!(!has_handler, "{name}: {page}");
        assert!(page.contains(assets::PRESS_GUARD_SCRIPT.path()), "{name}");
        for (position, script) in page.match_indices("<script") {
            assert!(
                page[position..].starts_with("<script src=\"/oauth/static/"),
                "{name}: {script}"
            );
            let tag = page[position..].split("</script>").next().unwrap();
            // The guard sees every press, because it is loaded before the page is shown.
            let is_guard = tag.contains(assets::PRESS_GUARD_SCRIPT.path());
            assert!(tag.ends_with(" defer>") != is_guard, "{name}: {tag}");
        }
        for path in
            attribute_values(&page, "src").into_iter().chain(attribute_values(&page, "href"))
        {
            let is_allowed = assets::embedded_files().any(|asset| asset.path() == path)
                || path == samples::logo().path()
                || AccountSection::VARIANTS.iter().any(|section| section.path() == path)
                || is_notifications_link(path)
                || path.starts_with("/oauth/account/rules")
                || path.starts_with("/oauth/account?page=")
                || path == "/oauth/account/security#email"
                || path.starts_with("?client_id=a&#38;lang=")
                || [
                    "#main",
                    "/auth/sign_in",
                    "/openapi.json",
                    CALLBACK_URL,
                    RESET_URL,
                    SIGN_UP_URL,
                    RULES_URL,
                    DOCS_URL,
                ]
                .contains(&path);
            assert!(is_allowed, "{name}: {path}");
        }
        // Only the response to the app and configured links point to other origins.
        let remainder = page
            .replace(&format!("action=\"{CALLBACK_URL}\""), "")
            .replace(&format!("href=\"{CALLBACK_URL}\""), "")
            .replace(&format!("href=\"{RESET_URL}\""), "")
            .replace(&format!("href=\"{SIGN_UP_URL}\""), "")
            .replace(&format!("href=\"{RULES_URL}\""), "")
            .replace(&format!("href=\"{DOCS_URL}\""), "")
            .replace("name=\"iss\" value=\"https://social.example/\"", "");
        assert!(!remainder.contains("http:") && !remainder.contains("https:"), "{name}");
    }
}

#[test]
fn an_app_name_is_escaped() {
    for (hostile_name, escaped_name) in [
        ("<b>Evil</b>", "&#60;b&#62;Evil&#60;/b&#62;"),
        ("<img src=x onerror=alert(1)>", "&#60;img src=x onerror=alert(1)&#62;"),
        ("\" autofocus onfocus=\"alert(1)", "&#34; autofocus onfocus=&#34;alert(1)"),
        ("</title><script>alert(1)</script>", "&#60;/title&#62;&#60;script&#62;"),
        ("{{7*7}}", "{{7*7}}"),
        ("{ $app }", "{ $app }"),
        ("&lt;", "&#38;lt;"),
    ] {
        for (name, page) in pages_in_every_language(hostile_name) {
            let shows_name = [
                "account.",
                "consent",
                "code.",
                "devices",
                "form-post",
                "notifications.",
                "rejected",
                "rule",
                "try-result",
                "new-account-app",
                "sign-in-app",
                "sign-in-wrong",
            ]
            .iter()
            .any(|page| name.starts_with(page));
            assert_eq!(page.contains(escaped_name), shows_name, "{name}: {page}");
            assert!(hostile_name == escaped_name || !page.contains(hostile_name), "{name}: {page}");
        }
    }
}

#[test]
fn an_app_name_cannot_change_the_direction_of_its_sentence() {
    for (name, page) in pages_in_every_language("\u{202e}Tus\u{2069}ky\u{2066}") {
        let is_control = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let mut parts = page.split('\u{2068}');
        assert!(!parts.next().unwrap().contains(is_control), "{name}");
        for part in parts {
            let (inside, outside) = part.split_once('\u{2069}').unwrap();
            assert!(!inside.contains(is_control), "{name}: {part}");
            assert!(!outside.contains(is_control), "{name}: {part}");
        }
    }
}

#[test]
fn form_post_response_parameters_are_escaped() {
    for (name, page) in
        pages_in_every_language("Tusky").filter(|(name, _)| name.starts_with("form-post"))
    {
        let state = "name=\"state\" value=\"&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;\"";
        assert!(page.contains(state), "{name}: {page}");
    }
}

#[test]
fn every_form_posted_to_this_server_has_the_csrf_token() {
    for (name, page) in pages_in_every_language("Tusky") {
        let forms = page.matches("<form method=\"post\"").count();
        assert_eq!(page.matches("<form").count(), forms, "{name}");
        let is_response = name.starts_with("form-post") || name.starts_with("rejected");
        let expected_tokens = if is_response { 0 } else { forms };
        let tokens = page.matches("<input type=\"hidden\" name=\"csrf\" value=\"c\">").count();
        assert_eq!(tokens, expected_tokens, "{name}");
    }
}

#[test]
fn every_field_has_a_label_and_every_reference_a_target() {
    for (name, page) in pages_in_every_language("Tusky") {
        let ids = attribute_values(&page, "id");
        for id in attribute_values(&page, "for")
            .into_iter()
            .chain(attribute_values(&page, "aria-describedby"))
            .chain(attribute_values(&page, "aria-labelledby"))
            .flat_map(str::split_whitespace)
        {
            assert_eq!(ids.iter().filter(|other| **other == id).count(), 1, "{name}: {id}");
        }
        let count = |tag: &str| page.matches(tag).count();
        let visible_fields = count("<input") + count("<select") + count("<textarea")
            - count("<input type=\"hidden\"");
        // A label refers to its field or contains it.
        let containing_labels = count("<label>") + count("<label class=\"choice\">");
        assert_eq!(
            attribute_values(&page, "for").len() + containing_labels,
            visible_fields,
            "{name}"
        );
        assert!(page.matches(" autofocus").count() <= 1, "{name}");
    }
}

#[test]
fn a_failed_sign_in_is_reported_on_the_page() {
    let pages = samples::render_pages(Language::English, "Tusky").unwrap();
    let page = |name: &str| &pages.iter().find(|(page_name, _)| *page_name == name).unwrap().1;
    let wrong_password = page("sign-in-wrong");
    assert!(
        wrong_password.contains("id=\"problem\" role=\"alert\">The name or the password is wrong.")
    );
    assert_eq!(attribute_values(wrong_password, "aria-describedby"), ["problem", "problem"]);
    assert_eq!(attribute_values(wrong_password, "autocomplete"), ["username", "current-password"]);
    assert!(wrong_password.contains("value=\"alice@example.org\""));
    assert!(page("sign-in-disabled").contains("role=\"alert\">This account is disabled."));
    let too_many = page("sign-in-too-many");
    assert!(too_many.contains("Please try again in 5 minutes."));
    assert!(!too_many.contains("aria-invalid") && !page("sign-in").contains("role=\"alert\""));
}

#[test]
fn the_consent_page_shows_app_account_scopes_and_redirect_target() {
    let pages = samples::render_pages(Language::English, "Tusky").unwrap();
    let page = |name: &str| &pages.iter().find(|(page_name, _)| *page_name == name).unwrap().1;
    for text in [
        "<h1>Allow \u{2068}Tusky\u{2069} to use your account?</h1>",
        "<bdi>tusky.example</bdi>",
        "<bdi>@alice:social.example</bdi>",
        "<li>See everything in your account</li>",
        "<li><strong>Publish, edit and delete posts in your name</strong></li>",
        "<li>Send you push notifications, and see and change the rules for them</li>",
        "After that you go back to \u{2068}tusky.example\u{2069}.",
        ">Allow \u{2068}Tusky\u{2069}</button>",
        ">Deny</button>",
        "<form method=\"post\" action=\"/auth/switch\">",
        "<button class=\"link\">Use another account</button>",
    ] {
        assert!(page("consent").contains(text), "{text}");
    }
    assert!(!page("consent").contains("See your name and profile"), "it is part of full access");
    assert!(!page("consent").contains("administrator"));
    assert!(page("consent-admin").contains("As an administrator of this server:"));
    assert!(page("consent-code").contains("a code to enter in \u{2068}Tusky\u{2069}."));
    assert!(page("consent-device").contains("an app on this device"));
}

#[test]
fn a_page_shows_the_title_the_server_and_the_logo_or_a_bell() {
    let pages = samples::render_pages(Language::English, "Tusky").unwrap();
    for (name, page) in &pages {
        let header = page.split("<header>").nth(1).unwrap().split("</header>").next().unwrap();
        assert!(header.contains("<bdi>Bell Ringers</bdi>"), "{name}");
        assert!(header.contains("<bdi>social.example</bdi>"), "{name}");
        let logo = samples::logo();
        let image = format!("<img class=\"logo\" src=\"{}\" alt=\"\">", logo.path());
        let icon = format!("<link rel=\"icon\" href=\"{}\"", logo.path());
        // The samples of the sign-in page have a logo.
        let has_logo = name.starts_with("sign-in");
        assert_eq!(header.contains(&image), has_logo, "{name}: {header}");
        assert_eq!(page.contains(&icon), has_logo, "{name}");
        assert_eq!(header.contains("<svg class=\"bell\""), !has_logo, "{name}");
    }
    let layout = sample_layout();
    let page = SignedOutPage { layout, sign_in_path: "/" }.render().unwrap();
    assert_eq!(
        page.matches("<bdi>social.example</bdi>").count(),
        1,
        "the server name is shown once"
    );
}

#[test]
fn the_front_page_shows_the_configured_paragraphs_or_a_default_sentence() {
    let render_page = |description, account| {
        let page = FrontPage {
            layout: sample_layout(),
            description,
            account,
            account_path: "/oauth/account",
            sign_in_path: "/oauth/sign_in",
            sign_up_url: None,
            api_path: "/openapi.json",
            documentation_url: Some(DOCS_URL),
        };
        page.render().unwrap()
    };
    let anonymous_page = render_page("One <b>bell</b>.\n\nTwo\nbells.\n\n\n", None);
    assert!(anonymous_page.contains("<p dir=\"auto\">One &#60;b&#62;bell&#60;/b&#62;.</p>\n"));
    assert!(anonymous_page.contains("<p dir=\"auto\">Two\nbells.</p>\n<a class=\"button\""));
    assert_eq!(anonymous_page.matches("<p dir").count(), 2, "{anonymous_page}");
    assert!(
        !anonymous_page.contains("Here you decide")
            && !anonymous_page.contains("Create an account")
    );
    let signed_in_page = render_page(" \n", Some("alice"));
    assert!(signed_in_page.contains("Here you decide"), "{signed_in_page}");
    assert!(signed_in_page.contains("signed in as \u{2068}alice\u{2069}."), "{signed_in_page}");
    assert!(!signed_in_page.contains("/oauth/sign_in"), "{signed_in_page}");
}

#[test]
fn the_sign_in_page_has_the_configured_links() {
    let pages = samples::render_pages(Language::English, "Tusky").unwrap();
    let page = |name: &str| &pages.iter().find(|(page_name, _)| *page_name == name).unwrap().1;
    let link = |url: &str, text: &str| format!("<a href=\"{url}\" rel=\"noreferrer\">{text}</a>");
    let links = [link(RESET_URL, "Forgot your password?"), link(SIGN_UP_URL, "Create an account")];
    for link in links {
        assert!(page("sign-in-wrong").contains(&link), "{link}");
        assert!(!page("sign-in").contains(&link), "{link}");
    }
}

#[test]
fn the_navigation_marks_the_current_page_and_keeps_the_language() {
    let layout = sample_layout();
    let nav = AccountNav {
        section: AccountSection::Overview,
        lang: Some(Language::German),
        notice: Some(Notice::NotSaved),
        removed_app: None,
        deletion: None,
        links_devices: true,
    };
    let form = Form { action: "/", csrf: "c", request: None };
    let page = AccountPage {
        layout,
        nav,
        account: "alice",
        email: None,
        pause: None,
        sign_out_form: form,
        remove_app_form: form,
        revoke_token_form: form,
        apps: &[],
        app_count: 0,
        page: PageNumber::default(),
        now: jiff::Timestamp::UNIX_EPOCH,
    };
    let page = page.render().unwrap();
    let nav = page.split("<nav ").nth(1).unwrap().split("</nav>").next().unwrap();
    assert_eq!(
        attribute_values(nav, "href"),
        AccountSection::VARIANTS
            .iter()
            .map(|section| format!("{}?lang=de", section.path()))
            .collect::<Vec<_>>()
    );
    assert_eq!(attribute_values(nav, "aria-current"), ["page"]);
    assert!(nav.contains("lang=de\" aria-current=\"page\">Overview</a>"), "{nav}");
    assert!(page.contains("<p class=\"alarm\" role=\"status\">Nothing was saved,"), "{page}");
}

/// A link can move the focus to an element by its id while the user holds a key.
#[test]
fn no_link_gives_the_focus_to_a_control_that_changes_something() {
    for (name, page) in pages_in_every_language("Tusky") {
        for button in page.split("<button").skip(1) {
            let attributes = button.split('>').next().unwrap();
            for attribute in [" id=", " autofocus", " accesskey="] {
                // The copy button changes nothing.
                let is_allowed = attributes.contains(" type=\"button\"");
                assert!(is_allowed || !attributes.contains(attribute), "{name}: {attributes}");
            }
        }
        for form in page.split("<form").skip(1) {
            let form = form.split("</form>").next().unwrap();
            let fields_with_id = ["<input id=", "<input type=\"checkbox\" id=", "<select id="];
            // An empty field that is required prevents submission; trying a message changes
            // nothing.
            let is_safe = form.contains(" required") || form.contains("name=\"members\"");
            assert!(
                is_safe || !fields_with_id.iter().any(|field| form.contains(field)),
                "{name}: {form}"
            );
        }
    }
}

#[test]
fn an_app_error_has_a_sentence_for_users_and_the_api_message_for_developers() {
    let pages = samples::render_pages(Language::German, "Tusky").unwrap();
    let page = |name: &str| &pages.iter().find(|(page_name, _)| *page_name == name).unwrap().1;
    for (name, sentence, details) in [
        (
            "unknown-app",
            "<p>Dieser Server kennt die App nicht, von der du kommst,",
            "invalid_client: There is no app with this client_id.</code>",
        ),
        (
            "invalid-request",
            "<p>Die App will dich an eine ",
            "invalid_request: This redirect_uri is not registered for the app. Only",
        ),
        (
            "missing-parameter",
            "<p>Die Anfrage der App ",
            "invalid_request: Missing required parameter: client_id.</code>",
        ),
        (
            "rejected",
            "<p>Die App bittet um Rechte,",
            "invalid_scope: The scope reed does not exist.</code>",
        ),
    ] {
        let page = page(name);
        assert!(page.contains(sentence), "{page}");
        assert!(page.contains(&format!("<code lang=\"en\" dir=\"ltr\">{details}")), "{page}");
    }
    assert!(!page("denied").contains("<code"));
}

#[test]
fn every_page_links_to_each_language_by_its_native_name() {
    let pages = samples::render_pages(Language::German, "Tusky").unwrap();
    for (name, page) in &pages {
        let footer = page.split("<footer>").nth(1).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(attribute_values(footer, "href").len(), Language::ALL.len(), "{name}");
        assert!(footer.contains("?client_id=a&#38;lang=ar&#38;remember=1\" lang=\"ar\""));
        assert!(footer.contains("dir=\"rtl\" rel=\"nofollow\">العربية</a>"), "{footer}");
        assert_eq!(attribute_values(footer, "aria-current").len(), 1, "{name}");
        assert!(footer.contains("aria-current=\"true\">Deutsch</a>"), "{footer}");
    }
}

#[test]
fn a_matrix_client_is_named_after_its_device() {
    let pages = samples::render_pages(Language::English, "Tusky").unwrap();
    let page = &pages.iter().find(|(name, _)| *name == "account").unwrap().1;
    assert!(page.contains(">Matrix clients</h3>"), "the title covers several devices");
    assert!(page.contains("<details open>\n<summary>Signed in 11 times</summary>"), "{page}");
    assert!(page.contains("<strong>\u{2068}Element on Pixel\u{2069}</strong>"), "{page}");
    let page = &pages.iter().find(|(name, _)| *name == "account-one-device").unwrap().1;
    assert!(page.contains(">\u{2068}Element on Pixel\u{2069}</h3>"), "{page}");
    assert!(!page.contains("Matrix clients"), "{page}");
}
