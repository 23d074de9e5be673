use std::collections::BTreeSet;

use super::*;

fn parse_config(text: &str) -> Config {
    let mut config: Config = toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    config.read_secret_files(None).unwrap();
    config
}

/// Returns the effective settings without their origins, which differ between configurations.
fn effective_values(config: &Config) -> String {
    let text = config.to_toml().unwrap();
    text.lines()
        .map(|line| line.rsplit_once("# ").map_or(line, |(value, _)| value.trim()))
        .fold(String::new(), |text, line| text + line + "\n")
}

/// Returns the example, with this mark removed before keys and sections.
fn uncomment_example(mark: &str) -> String {
    let strip = |line: &'static str| match line.strip_prefix(mark) {
        Some(rest) if parse_key(rest).is_some() || rest.starts_with('[') => rest,
        _ => line,
    };
    EXAMPLE.lines().map(strip).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_without_changes_has_no_effect() {
    assert_eq!(effective_values(&parse_config(EXAMPLE)), effective_values(&Config::default()));
}

#[test]
fn the_uncommented_example_values_are_the_defaults() {
    let text = uncomment_example("#");
    let table: Table = text.parse().unwrap();
    assert_eq!(table["http"]["shutdown_delay"].as_str(), Some("0s"));
    assert_eq!(table["limits"]["rows"].as_table().unwrap().len(), 5);
    assert_eq!(effective_values(&parse_config(&text)), effective_values(&Config::default()));
}

#[test]
fn the_uncommented_examples_are_valid() {
    let example = uncomment_example("# ");
    let names_no_file = |line: &&str| !line.contains("_file = ");
    let text = example.lines().filter(names_no_file).collect::<Vec<_>>().join("\n");
    let config = parse_config(&text);
    let reparsed = parse_config(&config.to_toml().unwrap());
    assert_eq!(effective_values(&reparsed), effective_values(&config));
    assert_eq!(config.base_url.as_ref().unwrap().to_string(), "https://ring.example");
    assert!(config.tls.is_some() && config.oauth.token_lifetime.is_some());
    let names = config.limits.rows.rows.iter().map(|row| row.limit.name());
    assert_eq!(names.collect::<Vec<_>>(), ["account", "media", "delete", "ip", "sign_up"]);
}

/// The expected keys are those that the parser lists when it rejects an unknown one.
#[test]
fn the_example_lists_every_key() {
    let mut listed_keys = BTreeSet::new();
    let mut sections = BTreeSet::from([""]);
    for setting in known_settings() {
        sections.insert(setting.section);
        assert!(listed_keys.insert(setting.path()), "{}", setting.path());
    }
    for section in &sections {
        let header = if section.is_empty() { String::new() } else { format!("[{section}]\n") };
        let error = toml::from_str::<Config>(&format!("{header}zzz = 1")).unwrap_err();
        for key in error.message().split('`').skip(3).step_by(2) {
            let path = join_key(section, key);
            assert!(listed_keys.remove(&path) || sections.contains(&*path), "{path} is not listed");
        }
    }
    assert_eq!(Vec::from_iter(listed_keys), [""; 0], "every listed key is a setting");
}

#[test]
fn the_documented_defaults_are_the_example_and_the_documented_example_is_valid() {
    let docs = include_str!("../../../../docs/configuration.md");
    let blocks: Vec<&str> =
        docs.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks[0], EXAMPLE, "the first block is the output of belfry config example");
    let config = toml::from_str::<Config>(blocks[1]).unwrap();
    assert_eq!(config.base_url.unwrap().to_string(), "https://ring.example");
}

#[test]
fn secrets_are_not_shown() {
    let text = "database = 'postgres://me:hunter2@db/belfry?sslmode=require'\n\
                redis = 'redis://:hunter2@cache'\n\
                application_services = [{ id = 'a', as_token = 'hunter2', hs_token = 'hunter2', \
                sender_localpart = 'b', namespaces.users = [{ regex = '@b_.*' }] }]";
    let config = parse_config(text);
    let output = config.to_toml().unwrap();
    assert!(!output.contains("hunter2"), "{output}");
    assert!(
        output.contains("database = \"postgres://me:***@db/belfry?sslmode=require\""),
        "{output}"
    );
    assert!(output.contains("as_token = \"***\""), "{output}");
    assert_eq!(effective_values(&parse_config(&output)), effective_values(&config));
}
