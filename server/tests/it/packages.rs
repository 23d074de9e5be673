//! Static checks of the default settings of the packages, and of the Compose and Traefik examples.
//! `packaging/test.sh` installs the packages.

use std::fs;

use serde_json::Value;

use crate::support::process::run_successfully;

const COMPOSE: &str = include_str!("../../../docs/examples/compose.yaml");
const TRAEFIK: &str = include_str!("../../../docs/examples/traefik.yml");
const SETTINGS: &str = include_str!("../../../packaging/belfry.toml");
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn parse_yaml(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).unwrap()
}

#[test]
fn the_default_settings_are_valid_even_with_every_comment_enabled() {
    let dir = tempfile::tempdir().unwrap();
    let is_setting = |line: &&str| {
        let key = line.split_once(" = ").map_or("", |(key, _)| key);
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let uncomment = |line| str::strip_prefix(line, "# ").filter(is_setting).unwrap_or(line);
    let uncommented_lines: Vec<&str> = SETTINGS.lines().map(uncomment).collect();
    assert_ne!(SETTINGS.trim_end(), uncommented_lines.join("\n"));
    for text in [SETTINGS.to_owned(), uncommented_lines.join("\n")] {
        fs::write(dir.path().join("belfry.toml"), text).unwrap();
        let output = run_successfully(dir.path(), &["config", "check"]);
        assert!(output.contains("127.0.0.1:8080"), "{output}");
    }
}

#[test]
fn the_compose_file_starts_this_version_with_valid_settings() {
    let compose = parse_yaml(COMPOSE);
    let belfry = &compose["services"]["belfry"];
    assert_eq!(belfry["image"], format!("belfry:{VERSION}"));
    assert_eq!(belfry["depends_on"]["postgres"]["condition"], "service_healthy");
    assert!(compose["services"]["postgres"]["healthcheck"]["test"].is_array());
    let config = &belfry["configs"][0];
    assert_eq!(config["target"], belfry["environment"]["BELFRY_CONFIG"]);

    let dir = tempfile::tempdir().unwrap();
    let settings = compose["configs"][config["source"].as_str().unwrap()]["content"].as_str();
    fs::write(dir.path().join("belfry.toml"), settings.unwrap()).unwrap();
    let database = belfry["environment"]["BELFRY_DATABASE"].as_str().unwrap();
    let (prefix, rest) = database.split_once("${").unwrap();
    let database = format!("{prefix}secret{}", rest.split_once('}').unwrap().1);
    let output = run_successfully(dir.path(), &["config", "check", "--database", &database]);
    assert!(output.contains("postgres://belfry:***@postgres/belfry"), "{output}");
    assert!(output.contains("https://ring.example"), "{output}");
    assert_eq!(belfry["environment"]["BELFRY_REDIS"], "redis://valkey");
    assert!(compose["services"]["valkey"].is_object());

    let health_check: Vec<&str> = belfry["healthcheck"]["test"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(health_check, ["CMD", "belfry", "health", "--ready"]);
}

#[test]
fn traefik_forwards_to_belfry_and_removes_request_ids_from_clients() {
    let http = &parse_yaml(TRAEFIK)["http"];
    let router = &http["routers"]["belfry"];
    let service = &http["services"][router["service"].as_str().unwrap()];
    assert_eq!(service["loadBalancer"]["servers"][0]["url"], "http://127.0.0.1:8080");
    let headers = &http["middlewares"][router["middlewares"][0].as_str().unwrap()]["headers"];
    assert_eq!(headers["customRequestHeaders"]["X-Request-Id"], "");
}
