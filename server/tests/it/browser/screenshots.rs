//! The screenshots in `docs/screenshots`. To update them after a change of the pages:
//!
//! ```console
//! $ BELFRY_SCREENSHOTS=docs/screenshots cargo test -p belfry --test it browser::screenshots
//! $ pngquant --force --ext .png docs/screenshots/*.png
//! ```
//!
//! By default they are written below `target/`.

use std::path::Path;

use super::fixture::with_browser;
use super::gallery::visit_all;

#[test]
fn screenshots_of_every_page_in_light_and_dark() {
    let folder = match std::env::var_os("BELFRY_SCREENSHOTS") {
        Some(folder) => Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots"),
    };
    std::fs::create_dir_all(&folder).unwrap();
    with_browser(async |fixture| {
        visit_all(fixture, async |page| {
            for scheme in ["light", "dark"] {
                fixture.tab.prefer_color_scheme(scheme).await;
                let image = fixture.tab.screenshot(720).await;
                std::fs::write(folder.join(format!("{page}-{scheme}.png")), image).unwrap();
            }
        })
        .await;
    });
}
