//! Lines that are not TOML, mostly because a text has no quotes, and what to write instead.

use toml::Table;

/// The keys whose values are not repeated in a message.
const SECRETS: [&str; 4] = ["database", "redis", "as_token", "hs_token"];

/// What to write instead of a line that cannot be parsed, if that can be guessed.
pub(super) fn advice(line: &str) -> Option<String> {
    let line = line.trim();
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c))?;
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start();
    // As in YAML.
    let value = rest.strip_prefix('=').or_else(|| rest.strip_prefix(':'))?;
    let value = value.split_once(" #").map_or(value, |(value, _)| value).trim();
    // A table may contain a token, which must not be repeated.
    if key.is_empty() || value.contains('{') || (rest.starts_with('=') && is_toml(key, value)) {
        return None;
    }
    if value.is_empty() {
        return Some(format!("{key} has no value: write {key} = \"…\", or remove the line"));
    }
    if ["true", "false", "yes", "no"].iter().any(|word| value.eq_ignore_ascii_case(word)) {
        return Some(format!("{key} must be true or false: write {key} = true"));
    }
    if rest.starts_with(':') && is_toml(key, value) {
        return Some(format!("{key} needs an equals sign: write {key} = {}", shown(key, value)));
    }
    match value.strip_prefix('[') {
        None => {
            let quoted = quote(value);
            let shown = shown(key, &quoted);
            let problem = format!("{key} must be in quotes: write {key} = {shown}");
            is_toml(key, &quoted).then_some(problem)
        }
        Some(list) => {
            let items = list.strip_suffix(']').unwrap_or(list).split(',').map(str::trim);
            let items = items.filter(|item| !item.is_empty());
            let quoted =
                items.map(|item| if is_toml(key, item) { item.to_owned() } else { quote(item) });
            let list = format!("[{}]", quoted.collect::<Vec<_>>().join(", "));
            let problem = format!("the texts of {key} must be in quotes: write {key} = {list}");
            is_toml(key, &list).then_some(problem)
        }
    }
}

/// The value as a TOML string. Quotes that it has on one side, or of another kind, are replaced.
fn quote(value: &str) -> String {
    let text = value.trim_matches(['"', '\'', '“', '”', '„', '‘', '’', '`']);
    if text.contains(['"', '\\']) { format!("'{text}'") } else { format!("\"{text}\"") }
}

fn shown<'a>(key: &str, value: &'a str) -> &'a str {
    let name = key.rsplit('.').next().unwrap_or_default();
    if SECRETS.contains(&name) { "\"…\"" } else { value }
}

fn is_toml(key: &str, value: &str) -> bool {
    format!("{key} = {value}").parse::<Table>().is_ok()
}
