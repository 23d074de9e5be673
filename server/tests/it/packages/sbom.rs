//! The software bill of materials.

use std::collections::{BTreeSet, HashSet};
use std::fs;

use serde_json::Value;

use super::{VERSION, packages};
use crate::interop::python;

/// Validates the file against the official schema, with the library of its authors.
const VALIDATE_SCRIPT: &str = r"
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
errors = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
assert errors is None, str(errors)[:1000]
";

#[test]
#[ignore = "long: builds the packages"]
fn the_sbom_matches_the_official_schema() {
    python::run_script(VALIDATE_SCRIPT, &[packages().sbom.to_str().unwrap()]);
}

#[test]
#[ignore = "long: builds the packages"]
fn the_sbom_lists_the_crates_in_the_binary() {
    let bom: Value = serde_json::from_slice(&fs::read(&packages().sbom).unwrap()).unwrap();
    let belfry = &bom["metadata"]["component"];
    assert_eq!(belfry["purl"], format!("pkg:cargo/belfry@{VERSION}"));
    let components = bom["components"].as_array().unwrap();
    let names: BTreeSet<&str> =
        components.iter().map(|component| component["name"].as_str().unwrap()).collect();
    for name in ["belfry-core", "tokio", "rusqlite", "libsqlite3-sys", "ring", "mimalloc"] {
        assert!(names.contains(name), "{name} in {names:?}");
    }
    for name in ["belfry", "reqwest", "xtask", "packaging", "proptest"] {
        assert!(!names.contains(name), "{name}: for development only");
    }
    for component in components {
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
        let is_workspace_crate = component["name"] == "belfry-core";
        assert_eq!(component["hashes"][0]["alg"] == "SHA-256", !is_workspace_crate, "{component}");
    }

    let references: HashSet<&Value> =
        components.iter().chain([belfry]).map(|component| &component["bom-ref"]).collect();
    let dependencies = bom["dependencies"].as_array().unwrap();
    assert_eq!(dependencies.len(), references.len());
    for dependency in dependencies {
        assert!(references.contains(&dependency["ref"]), "{dependency}");
        let depends_on = dependency["dependsOn"].as_array().unwrap();
        assert!(depends_on.iter().all(|reference| references.contains(reference)), "{dependency}");
    }
}
