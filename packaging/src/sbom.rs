//! The software bill of materials, in CycloneDX's JSON format.

#![expect(clippy::doc_markdown, reason = "CycloneDX is a name")]

use serde_json::{Value, json};

use crate::PackagingError;
use crate::contents::Contents;
use crate::dependencies::{BinaryCrates, Crate, CrateId};

/// Returns the JSON document with the binary's components and how they depend on each other.
pub(crate) fn build(contents: &Contents, crates: &BinaryCrates) -> Result<Vec<u8>, PackagingError> {
    let is_belfry = |(name, _): &CrateId| name == "belfry";
    let (programs, libraries): (Vec<_>, Vec<_>) =
        crates.0.iter().partition(|(id, _)| is_belfry(id));
    let (id, belfry) = programs.first().ok_or("cargo does not list belfry")?;
    let mut program = component("application", id, belfry);
    program["description"] = contents.summary.as_str().into();
    let bom = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": contents.date,
            "tools": { "components": [{ "type": "application", "name": "cargo xtask dist" }] },
            "component": program,
        },
        "components": libraries
            .iter()
            .map(|(id, library)| component("library", id, library))
            .collect::<Vec<_>>(),
        "dependencies": crates.0
            .iter()
            .map(|(id, dependency)| {
                let depends_on: Vec<_> = dependency.dependencies.iter().map(package_url).collect();
                json!({ "ref": package_url(id), "dependsOn": depends_on })
            })
            .collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_vec_pretty(&bom)?;
    text.push(b'\n');
    Ok(text)
}

fn component(kind: &str, id: &CrateId, dependency: &Crate) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": package_url(id),
        "name": id.0,
        "version": id.1,
        "purl": package_url(id),
        "licenses": [{ "expression": dependency.licence }],
    });
    if let Some(checksum) = &dependency.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(url) = &dependency.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": url }]);
    }
    component
}

/// Returns the package URL, which identifies a crate in other tools.
fn package_url((name, version): &CrateId) -> String {
    // The plus sign before build metadata must be escaped.
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}
