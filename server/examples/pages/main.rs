//! Writes every page with sample data into a directory, to view them in a browser:
//! `cargo run -p belfry --example pages -- DIRECTORY [LANGUAGE…]`.

use std::{env, error, fs, path::PathBuf};

use belfry::language::Language;
use belfry::pages::{
    AccountNav, AccountPage, AccountSection, AccountSession, AccountToken, AuthenticationError,
    AuthorizedApp, CodePage, ConsentPage, ErrorCause, ErrorPage, Form, FormPostPage, FrontPage,
    Layout, ListedApp, MAX_SESSIONS, NewRuleForm, Notice, PageNumber, PendingDeletion,
    RejectedPage, RulePage, RulesPage, RulesView, SecurityFormError, SecurityPage, SignInPage,
    SignUpPage, SignedOutPage, StaticFile, Trial, TrialErrors, TrialFields, TrialPage, assets,
};
use belfry::pages::{DevicesPage, ListedDelivery};
use belfry::pages::{NotificationsPage, NotificationsView, RejectedForm, RejectionReason};

mod samples;

fn main() -> Result<(), Box<dyn error::Error>> {
    let mut arguments = env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("missing argument: DIRECTORY")?);
    let mut languages: Vec<Language> =
        arguments.filter_map(|tag| Language::from_tag(&tag)).collect();
    if languages.is_empty() {
        languages = Language::ALL.into();
    }
    fs::create_dir_all(dir.join("oauth/static"))?;
    for asset in assets::embedded_files() {
        fs::write(dir.join(asset.path().trim_start_matches('/')), &asset.content)?;
    }
    let logo = samples::logo();
    fs::write(dir.join(logo.path().trim_start_matches('/')), logo.content)?;
    for language in languages {
        for (name, page) in samples::render_pages(language, "Tusky")? {
            // Makes paths relative to the file, and removes the script that would submit
            // `form_post`.
            let page = page
                .replace("\"/oauth/static/", "\"oauth/static/")
                .replace("oauth/static/submit-", "absent-");
            fs::write(dir.join(format!("{name}.{}.html", language.code())), page)?;
        }
    }
    Ok(())
}
