use std::time::Duration;

use super::*;

#[test]
fn missing_settings_have_their_defaults() {
    let text = "listen = '0.0.0.0:80'\n[http]\nshutdown_delay = '1m 30s'\n";
    let (config, problems) = parse(text, "belfry.toml").unwrap();
    assert_eq!(problems, [""; 0]);
    assert_eq!(config.listen.to_string(), "0.0.0.0:80");
    assert_eq!(config.http.shutdown_delay, Duration::from_secs(90));
    assert_eq!(config.http.max_connections, 10_000);
    assert_eq!(config.name_segments, ["_service", "_matrix"]);
}

fn find_problems(text: &str) -> Vec<String> {
    parse(text, "belfry.toml").map_or_else(|error| error.problems, |(_, problems)| problems)
}

/// Asserts the error for each text, with its line.
fn assert_errors(cases: &[(&str, &str, usize)]) {
    for (text, problem, line) in cases {
        let problems = find_problems(text);
        assert_eq!(problems, [format!("{problem} (belfry.toml, line {line})")], "{text}");
    }
}

#[test]
fn an_unknown_key_is_reported_with_its_place_or_a_similar_key() {
    let top = "`registration` belongs at the top of the file, before the first section";
    assert_errors(&[
        ("lisen = 'x'", "unknown key `lisen`; did you mean `listen`?", 1),
        ("[htpp]", "unknown key `htpp`; did you mean `http`?", 1),
        (
            "\n[http]\nshutdown_dely = '1s'",
            "unknown key `shutdown_dely`; did you mean `shutdown_delay`?",
            3,
        ),
        (
            "http = { max_headers = 50 }",
            "unknown key `max_headers`; known keys: max_connections, shutdown_delay",
            1,
        ),
        ("[instance]\nregistration = 'closed'", top, 2),
        ("[limits.abuse]\nregistration = 'closed'", top, 2),
        ("[http]\nredis_timeout = '1s'", "`redis_timeout` belongs below [limits]", 2),
        ("log_level = 'debug'", "unknown key `log_level`; write `level` below [log]", 1),
        ("tls-key = 'a'", "unknown key `tls-key`; write `key` below [tls]", 1),
        (
            "http_max_connections = 1",
            "unknown key `http_max_connections`; write `max_connections` below [http]",
            1,
        ),
        ("[log]\nzzz = 1", "unknown key `zzz`; known keys: level, access", 2),
        (
            "[limits.rows]\nmedia = { requets = 5 }",
            "unknown key `requets`; did you mean `requests`?",
            2,
        ),
        ("limits = 'off'", "limits is a section: write [limits] and its settings below it", 1),
    ]);
}

#[test]
fn an_error_about_a_value_names_its_key_and_line() {
    assert_errors(&[
        (
            "[limits.rows]\n\nmedya = { requests = 5 }",
            "limits.rows.medya: not a default limit (those are account, media, delete, ip, \
             sign_up), and a new one needs `per`, `match`, `requests` and `window`",
            3,
        ),
        ("\napplication_services = [{ id = 'a' }]", "application_services.as_token is missing", 2),
        (
            "[[application_services]]\nid = 'a'\nas_token = 't'\nsender_localpart = 'b'\n\
             namespaces.users = [{ regex = '@(.*' }]",
            "application_services: users.regex: found open group without closing ')'",
            5,
        ),
        (
            "registration = 'close'",
            "registration: unknown variant `close`, expected `open` or `closed`; did you mean \
             `closed`?",
            1,
        ),
        (
            "[limits]\nmode = 'maybe'",
            "limits.mode: unknown variant `maybe`, expected one of `enforce`, `shadow`, `off`",
            2,
        ),
        (
            "[sessions]\nabsolute_timeout = '-3s'",
            "sessions.absolute_timeout must be a duration such as \"30s\" or \"5m\", not \"-3s\"",
            2,
        ),
        (
            "[sessions]\nabsolute_timeout = '0s'",
            "sessions.absolute_timeout must be a duration such as \"30s\" or \"5m\", not 0",
            2,
        ),
        (
            "limits.rows.media.window = 15",
            "limits.rows.media.window: 15 is not a duration: write \"15s\" for seconds",
            1,
        ),
        ("[http]\nmax_connections = 0", "http.max_connections must be at least 1", 2),
        (
            "\nstore.connections = 0",
            "store.connections: invalid value: integer `0`, expected a nonzero usize",
            2,
        ),
        ("rules.max_rules = -1", "rules.max_rules: invalid value: integer `-1`, expected usize", 1),
        (
            "listen = 'here'",
            "listen: \"here\" is not HOST:PORT: write \"127.0.0.1:8080\" for this machine only, or \
             \"0.0.0.0:8080\" or \"[::]:8080\" for all networks",
            1,
        ),
        (
            "base_url = 'bells.example'",
            "base_url: \"bells.example\" is not a base URL: write a scheme, a host and an optional \
             port, such as \"https://ring.example\"",
            1,
        ),
        (
            "trusted_proxies = ['10.0.0']",
            "trusted_proxies: \"10.0.0\" is not an address: write 10.0.0.1, or a range such \
             as 10.0.0.0/8 or 2001:db8::/32",
            1,
        ),
        ("redis = 'cache'", "redis: not a URL with a scheme: write redis://HOST", 1),
        (
            "database = 'db'",
            "database: not a URL with a scheme: write postgres://USER:PASSWORD@HOST/DATABASE",
            1,
        ),
    ]);
}

#[test]
fn a_value_of_a_different_type_is_reported_with_an_example() {
    assert_errors(&[
        (
            "listen = 8080",
            "listen: expected string, found integer; example: listen = \"127.0.0.1:8080\" # \
             HOST:PORT; 0.0.0.0:8080 for all networks",
            1,
        ),
        (
            "[http]\nshutdown_delay = 15",
            "http.shutdown_delay: expected string, found integer; example: shutdown_delay = \"0s\" \
             # accept connections this long after SIGTERM, with /readyz 503",
            2,
        ),
        (
            "trusted_proxies = '10.0.0.0/8'",
            "trusted_proxies: expected array, found string; example: trusted_proxies = [] # whose \
             forwarding headers are trusted: [\"127.0.0.1\", \"10.0.0.0/8\"]",
            1,
        ),
        (
            "[log]\naccess = true",
            "log.access: expected string, found boolean; example: access = \"off\" # access log: \
             off, errors (status 400 and above) or all requests",
            2,
        ),
        (
            "database = 7",
            "database: expected string, found integer; example: database = \
             \"postgres://belfry:secret@db.internal/belfry?sslmode=verify-full\" # instead of \
             SQLite",
            1,
        ),
        (
            "[http]\nmax_connections = '7'",
            "http.max_connections: expected integer, found string; example: max_connections = \
             10000 # beyond it only /healthz and /readyz are answered",
            2,
        ),
        (
            "oauth.query_tokens = 'no'",
            "oauth.query_tokens: expected boolean, found string; example: query_tokens = true # \
             false: tokens only in Authorization, not in ?access_token=",
            1,
        ),
    ]);
}

#[test]
fn a_syntax_error_names_the_line_and_never_shows_a_secret() {
    assert_errors(&[("data = 'a'\ndata = 'b'", "duplicate key", 2)]);
    for text in [
        "listen = 127.0.0.1:8080",
        "listen: '127.0.0.1:8080'",
        "registration = closed",
        "data = “belfry”",
        "database = postgres://me:hunter2@db/belfry",
        "application_services = [{ id = a, as_token = 'hunter2' }]",
    ] {
        let error = find_problems(text).join("; ");
        let advice = "; write key = \"value\", with quotes around text (belfry.toml, line 1)";
        assert!(error.ends_with(advice) && !error.contains("hunter2"), "{error}");
    }
}

#[test]
fn all_problems_of_a_file_are_reported() {
    let text = "lisen = 'a'\nregistration = 'close'\nserver_name = 'a b'\n[http]\n\
                max_connections = '7'\nshutdown_delay = '11m'\nzzz = 1\n[limits.rows]\n\
                medya = { requests = 5 }\nmedia = { window = 3 }";
    let problems = find_problems(text);
    let lines: Vec<&str> =
        problems.iter().filter_map(|problem| problem.rsplit_once(", line ")).map(|p| p.1).collect();
    assert_eq!(lines, ["1)", "2)", "5)", "7)", "9)", "10)", "6)", "3)"], "{problems:#?}");
    // The certificate is not reported as missing.
    assert_eq!(find_problems("[tls]\ncertificate = 3\nkey = 'a'").len(), 1);
}
