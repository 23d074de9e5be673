use std::time::Duration;

use super::*;

#[test]
fn missing_settings_have_their_defaults() {
    let text = "listen = '0.0.0.0:80'\n[http]\nbody_timeout = '1m 30s'\n";
    let config = parse(text, "belfry.toml").unwrap();
    assert_eq!(config.listen.to_string(), "0.0.0.0:80");
    assert_eq!(config.http.body_timeout, Duration::from_secs(90));
    assert_eq!(config.http.max_connections, 10_000);
    assert_eq!(config.name_segments, ["_service", "_matrix"]);
}

#[test]
fn an_error_names_the_key_the_line_and_a_similar_key() {
    for (text, problem) in [
        ("lisen = 'x'", "unknown key `lisen`; did you mean `listen`? (belfry.toml, line 1)"),
        (
            "\n[http]\nbody_timout = '1s'",
            "unknown key `body_timout`; did you mean `body_timeout`? (belfry.toml, line 3)",
        ),
        (
            "[instance]\nregistration = 'closed'",
            "`registration` belongs at the top of the file, before the first section (belfry.toml, \
             line 2)",
        ),
        (
            "[limits.abuse]\nregistration = 'closed'",
            "limits.abuse.registration: `registration` belongs at the top of the file, before the \
             first section (belfry.toml, line 2)",
        ),
        (
            "[http]\nredis_timeout = '1s'",
            "`redis_timeout` belongs below [limits] (belfry.toml, line 2)",
        ),
        (
            "[limits.rows]\n\nmedya = { requests = 5 }",
            "limits.rows.medya: not a default limit (those are account, media, delete, ip, \
             sign_up), and a new one needs `per`, `match`, `requests` and `window` (belfry.toml, \
             line 3)",
        ),
        ("[tls]\ncertificate = 'a.pem'", "key is missing: write key = … (belfry.toml, line 1)"),
        (
            "[security]\ncontact = ['me@ring.example']",
            "security.contact must be a URL, such as \"https://…\" or \"mailto:NAME@HOST\" \
             (belfry.toml, line 2)",
        ),
        (
            "[log]\nzzz = 1",
            "unknown key `zzz`; known keys: level, format, access (belfry.toml, line 2)",
        ),
        (
            "[limits]\nmode = 'maybe'",
            "limits.mode: \"maybe\" is not accepted: write \"enforce\", \"shadow\" or \"off\" \
             (belfry.toml, line 2)",
        ),
        (
            "[http]\nidle_timeout = '-3s'",
            "http.idle_timeout must be a duration such as \"30s\" or \"5m\", not \"-3s\" \
             (belfry.toml, line 2)",
        ),
        (
            "[http]\nidle_timeout = '0s'",
            "http.idle_timeout must be a duration such as \"30s\" or \"5m\", not 0 \
             (belfry.toml, line 2)",
        ),
        ("\nstore.connections = 0", "store.connections must be at least 1 (belfry.toml, line 2)"),
        (
            "[http]\nmax_connections = 0",
            "http.max_connections must be at least 1 (belfry.toml, line 2)",
        ),
        (
            "listen = 'here'",
            "listen: \"here\" is not an address to listen on: write HOST:PORT, as in \
             \"127.0.0.1:8080\" (belfry.toml, line 1)",
        ),
        (
            "listen = 8080",
            "listen: \"8080\" has no host: write \"127.0.0.1:8080\" for this machine only, or \
             \"0.0.0.0:8080\" for all networks (belfry.toml, line 1)",
        ),
        (
            "listen = true",
            "listen must be an address such as \"127.0.0.1:8080\" (belfry.toml, line 1)",
        ),
    ] {
        assert_eq!(parse(text, "belfry.toml").unwrap_err().to_string(), problem, "{text}");
    }
}

#[test]
fn a_text_without_quotes_is_reported_with_quotes() {
    for (text, problem) in [
        (
            "\nbase_url = https://ring.example # public",
            "base_url must be in quotes: write base_url = \"https://ring.example\" \
             (belfry.toml, line 2)",
        ),
        (
            "listen = 127.0.0.1:8080",
            "listen must be in quotes: write listen = \"127.0.0.1:8080\" (belfry.toml, line 1)",
        ),
        (
            "registration = closed",
            "registration must be in quotes: write registration = \"closed\" (belfry.toml, line 1)",
        ),
        (
            "[http]\nbody_timeout = 15s",
            "body_timeout must be in quotes: write body_timeout = \"15s\" (belfry.toml, line 2)",
        ),
        (
            "data = /var/lib/belfry",
            "data must be in quotes: write data = \"/var/lib/belfry\" (belfry.toml, line 1)",
        ),
        (
            "data = \"/var/lib/belfry",
            "data must be in quotes: write data = \"/var/lib/belfry\" (belfry.toml, line 1)",
        ),
        (
            "data = “belfry”",
            "data must be in quotes: write data = \"belfry\" (belfry.toml, line 1)",
        ),
        (
            "trusted_proxies = [127.0.0.1, \"::1\", 10.0.0.0/8]",
            "the texts of trusted_proxies must be in quotes: write trusted_proxies = \
             [\"127.0.0.1\", \"::1\", \"10.0.0.0/8\"] (belfry.toml, line 1)",
        ),
        (
            "database = postgres://me:hunter2@db/belfry",
            "database must be in quotes: write database = \"…\" (belfry.toml, line 1)",
        ),
        (
            "listen: \"127.0.0.1:80\"",
            "listen needs an equals sign: write listen = \"127.0.0.1:80\" (belfry.toml, line 1)",
        ),
        (
            "[oauth]\nrequire_pkce = yes",
            "require_pkce must be true or false: write require_pkce = true (belfry.toml, line 2)",
        ),
        (
            "listen = ",
            "listen has no value: write listen = \"…\", or remove the line (belfry.toml, line 1)",
        ),
        (
            "data = 'a'\ndata = 'b'",
            "the key `data` is there twice: remove one of them (belfry.toml, line 2)",
        ),
    ] {
        assert_eq!(parse(text, "belfry.toml").unwrap_err().to_string(), problem, "{text}");
    }
    let service = "application_services = [{ id = a, as_token = 'hunter2' }]";
    let error = parse(service, "belfry.toml").unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn an_error_about_a_value_says_what_to_write() {
    for (text, problem) in [
        (
            "[http]\nbody_timeout = 15",
            "http.body_timeout must be a duration such as \"30s\" or \"5m\": write \"15s\" for \
             15 seconds (belfry.toml, line 2)",
        ),
        (
            "oauth.token_lifetime = true",
            "oauth.token_lifetime must be a duration such as \"30s\" or \"5m\" (belfry.toml, line 1)",
        ),
        (
            "limits.rows.media.window = 15",
            "limits.rows.media.window: 15 is not a duration: write \"15s\" for seconds \
             (belfry.toml, line 1)",
        ),
        (
            "trusted_proxies = '10.0.0.0/8'",
            "trusted_proxies must be a list: write trusted_proxies = [\"10.0.0.0/8\"] \
             (belfry.toml, line 1)",
        ),
        (
            "[security]\ncontact = 'mailto:a@b.example'",
            "security.contact must be a list: write contact = [\"mailto:a@b.example\"] \
             (belfry.toml, line 2)",
        ),
        (
            "[log]\naccess = true",
            "log.access must be \"off\", \"errors\" or \"all\", in quotes (belfry.toml, line 2)",
        ),
        (
            "registration = true",
            "registration must be \"open\" or \"closed\", in quotes (belfry.toml, line 1)",
        ),
        (
            "server_name = 7",
            "server_name must be in quotes: write server_name = \"7\" (belfry.toml, line 1)",
        ),
        (
            "[http]\nmax_connections = '7'",
            "http.max_connections must be a number without quotes: write max_connections = 7 \
             (belfry.toml, line 2)",
        ),
        (
            "[http]\nmax_connections = 'many'",
            "http.max_connections must be a whole number (belfry.toml, line 2)",
        ),
        ("rules.max_rules = -1", "rules.max_rules must not be negative (belfry.toml, line 1)"),
        (
            "oauth.query_tokens = 'no'",
            "oauth.query_tokens must be true or false, without quotes: write query_tokens = true \
             (belfry.toml, line 1)",
        ),
        (
            "limits = 'off'",
            "limits must be a section: write [limits], and its settings below (belfry.toml, line 1)",
        ),
        (
            "base_url = 'bells.example'",
            "base_url: \"bells.example\" is not a URL with http:// or https://: write \
             \"https://bells.example\" (belfry.toml, line 1)",
        ),
        (
            "trusted_proxies = ['10.0.0']",
            "trusted_proxies: \"10.0.0\" is not an address: write 10.0.0.1, or a range such \
             as 10.0.0.0/8 or 2001:db8::/32 (belfry.toml, line 1)",
        ),
        (
            "redis = 'cache'",
            "redis: not a URL with a scheme: write redis://HOST (belfry.toml, \
             line 1)",
        ),
        (
            "database = 'db'",
            "database: not a URL with a scheme: write \
             postgres://USER:PASSWORD@HOST/DATABASE (belfry.toml, line 1)",
        ),
    ] {
        assert_eq!(parse(text, "belfry.toml").unwrap_err().to_string(), problem, "{text}");
    }
}
