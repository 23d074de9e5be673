//! The screenshots in `docs/screenshots`. To update them after a change of the pages:
//!
//! ```console
//! $ BELFRY_SCREENSHOTS=docs/screenshots cargo test -p belfry --test it browser::screenshots
//! $ pngquant --force --ext .png docs/screenshots/*.png
//! ```
//!
//! By default they are written below `target/`.

use std::path::Path;

use super::fixture::{Fixture, with_browser};
use super::gallery::visit_all;

async fn save(fixture: &Fixture, folder: &Path, name: &str, width: u32, scheme: &str) {
    fixture.tab.prefer_color_scheme(scheme).await;
    let image = fixture.tab.screenshot(width).await;
    std::fs::write(folder.join(format!("{name}.png")), image).unwrap();
}

#[test]
fn screenshots_of_every_page_in_light_and_dark() {
    let folder = match std::env::var_os("BELFRY_SCREENSHOTS") {
        Some(folder) => Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots"),
    };
    std::fs::create_dir_all(&folder).unwrap();
    with_browser(async |fixture| {
        visit_all(fixture, "en", async |page| {
            // The pages of the account have a navigation, which a wide screen shows beside them.
            let has_nav = fixture.tab.has("nav").await;
            let width = if has_nav { 1280 } else { 720 };
            for scheme in ["light", "dark"] {
                save(fixture, &folder, &format!("{page}-{scheme}"), width, scheme).await;
            }
            if has_nav {
                save(fixture, &folder, &format!("{page}-phone"), 320, "light").await;
            }
        })
        .await;
    });
    with_browser(async |fixture| {
        visit_all(fixture, "ar", async |page| {
            if fixture.tab.has("nav").await {
                save(fixture, &folder, &format!("{page}-arabic"), 320, "dark").await;
            }
        })
        .await;
    });
}
