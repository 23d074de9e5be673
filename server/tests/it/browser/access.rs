//! The pages for everybody: what axe-core finds, and what a narrow screen shows.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;

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
                assert_eq!(found, json!([true, []]), "{page}, {scheme}");
            }
        })
        .await;
    });
}

/// How many pixels of the page, and of what its fields hold, are out of sight on the right.
const BEYOND: &str = "[document.documentElement, ...document.querySelectorAll('input, textarea')]
    .map((part) => part.scrollWidth - part.clientWidth).filter((beyond) => beyond > 0)";
/// The same, below.
const BELOW: &str = "[...document.querySelectorAll('textarea')]
    .map((part) => part.scrollHeight - part.clientHeight).filter((below) => below > 0)";

/// WCAG 2.2, 1.4.10: 320 pixels are enough.
#[test]
fn everything_is_in_sight_on_a_narrow_screen_and_on_a_wide_one() {
    play(async |scene| {
        walk(scene, async |page| {
            for width in [320, 720] {
                scene.tab.resize(width, 640).await;
                for hidden in [BEYOND, BELOW] {
                    assert_eq!(scene.tab.evaluate(hidden).await, json!([]), "{page}, {width}");
                }
            }
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
