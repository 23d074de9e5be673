//! Browser tests of accessibility, with axe-core and on narrow screens.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;

use super::fixture::with_browser;
use super::gallery::visit_all;
use crate::support::report_skipped;

const AXE: &str = "axe-core@4.14.0";
/// Runs every rule, including the one of WCAG 2.2 that axe disables by default.
const RUN: &str = "axe.run(document, { rules: { 'target-size': { enabled: true } } }).then((results) => [
    results.passes.length > 10,
    results.violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html + node.failureSummary)]),
])";

#[test]
fn axe_reports_no_violation_on_any_page_in_light_or_dark() {
    let axe = match axe() {
        Ok(axe) => axe,
        Err(reason) => return report_skipped("axe-core", &reason),
    };
    with_browser(async |fixture| {
        visit_all(fixture, async |page| {
            for scheme in ["light", "dark"] {
                fixture.tab.prefer_color_scheme(scheme).await;
                let result = fixture.tab.run(&axe, RUN).await;
                assert_eq!(result, json!([true, []]), "{page}, {scheme}");
            }
        })
        .await;
    });
}

/// The horizontal overflow of the page and of its fields, in pixels.
const HORIZONTAL_OVERFLOW: &str =
    "[document.documentElement, ...document.querySelectorAll('input, textarea')]
    .map((part) => part.scrollWidth - part.clientWidth).filter((beyond) => beyond > 0)";
/// The vertical overflow of text areas, in pixels.
const VERTICAL_OVERFLOW: &str = "[...document.querySelectorAll('textarea')]
    .map((part) => part.scrollHeight - part.clientHeight).filter((below) => below > 0)";

/// WCAG 2.2, 1.4.10: a width of 320 pixels must suffice.
#[test]
fn nothing_overflows_on_narrow_and_wide_screens() {
    with_browser(async |fixture| {
        visit_all(fixture, async |page| {
            for width in [320, 720] {
                fixture.tab.resize(width, 640).await;
                for overflow in [HORIZONTAL_OVERFLOW, VERTICAL_OVERFLOW] {
                    assert_eq!(fixture.tab.evaluate(overflow).await, json!([]), "{page}, {width}");
                }
            }
        })
        .await;
    });
}

/// The script of axe-core, installed at first use.
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
