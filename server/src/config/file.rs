//! Reading `belfry.toml`, with errors that say where and what was probably meant.

use std::fs;
use std::path::Path;

use super::{Config, ConfigError};

pub(super) fn read(path: &Path) -> Result<Config, ConfigError> {
    let text = fs::read_to_string(path)
        .map_err(|error| ConfigError(format!("cannot read {}: {error}", path.display())))?;
    parse(&text).map_err(|problem| ConfigError(format!("{}: {problem}", path.display())))
}

fn parse(text: &str) -> Result<Config, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        format!("line {line}: {}", suggest(error.message()))
    })
}

/// Turns serde's "unknown field `x`, expected one of `a`, `b`" into a suggestion.
fn suggest(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match (message.strip_prefix("unknown field `"), quoted.next()) {
        (Some(_), Some(unknown)) => {
            let known: Vec<&str> = quoted.collect();
            match nearest(unknown, &known) {
                Some(meant) => format!("unknown key `{unknown}`; did you mean `{meant}`?"),
                None => format!("unknown key `{unknown}`; known are {}", known.join(", ")),
            }
        }
        _ => message.trim_end().to_owned(),
    }
}

/// The known name that is most like an unknown one, if any is like it at all.
pub(super) fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|name| (strsim::jaro_winkler(unknown, name), *name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_not_said_keeps_its_default() {
        let config = parse("listen = '0.0.0.0:80'\n[http]\nbody_timeout = '1m 30s'\n").unwrap();
        assert_eq!(config.listen.to_string(), "0.0.0.0:80");
        assert_eq!(config.http.body_timeout, Duration::from_secs(90));
        assert_eq!(config.http.max_connections, 10_000);
        assert_eq!(config.name_segments, ["_service", "_matrix"]);
    }

    #[test]
    fn the_documented_file_is_valid_with_every_line_of_it_in_use() {
        let docs = include_str!("../../../docs/operating.md");
        let file = docs.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let all: Vec<&str> =
            file.lines().map(|line| line.strip_prefix('#').unwrap_or(line)).collect();
        for text in [file.to_owned(), all.join("\n")] {
            let config = parse(&text).unwrap();
            assert_eq!(config.base_url.unwrap().to_string(), "https://ring.example");
        }
    }

    #[test]
    fn an_error_names_the_line_and_what_was_meant() {
        for (text, problem) in [
            ("lisen = 'x'", "line 1: unknown key `lisen`; did you mean `listen`?"),
            (
                "\n[http]\nbody_timout = '1s'",
                "line 3: unknown key `body_timout`; did you mean `body_timeout`?",
            ),
            ("[log]\nzzz = 1", "line 2: unknown key `zzz`; known are level, format"),
            (
                "[limits]\nmode = 'maybe'",
                "line 2: unknown variant `maybe`, expected one of `enforce`, `shadow`, `off`",
            ),
            (
                "[http]\nidle_timeout = '-3s'",
                "line 2: \"-3s\" is not a length of time; write \"30s\" or \"5m\"",
            ),
            (
                "[http]\nidle_timeout = '0s'",
                "line 2: \"0s\" is not a length of time; write \"30s\" or \"5m\"",
            ),
            ("listen = 'here'", "line 1: invalid socket address syntax"),
        ] {
            assert_eq!(parse(text).unwrap_err(), problem, "{text}");
        }
    }
}
