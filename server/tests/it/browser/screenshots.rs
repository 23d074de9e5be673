//! The pictures in `docs/screenshots`, taken again after the pages have changed:
//!
//! ```console
//! $ BELFRY_SCREENSHOTS=docs/screenshots cargo test -p belfry --test it browser::screenshots
//! $ pngquant --force --ext .png docs/screenshots/*.png
//! ```
//!
//! Otherwise they go under `target/`.

use std::path::Path;

use super::gallery::walk;
use super::scene::play;

#[test]
fn every_page_is_pictured_in_light_and_dark() {
    let folder = match std::env::var_os("BELFRY_SCREENSHOTS") {
        Some(folder) => Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots"),
    };
    std::fs::create_dir_all(&folder).unwrap();
    play(async |scene| {
        walk(scene, async |page| {
            for scheme in ["light", "dark"] {
                scene.tab.prefer(scheme).await;
                let picture = scene.tab.picture(720).await;
                std::fs::write(folder.join(format!("{page}-{scheme}.png")), picture).unwrap();
            }
        })
        .await;
    });
}
