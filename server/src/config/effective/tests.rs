use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

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
    assert_eq!(config.base_url.as_ref().unwrap().to_string(), "https://ring.example");
    assert!(config.tls.is_some() && config.oauth.token_lifetime.is_some());
    let names = config.limits.rows.rows.iter().map(|row| row.limit.name());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["account", "media", "delete", "ip", "sign_up", "uploads"]
    );
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
fn settings_are_shown_with_their_values_and_origins() {
    let mut config = parse_config("base_url = 'https://ring.example'\n[http]\nmax_connections = 7");
    config.origins.insert("http.max_connections".to_owned(), "belfry.toml".to_owned());
    let text = config.to_toml().unwrap();
    for line in [
        "listen = \"127.0.0.1:8080\"                       # default",
        "# redis is not set",
        "server_name = \"ring.example\"                    # default, from base_url",
        "max_connections = 7                             # belfry.toml",
        "# [tls] is not set",
        "mode = \"enforce\"                                # default",
    ] {
        assert!(text.lines().any(|output_line| output_line == line), "{line}\n{text}");
    }
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

#[test]
fn a_url_in_a_file_is_shown_as_that_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("database");
    std::fs::write(&path, "postgres://me:hunter2@db/belfry").unwrap();
    let mut config = Config { database_file: Some(path.clone()), ..Config::default() };
    config.origins.insert("database_file".to_owned(), "--database-file".to_owned());
    config.read_secret_files(None).unwrap();
    let output = config.to_toml().unwrap();
    assert!(output.contains(&format!("database_file = {path:?}")), "{output}");
    let origin = "# --database-file, contains postgres://me:***@db/belfry\n";
    assert!(output.contains(origin) && !output.contains("hunter2"), "{output}");
}

/// Returns a setting with a random value, as TOML.
fn random_setting() -> impl Strategy<Value = (&'static str, String)> {
    const NUMBERS: &[&str] =
        &["http.max_connections", "http.max_body_bytes", "store.connections", "rules.max_rules"];
    const DURATIONS: &[&str] = &[
        "retention.tokens",
        "oauth.token_lifetime",
        "sessions.absolute_timeout",
        "limits.redis_timeout",
    ];
    let quoted =
        |words: &'static [&'static str]| select(words).prop_map(|word| format!("{word:?}"));
    let number = (select(NUMBERS), 1_u32..).prop_map(|(key, n)| (key, n.to_string())).boxed();
    let duration = (select(DURATIONS), 1_u64..1 << 34, select(&["ms", "s", "ns"][..]))
        .prop_map(|(key, n, unit)| (key, format!("\"{n}{unit}\"")))
        .boxed();
    let row = (1_u32.., 1_u32..86400, select(&["account", "ip"][..])).prop_map(|(n, seconds, per)| {
        format!("{{ per = '{per}', match = ['POST /a/:b', '* /c/*'], requests = {n}, window = '{seconds}s' }}")
    });
    let mut strategies = vec![number, duration];
    for (key, value) in [
        ("listen", quoted(&["localhost:80", "[::1]:0", "0.0.0.0:1", "a.example:65535"]).boxed()),
        ("base_url", quoted(&["https://a.example", "http://[::1]:8"]).boxed()),
        ("registration", quoted(&["open", "closed"]).boxed()),
        ("instance.title", ".*".prop_map(|text: String| Value::from(text).to_string()).boxed()),
        ("data", quoted(&["a b", "/var/lib/belfry"]).boxed()),
        ("redis", quoted(&["redis://a", "rediss://b:1/2"]).boxed()),
        ("trusted_proxies", select(&["[]", "['10.0.0.0/8', '::1']"][..]).prop_map_into().boxed()),
        ("trusted_proxy_header", quoted(&["X-Real-IP", "forwarded"]).boxed()),
        ("application_services", select(&["['a.yaml', 'b \" c']"][..]).prop_map_into().boxed()),
        ("metrics_listen", quoted(&["localhost:9"]).boxed()),
        ("tls", Just("{ certificate = 'a', key = 'b' }".to_owned()).boxed()),
        ("log.level", quoted(&["error", "trace"]).boxed()),
        ("log.access", quoted(&["errors", "all"]).boxed()),
        ("oauth.query_tokens", quoted(&["x"]).prop_map(|_| "false".to_owned()).boxed()),
        ("oauth.resource_servers", Just("['a', 'b']".to_owned()).boxed()),
        ("limits.mode", quoted(&["shadow", "off"]).boxed()),
        (
            "limits.rows.media",
            Union::new([row.clone().boxed(), Just("false".to_owned()).boxed()]).boxed(),
        ),
        ("limits.rows.other-row", row.boxed()),
        ("limits.abuse.sign_in_name", Just("{ requests = 3 }".to_owned()).boxed()),
        ("limits.abuse.client_secret", Just("false".to_owned()).boxed()),
    ] {
        strategies.push(value.prop_map(move |value| (key, value)).boxed());
    }
    Union::new(strategies)
}

proptest! {
    #[test]
    fn the_effective_settings_parse_to_the_same_settings(
        settings in prop::collection::vec(random_setting(), 0..20),
    ) {
        let settings: BTreeMap<_, _> = settings.into_iter().collect();
        let lines = settings.iter().map(|(key, value)| format!("{key} = {value}"));
        let text = lines.collect::<Vec<_>>().join("\n");
        let config = parse_config(&text);
        let output = config.to_toml().unwrap();
        let reparsed_config = parse_config(&output);
        prop_assert_eq!(effective_values(&reparsed_config), effective_values(&config));
        prop_assert_eq!(reparsed_config.to_toml().unwrap().lines().count(), output.lines().count());
    }
}
