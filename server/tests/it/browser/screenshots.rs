//! The screenshots in `docs/screenshots`. To update them after the pages have changed:
//!
//! ```console
//! $ export BELFRY_SCREENSHOTS=docs/screenshots
//! $ cargo test -p belfry --test it browser::screenshots -- --ignored
//! $ pngquant 32 --force --ext .png docs/screenshots/*.png
//! ```
//!
//! By default, screenshots of all pages in all states are saved below `target/`.

use std::path::Path;

use super::fixture::{Fixture, with_browser};
use super::gallery::visit_every_page;

/// The pages in `docs/screenshots`.
const DOCUMENTED_PAGES: [&str; 15] = [
    "account",
    "account-bare",
    "code",
    "consent",
    "denied",
    "devices",
    "error",
    "form-post",
    "front",
    "notifications",
    "security",
    "sign-in",
    "sign-in-wrong",
    "sign-up",
    "signed-out",
];

/// Account pages have a navigation, which a wide screen shows at the side.
#[test]
#[ignore = "long: saves about 150 images"]
fn every_page_is_saved_as_screenshots_in_light_and_dark() {
    let chosen_dir = std::env::var_os("BELFRY_SCREENSHOTS");
    let dir = match &chosen_dir {
        Some(dir) => Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(dir),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots"),
    };
    std::fs::create_dir_all(&dir).unwrap();
    let should_save = |page: &str| chosen_dir.is_none() || DOCUMENTED_PAGES.contains(&page);
    with_browser(async |fixture| {
        visit_every_page(fixture, "en", async |page| {
            if !should_save(page) {
                return;
            }
            let has_nav = fixture.tab.has_element(".sections").await;
            let width = if has_nav { 1280 } else { 720 };
            for scheme in ["light", "dark"] {
                save_screenshot(fixture, &dir, &format!("{page}-{scheme}"), width, scheme).await;
            }
            if has_nav {
                save_screenshot(fixture, &dir, &format!("{page}-phone"), 320, "light").await;
            }
        })
        .await;
    });
    with_browser(async |fixture| {
        visit_every_page(fixture, "ar", async |page| {
            if should_save(page) && fixture.tab.has_element(".sections").await {
                save_screenshot(fixture, &dir, &format!("{page}-arabic"), 320, "dark").await;
            }
        })
        .await;
    });
}

async fn save_screenshot(fixture: &Fixture, dir: &Path, name: &str, width: u32, scheme: &str) {
    fixture.tab.prefer_color_scheme(scheme).await;
    let image = fixture.tab.screenshot(width).await;
    std::fs::write(dir.join(format!("{name}.png")), image).unwrap();
}
