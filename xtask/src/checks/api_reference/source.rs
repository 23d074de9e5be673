//! The OpenAPI files in `server/openapi/`.

use std::error::Error;
use std::fs;

use serde_json::Value;

use crate::cargo;

/// The names of the OpenAPI files, in the order of their sections in `docs/api.md`. The server embeds
/// the same files.
const AREAS: [&str; 9] = [
    "push_rules",
    "evaluation",
    "matrix",
    "oauth",
    "pages",
    "mastodon",
    "admin",
    "gateway",
    "server",
];

/// The parsed files.
pub(super) struct OpenApiFiles {
    /// The file with the parts that all areas share.
    pub base: Value,
    pub areas: Vec<Value>,
}

impl OpenApiFiles {
    pub(super) fn read() -> Result<Self, Box<dyn Error>> {
        let areas = AREAS.iter().map(|name| parse_file(name)).collect::<Result<_, _>>()?;
        Ok(Self { base: parse_file("base")?, areas })
    }

    pub(super) fn security_schemes(&self) -> impl Iterator<Item = (&str, &Value)> {
        entries(&self.base["securitySchemes"])
    }

    /// Returns the schemas of all files.
    pub(super) fn schemas(&self) -> impl Iterator<Item = (&str, &Value)> {
        let files = self.areas.iter().chain([&self.base]);
        let mut schemas: Vec<_> = files.flat_map(|file| entries(&file["schemas"])).collect();
        schemas.sort_by_key(|(name, _)| *name);
        schemas.into_iter()
    }
}

fn parse_file(name: &str) -> Result<Value, Box<dyn Error>> {
    let path = cargo::root().join("server/openapi").join(name).with_extension("yaml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(serde_saphyr::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// Returns the paths of an area, without those for devices, which differ from the others only in
/// their rule scope.
pub(super) fn described_paths(area: &Value) -> impl Iterator<Item = (&str, &Value)> {
    entries(&area["paths"]).filter(|(path, _)| !path.contains("/device/{profile_tag}/"))
}

/// Returns the members of an object.
pub(super) fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// Returns the items of an array.
pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a string field, which is empty if it is missing.
pub(super) fn string_field<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
