//! The pictures in `docs/screenshots`, taken again after the pages have changed:
//!
//! ```console
//! $ cargo test -p belfry --test it browser::screenshots -- --ignored
//! $ pngquant --force --ext .png docs/screenshots/*.png
//! ```

use std::path::Path;

use super::gallery::walk;
use super::scene::play;

#[test]
#[ignore = "it writes docs/screenshots"]
fn every_page_is_pictured_in_light_and_dark() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/screenshots");
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
