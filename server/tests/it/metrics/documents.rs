//! The documented metrics table, the dashboard and the alerts name metrics and labels that exist.

use std::collections::{BTreeMap, BTreeSet};

use belfry::metrics::families;
use belfry_runtime::metrics::{Family, Kind};
use serde_json::Value;

const GUIDE: &str = include_str!("../../../../docs/observability.md");
pub(super) const ALERTS: &str = include_str!("../../../../docs/alerts.yml");
const DASHBOARD: &str = include_str!("../../../../docs/grafana.json");

const TARGET_LABELS: [&str; 2] = ["job", "instance"];

/// The labels of a family in the metrics table, with their values if the table lists them.
type DocumentedLabels = Vec<(String, Vec<String>)>;

/// The rows of the metrics table: type and labels by name.
pub(super) type MetricsTable = BTreeMap<String, (String, DocumentedLabels)>;

pub(super) fn parse_table() -> MetricsTable {
    let section = GUIDE.split("\n## Metrics\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let code_spans = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let mut rows = BTreeMap::new();
    for row in section.lines().filter_map(|line| line.strip_prefix("| `")) {
        let Some((name, rest)) = row.split_once("` |") else { continue };
        let cells: Vec<&str> = rest.split('|').map(str::trim).collect();
        let [kind, labels, meaning, ""] = cells[..] else { continue };
        let labels = labels.split(';').filter(|label| !label.is_empty()).map(|label| {
            let (label, values) = label.split_once(':').unwrap_or((label, ""));
            (code_spans(label).remove(0), code_spans(values))
        });
        assert!(!meaning.is_empty(), "{name}");
        let previous = rows.insert(name.to_owned(), (kind.to_owned(), labels.collect()));
        assert!(previous.is_none(), "{name} has two rows");
    }
    rows
}

#[test]
fn the_table_lists_every_family_with_its_type_and_labels() {
    let table = parse_table();
    let documented_families: BTreeMap<&str, (&str, Vec<&str>)> = table
        .iter()
        .map(|(name, (kind, labels))| {
            (&**name, (&**kind, labels.iter().map(|(label, _)| &**label).collect()))
        })
        .collect();
    let declared_families: BTreeMap<&str, (&str, Vec<&str>)> = families::all()
        .map(|family| (family.name, (family.kind.as_str(), family.labels.to_vec())))
        .collect();
    assert_eq!(documented_families, declared_families);
}

#[test]
fn names_follow_prometheus_conventions() {
    for Family { name, kind, help, .. } in families::all() {
        let prefixes = ["belfry_", "process_"];
        assert!(prefixes.iter().any(|prefix| name.starts_with(prefix)), "{name}");
        assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
        assert!(!help.is_empty() && !help.ends_with('.'), "{name}: {help}");
    }
}

/// Returns all expressions of the dashboard: panels, variables and annotations.
pub(super) fn dashboard_expressions() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut expressions = Vec::new();
    collect_expressions(&dashboard, &mut expressions);
    assert!(expressions.len() > 50, "{}", expressions.len());
    expressions
}

fn collect_expressions(value: &Value, expressions: &mut Vec<String>) {
    match value {
        Value::Array(values) => {
            for value in values {
                collect_expressions(value, expressions);
            }
        }
        Value::Object(fields) => {
            expressions.extend(fields.get("expr").map(|expr| expr.as_str().unwrap().to_owned()));
            fields.values().for_each(|value| collect_expressions(value, expressions));
        }
        _ => {}
    }
}

/// Replaces the dashboard's variables with sample values.
pub(super) fn replace_variables(expression: &str) -> String {
    let resolved_expression = expression
        .replace("$__rate_interval", "5m")
        .replace("$job", "belfry")
        .replace("$instance", "a|b");
    assert!(!resolved_expression.contains('$'), "{resolved_expression}");
    resolved_expression
}

/// Returns the metrics in an expression with the labels in their selectors, and the labels in
/// `by (…)`.
fn parse_expression(expression: &str) -> (Vec<(String, Vec<String>)>, Vec<String>) {
    let is_name_character = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut metrics = Vec::new();
    for prefix in ["belfry_", "process_"] {
        for (start, _) in expression.match_indices(prefix) {
            if expression[..start].ends_with(is_name_character) {
                continue;
            }
            let rest = &expression[start..];
            let end = rest.find(|c| !is_name_character(c)).unwrap_or(rest.len());
            let selector = rest[end..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let labels = selector.map_or("", |(labels, _)| labels).split(", ");
            let labels = labels.filter(|label| !label.is_empty());
            let labels = labels.map(|label| label.split(['=', '!']).next().unwrap().to_owned());
            metrics.push((rest[..end].to_owned(), labels.collect()));
        }
    }
    let groups = expression.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    let groups = groups.flat_map(|group| group.split(", ")).map(str::to_owned);
    (metrics, groups.collect())
}

/// Returns the family of a metric name, which may have the suffix of a histogram.
fn find_family(name: &str) -> Option<&'static Family> {
    let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
    families::all().find(|family| match family.kind {
        Kind::Histogram => Some(family.name) == base,
        _ => family.name == name,
    })
}

/// Asserts that the metrics and labels in an expression exist, and adds the families to
/// `used_families`.
#[track_caller]
fn check_expression(expression: &str, used_families: &mut BTreeSet<&'static str>) {
    let (metrics, groups) = parse_expression(expression);
    let mut all_labels: BTreeSet<&str> = TARGET_LABELS.into();
    for (name, labels) in &metrics {
        let family =
            find_family(name).unwrap_or_else(|| panic!("{name} does not exist: {expression}"));
        used_families.insert(family.name);
        let mut allowed_labels: BTreeSet<&str> = TARGET_LABELS.into();
        allowed_labels.extend(family.labels);
        if name.ends_with("_bucket") {
            allowed_labels.insert("le");
        }
        for label in labels {
            assert!(allowed_labels.contains(&**label), "{name} has no label {label}: {expression}");
        }
        all_labels.extend(allowed_labels);
    }
    for group in groups {
        assert!(all_labels.contains(&*group), "no metric has the label {group}: {expression}");
    }
}

#[test]
fn the_dashboard_uses_metrics_and_labels_that_exist() {
    let mut used_families = BTreeSet::new();
    for expression in dashboard_expressions() {
        check_expression(&expression, &mut used_families);
    }
    let names = families::all().map(|family| family.name);
    let unused_families: Vec<&str> = names.filter(|name| !used_families.contains(name)).collect();
    assert_eq!(unused_families, ["process_virtual_memory_bytes"], "the dashboard shows all others");
}

#[test]
fn the_dashboard_can_be_imported() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    assert!(dashboard["schemaVersion"].as_u64().is_some_and(|version| version >= 36));
    assert!(dashboard["id"].is_null(), "Grafana assigns the id");
    let variables: Vec<_> = dashboard["templating"]["list"].as_array().unwrap().iter().collect();
    let names: Vec<_> =
        variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["datasource", "job", "instance"]);
    let mut ids = BTreeSet::new();
    let mut cells = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: id");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        assert!(x + w <= 24, "{title}");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(cells.insert(cell), "{title} overlaps another panel");
        }
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
            assert!(!panel["targets"].as_array().unwrap().is_empty(), "{title}");
        }
    }
}

#[test]
fn the_alerts_use_metrics_and_labels_that_exist() {
    let mut used_families = BTreeSet::new();
    for rule in ALERTS.split("- alert: ").skip(1) {
        let (_, rest) = rule.split_once("expr: ").unwrap();
        let expression = rest.split("labels: {").next().unwrap().replace('\n', " ");
        check_expression(&expression, &mut used_families);
    }
    assert!(used_families.len() > 15, "{used_families:?}");
}

#[test]
fn each_alert_has_a_description_and_is_in_the_guide() {
    let section = GUIDE.split("\n### Alerts\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `Belfry"));
    let mut documented_names: Vec<&str> = rows.map(|row| row.split('`').next().unwrap()).collect();
    let mut names = Vec::new();
    for rule in ALERTS.split("- alert: Belfry").skip(1) {
        let name = rule.lines().next().unwrap();
        let runbook = "runbook: docs/observability.md#alerts\n";
        for field in ["severity: ", "summary: \"", "description: \"", runbook] {
            assert!(rule.contains(field), "Belfry{name} has no {field}");
        }
        names.push(name);
    }
    names.sort_unstable();
    documented_names.sort_unstable();
    assert_eq!(names, documented_names);
}
