//! Checks of every page: accessibility with axe-core, narrow and wide screens, light and dark, left
//! to right and right to left, by keyboard alone, without scripts, and under the
//! Content-Security-Policy.

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::fixture::{Fixture, with_browser};
use super::gallery::visit_every_page;
use super::tab::{SHIFT_KEY, TAB_KEY};
use crate::support::{npm, report_skipped};

const AXE_PACKAGE: &str = "axe-core@4.14.0";
/// Runs axe's default rules, and the WCAG 2.2 rule on target sizes, which axe disables by default.
pub(super) const RUN_AXE: &str = "axe.run(document, { rules: { 'target-size': { enabled: true } } }).then((results) => [
    results.passes.length > 10,
    results.violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html + node.failureSummary)]),
])";

/// Runs the contrast rule, the only one that depends on the colours.
const RUN_AXE_CONTRAST: &str = "axe.run(document, { runOnly: ['color-contrast'] }).then((results) => [
    true,
    results.violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html + node.failureSummary)]),
])";

/// Records violations of the Content-Security-Policy in every new page.
const RECORD_VIOLATIONS: &str = "window.violations = [];
    addEventListener('securitypolicyviolation', (event) =>
        violations.push(`${event.effectiveDirective} ${event.blockedURI}`));";

/// The horizontal overflow of the page and of its fields, in pixels.
pub(super) const HORIZONTAL_OVERFLOW: &str =
    "[document.documentElement, ...document.querySelectorAll('input, textarea')]
    .map((part) => part.scrollWidth - part.clientWidth).filter((overflow) => overflow > 0)";
/// The vertical overflow of the text area with the code, in pixels.
const VERTICAL_OVERFLOW: &str = "[...document.querySelectorAll('.oauth-code')]
    .map((part) => part.scrollHeight - part.clientHeight).filter((overflow) => overflow > 0)";

/// The controls that the Tab key reaches, in document order. It reaches one radio button of each
/// group.
const CONTROLS: &str = "(() => {
    const groups = new Set();
    const all = 'a[href], button, input:not([type=hidden]), select, textarea, summary';
    return [...document.querySelectorAll(all)].filter((control) => {
        if (control.disabled || !control.checkVisibility({ visibilityProperty: true })) return false;
        if (control.type !== 'radio') return true;
        if (groups.has(control.name) || !(control.checked
            || !document.querySelector(`[name='${control.name}']:checked`))) return false;
        groups.add(control.name);
        return true;
    });
})()";

/// The controls that are smaller than 44 pixels, except links in a sentence and the link that is
/// hidden until it has the focus. The target of a check box or radio button is its label. Appended
/// to `CONTROLS`.
const SMALL_TARGETS: &str = ".filter((control) => !control.matches('.skip'))
    .filter((control) => !(control.matches('p > a')
        && control.parentElement.innerText.trim() !== control.innerText.trim()))
    .map((control) => {
        const label = control.matches('[type=checkbox], [type=radio]') && control.labels[0];
        const { width, height } = (label || control).getBoundingClientRect();
        return [control.outerHTML.slice(0, 120), width, height];
    })
    .filter(([, width, height]) => width < 43.9 || height < 43.9)";

/// The position of the control with the focus, and whether its outline is visible. Appended to
/// `CONTROLS`.
const FOCUS_STATE: &str = ".indexOf(document.activeElement),
    document.activeElement.matches(':focus-visible')
        && getComputedStyle(document.activeElement).outlineStyle !== 'none'
        && parseFloat(getComputedStyle(document.activeElement).outlineWidth) >= 2";

/// The widths and colour schemes of the tested screens, and the axe rules to run. The first two
/// screens are enough for an additional language, which has the same colours.
const SCREENS: [(u32, &str, &str); 4] = [
    (320, "light", RUN_AXE),
    (1280, "dark", RUN_AXE),
    (320, "dark", RUN_AXE_CONTRAST),
    (1280, "light", RUN_AXE_CONTRAST),
];

#[test]
fn every_page_in_english_is_accessible() {
    assert_every_page_is_accessible("en", &SCREENS);
}

#[test]
fn every_page_in_arabic_is_accessible() {
    assert_every_page_is_accessible("ar", &SCREENS[..2]);
}

/// Asserts that every page passes axe's WCAG 2.2 rules, reflows at 320 pixels (1.4.10), violates no
/// Content-Security-Policy, and can be used with the Tab key.
fn assert_every_page_is_accessible(lang: &str, screens: &[(u32, &str, &str)]) {
    let axe_script = match axe_script() {
        Ok(axe_script) => axe_script,
        Err(reason) => return report_skipped("axe-core", &reason),
    };
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        tab.run_in_new_pages(RECORD_VIOLATIONS).await;
        visit_every_page(fixture, lang, async |page| {
            let direction = if lang == "ar" { "rtl" } else { "ltr" };
            assert_eq!(tab.evaluate("document.documentElement.dir").await, direction, "{page}");
            for &(width, scheme, axe_call) in screens {
                tab.prefer_color_scheme(scheme).await;
                tab.resize(width, 800).await;
                let context = format!("{page}, {width}, {scheme}");
                for overflow in [HORIZONTAL_OVERFLOW, VERTICAL_OVERFLOW] {
                    assert_eq!(tab.evaluate(overflow).await, json!([]), "{context}");
                }
                let small_targets = tab.evaluate(&format!("{CONTROLS}{SMALL_TARGETS}")).await;
                assert_eq!(small_targets, json!([]), "{context}");
                assert_eq!(
                    tab.run_axe(&axe_script, axe_call).await,
                    json!([true, []]),
                    "{context}"
                );
            }
            assert_eq!(tab.evaluate("violations").await, json!([]), "{page}");
            assert_tab_order(fixture, page).await;
        })
        .await;
    });
}

/// Asserts that the Tab key reaches every control in the order of the page, with a visible focus.
async fn assert_tab_order(fixture: &Fixture, page: &str) {
    let tab = &fixture.tab;
    let control_count = tab.evaluate(&format!("{CONTROLS}.length")).await.as_u64().unwrap();
    if control_count == 0 {
        return;
    }
    tab.evaluate(&format!("{CONTROLS}[0].focus()")).await;
    if control_count > 1 {
        // Tab and Shift+Tab, because after a click the focus that a script sets is not visible.
        tab.press(TAB_KEY).await;
        tab.press(&format!("{SHIFT_KEY}{TAB_KEY}")).await;
    }
    for position in 0..control_count {
        let focus_state: Value = tab.evaluate(&format!("[{CONTROLS}{FOCUS_STATE}]")).await;
        let focused_html = "document.activeElement.outerHTML.slice(0, 200)";
        let control = if focus_state == json!([position, true]) {
            Value::Null
        } else {
            tab.evaluate(focused_html).await
        };
        assert_eq!(focus_state, json!([position, true]), "{page}: {control}");
        // After the last control the focus would leave the page.
        if position + 1 < control_count {
            tab.press(TAB_KEY).await;
        }
    }
}

#[test]
fn every_page_can_be_used_without_scripts() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        tab.disable_scripts().await;
        visit_every_page(fixture, "en", async |page| {
            assert_eq!(tab.evaluate("document.querySelectorAll('main h1').length").await, 1, "{page}");
            // Every form can be submitted, and no visible button needs a script.
            let forms_without_button = "[...document.forms].filter((form) => !form.querySelector('button:not([type=button])'))
                .map((form) => form.outerHTML)";
            assert_eq!(tab.evaluate(forms_without_button).await, json!([]), "{page}");
            let script_buttons = "[...document.querySelectorAll('button[type=button], button:not(form button)')]
                .filter((button) => button.checkVisibility()).map((button) => button.outerHTML)";
            assert_eq!(tab.evaluate(script_buttons).await, json!([]), "{page}");
        })
        .await;
    });
}

/// Returns the axe-core script, installed at first use.
pub(super) fn axe_script() -> Result<String, String> {
    static AXE_CORE: OnceLock<Result<String, String>> = OnceLock::new();
    AXE_CORE.get_or_init(install_axe).clone()
}

fn install_axe() -> Result<String, String> {
    let dir = npm::install_packages("axe", &[AXE_PACKAGE])?;
    let script = dir.join("node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(script).map_err(|error| error.to_string())
}
