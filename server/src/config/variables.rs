//! Warnings about environment variables that look like settings and have no effect.

use std::ffi::OsString;

use strsim::damerau_levenshtein;

use super::effective::known_settings;
use super::overrides::{variable_for_key, variable_names};

/// Variables that Belfry's tests and the examples for apps use.
const OTHER_VARIABLES: [&str; 5] = [
    "BELFRY_SCREENSHOTS",
    "BELFRY_TOKEN",
    "BELFRY_SERVICE_TOKEN",
    "BELFRY_CLIENT_ID",
    "BELFRY_CLIENT_SECRET",
];

/// Returns a warning, with advice, for each variable that begins with `BELFRY_` and has no effect.
pub fn ineffective_variables(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<String> {
    let mut warnings: Vec<String> = variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with("BELFRY_"))
        .filter_map(|(name, value)| warning_about(&name, &value.to_string_lossy()))
        .collect();
    warnings.sort();
    warnings
}

/// Returns the warning about a variable; `None` if it has an effect or a different use.
fn warning_about(name: &str, value: &str) -> Option<String> {
    let known_names = variable_names();
    if known_names.iter().any(|known_name| known_name == name) || has_other_use(name, value) {
        return None;
    }
    if name == "BELFRY_PORT" {
        return Some(format!("{name} has no effect: the port is part of BELFRY_LISTEN"));
    }
    let by_key = known_settings().into_iter().map(|setting| setting.path()).map(|key| {
        let advice = match variable_for_key(&key) {
            Some(variable) => format!("did you mean {variable}?"),
            None => file_advice(&key),
        };
        (expected_variable(&key), advice)
    });
    let by_name = known_names
        .iter()
        .map(|known_name| (known_name.clone(), format!("did you mean {known_name}?")));
    let stem = name.strip_suffix("_URL").unwrap_or(name);
    let distances = |candidate: &str| [name, stem].map(|name| damerau_levenshtein(name, candidate));
    let max_distance = (name.len().saturating_sub("BELFRY_".len()) / 4).clamp(1, 3);
    let nearest = by_name
        .chain(by_key)
        .min_by_key(|(candidate, _)| distances(candidate).into_iter().min())
        .filter(|(candidate, _)| {
            distances(candidate).iter().any(|distance| *distance <= max_distance)
        });
    let advice = nearest.map_or_else(
        || "`belfry config example` lists all settings".to_owned(),
        |(_, advice)| advice,
    );
    Some(format!("{name} has no effect: {advice}"))
}

/// Returns the name that the variable of a key would have.
fn expected_variable(key: &str) -> String {
    format!("BELFRY_{}", key.to_uppercase().replace('.', "_"))
}

/// Returns advice to set a key in the configuration file.
fn file_advice(key: &str) -> String {
    let place = "in belfry.toml, or in the file that BELFRY_CONFIG names";
    match key.rsplit_once('.') {
        Some((section, key)) => format!("write {key} = … below [{section}] {place}"),
        None => format!("write {key} = … {place}"),
    }
}

/// Returns whether a variable has a different use: Belfry's tests, an app, or a Kubernetes service
/// or Docker link whose name begins with `belfry`.
fn has_other_use(name: &str, value: &str) -> bool {
    let is_link = || ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    let has_port_number = |name: &str| {
        name.split("_PORT_").skip(1).any(|suffix| suffix.starts_with(|c: char| c.is_ascii_digit()))
    };
    OTHER_VARIABLES.contains(&name)
        || name.starts_with("BELFRY_TEST_")
        || ["_SERVICE_HOST", "_SERVICE_PORT"].iter().any(|infix| name.contains(infix))
        || has_port_number(name)
        || (name.ends_with("_PORT") && is_link())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::effective::KnownSetting;

    #[test]
    fn a_variable_without_effect_causes_a_warning_that_says_what_to_write() {
        let file = "in belfry.toml, or in the file that BELFRY_CONFIG names";
        for (name, warning) in [
            (
                "BELFRY_REGISTRATION",
                format!("BELFRY_REGISTRATION has no effect: write registration = … {file}"),
            ),
            (
                "BELFRY_STORE_START_TIMEOUT",
                format!(
                    "BELFRY_STORE_START_TIMEOUT has no effect: write start_timeout = … below \
                     [store] {file}"
                ),
            ),
            (
                "BELFRY_TRUSTED_PROXY",
                format!("BELFRY_TRUSTED_PROXY has no effect: write trusted_proxies = … {file}"),
            ),
            (
                "BELFRY_REGISTRATON",
                format!("BELFRY_REGISTRATON has no effect: write registration = … {file}"),
            ),
            (
                "BELFRY_DATABSE",
                "BELFRY_DATABSE has no effect: did you mean BELFRY_DATABASE?".to_owned(),
            ),
            (
                "BELFRY_REDIS_URL",
                "BELFRY_REDIS_URL has no effect: did you mean BELFRY_REDIS?".to_owned(),
            ),
            (
                "BELFRY_LIMITS_MODE",
                "BELFRY_LIMITS_MODE has no effect: did you mean BELFRY_LIMITS?".to_owned(),
            ),
            (
                "BELFRY_PORT",
                "BELFRY_PORT has no effect: the port is part of BELFRY_LISTEN".to_owned(),
            ),
            (
                "BELFRY_FRUIT",
                "BELFRY_FRUIT has no effect: `belfry config example` lists all settings".to_owned(),
            ),
        ] {
            let warnings = ineffective_variables([(name.into(), "8080".into())]);
            assert_eq!(warnings, [warning]);
        }
    }

    #[test]
    fn variables_of_settings_tests_and_container_platforms_cause_no_warning() {
        for (name, value) in [
            ("PATH", "/bin"),
            ("BELFRY_DATA", "data"),
            ("BELFRY_LOG_ACCESS", "all"),
            ("BELFRY_TEST_POSTGRES", "postgres://localhost"),
            ("BELFRY_TOKEN", "x"),
            ("BELFRY_SERVICE_HOST", "10.0.0.1"),
            ("BELFRY_SERVICE_PORT_HTTP", "8080"),
            ("BELFRY_PORT", "tcp://10.0.0.1:8080"),
            ("BELFRY_PORT_8080_TCP_ADDR", "10.0.0.1"),
            ("BELFRY_DB_PORT", "tcp://10.0.0.1:5432"),
        ] {
            assert_eq!(ineffective_variables([(name.into(), value.into())]), [""; 0], "{name}");
        }
    }

    #[test]
    fn a_variable_for_each_setting_has_an_effect_or_causes_a_warning() {
        for key in known_settings().iter().map(KnownSetting::path) {
            let variable = expected_variable(&key);
            let warnings = ineffective_variables([(variable.clone().into(), "".into())]);
            assert_eq!(
                warnings.is_empty(),
                variable_names().contains(&variable),
                "{key}: {warnings:?}"
            );
        }
    }
}
