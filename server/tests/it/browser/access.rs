//! The pages for everybody: what axe-core finds, and what a narrow screen shows.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::gallery::walk;
use super::scene::play;
use crate::support::left_out;

const AXE: &str = "axe-core@4.14.0";
/// Every rule, also those for WCAG 2.2 that are not on by themselves.
const RUN: &str = "axe.run(document, { rules: { 'target-size': { enabled: true } } }).then((found) => [
    found.passes.length > 10,
    found.violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html + node.failureSummary)]),
])";

#[test]
fn axe_finds_nothing_on_any_page_in_light_or_dark() {
    let axe = match axe() {
        Ok(axe) => axe,
        Err(why) => return left_out("axe-core", &why),
    };
    play(async |scene| {
        walk(scene, async |page| {
            for scheme in ["light", "dark"] {
                scene.tab.prefer(scheme).await;
                let found = scene.tab.run(&axe, RUN).await;
                assert_eq!(found, serde_json::json!([true, []]), "{page}, {scheme}");
            }
        })
        .await;
    });
}

/// WCAG 2.2, 1.4.10: 320 pixels are enough.
#[test]
fn no_page_is_wider_than_a_narrow_screen() {
    play(async |scene| {
        scene.tab.resize(320, 640).await;
        walk(scene, async |page| {
            let beyond =
                "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            assert_eq!(scene.tab.evaluate(beyond).await, 0, "{page}");
        })
        .await;
    });
}

/// The script of axe-core, which is got once.
fn axe() -> Result<String, String> {
    static AXE_CORE: OnceLock<Result<String, String>> = OnceLock::new();
    AXE_CORE.get_or_init(install).clone()
}

fn install() -> Result<String, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(AXE);
    let script = folder.join("node_modules/axe-core/axe.min.js");
    if !script.exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-save", "--ignore-scripts", AXE, "--prefix"]);
        let output = npm.arg(&folder).output().map_err(|error| format!("npm: {error}"))?;
        if !output.status.success() {
            return Err(format!("{npm:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    std::fs::read_to_string(script).map_err(|error| error.to_string())
}
