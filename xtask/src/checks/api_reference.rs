//! `docs/api.md`, which is generated from the files of the OpenAPI document.

mod operation;
mod schema;
mod scopes;
mod source;

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use self::source::{Source, text};
use crate::cargo;

const INTRODUCTION: &str = "\
# API reference

<!-- Written by `cargo xtask check --fix` from the files in `server/openapi/`. -->

A server describes its API as OpenAPI 3.1 at `GET /openapi.json`. This page has the same content.

";

/// Checks that `docs/api.md` is up to date.
pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let rendered = render(&Source::read()?);
    let is_current = fs::read_to_string(path()).is_ok_and(|text| text == rendered);
    if !is_current {
        println!("docs/api.md differs from server/openapi/; run `cargo xtask check --fix`");
    }
    Ok(is_current)
}

/// Writes `docs/api.md`.
pub(super) fn fix() -> Result<(), Box<dyn Error>> {
    Ok(fs::write(path(), render(&Source::read()?))?)
}

fn path() -> PathBuf {
    cargo::root().join("docs").join("api.md")
}

fn render(source: &Source) -> String {
    let mut page = INTRODUCTION.to_owned();
    page += text(&source.base["info"], "description");
    page += "\n## Tokens\n\n| authentication | meaning |\n|---|---|\n";
    for (name, scheme) in source.security_schemes() {
        let _ = writeln!(page, "| `{name}` | {} |", one_line(text(scheme, "description")));
    }
    page += &scopes::render(source);
    for area in &source.areas {
        let _ = write!(page, "\n## {}\n\n{}", text(area, "name"), text(area, "description"));
        let errors = schema::content(&area["errors"]);
        let _ =
            write!(page, "\nErrors are {errors}. Every endpoint of this section can return:\n\n");
        page += &operation::responses(&area["responses"]);
        for (path, item) in source::described_paths(area) {
            page += &operation::render(path, item);
        }
    }
    page += "\n## Schemas\n";
    for (name, schema) in source.schemas() {
        page += &schema::render(name, schema);
    }
    page
}

/// Returns the text without line breaks, for a table cell.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_area_operation_scope_and_schema() {
        let page = render(&Source::read().unwrap());
        for part in [
            "\n## Push rules\n",
            "\n### Create or replace a rule\n",
            "`PUT /{segment}/client/{api}/pushrules/{scope}/{kind}/{rule_id}`",
            "\n### NewRule\n",
            "| `push` |",
            "any method",
            "| `push` | users, apps | all of `read:notifications`, `write:notifications` |",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }
}
