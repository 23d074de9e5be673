//! The table of scopes: the roles that can grant them, and the endpoints that they allow.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::operation::{endpoint_name, operations};
use super::source::{OpenApiFiles, described_paths, entries, items};

const HEADER: &str = "
## Scopes

An app declares its scopes when it registers, and requests some of them from a user. Users can grant all scopes
except those that begin with `admin:`, which only admins can grant. An app token can have the scopes that its
app declared, except `admin:` scopes; most endpoints need a user's token.
`belfry token issue NAME --scopes …` issues a token with any scopes that the account may grant.

A scope includes those that begin with it: `read` includes `read:accounts`. If an endpoint has several scopes,
one of them is enough. `…` stands for `/{segment}/client/{api}`.

| scope | granted by | endpoints |
|---|---|---|
";

pub(super) fn render(files: &OpenApiFiles) -> String {
    let flow = &files.base["securitySchemes"]["oauth2"]["flows"]["authorizationCode"];
    let scopes =
        entries(&flow["scopes"]).map(|(scope, _)| (scope, allowed_endpoints(files, scope)));
    let (used_scopes, unused_scopes): (Vec<_>, Vec<_>) =
        scopes.partition(|(_, endpoints)| !endpoints.is_empty());
    let mut page = HEADER.to_owned();
    for (scope, endpoints) in &used_scopes {
        // Narrower scopes are named instead of their endpoints.
        let narrower_scopes = used_scopes
            .iter()
            .filter(|(_, narrower)| narrower != endpoints && narrower.is_subset(endpoints));
        let (names, covered_sets): (Vec<_>, Vec<_>) =
            narrower_scopes.map(|(name, covered)| (format!("`{name}`"), covered)).unzip();
        let is_covered =
            |endpoint: &String| covered_sets.iter().any(|covered| covered.contains(endpoint));
        let other_endpoints = endpoints.iter().filter(|endpoint| !is_covered(endpoint));
        let included = (!names.is_empty()).then(|| format!("all of {}", names.join(", ")));
        let cells: Vec<String> = included.into_iter().chain(other_endpoints.cloned()).collect();
        let granted_by = if scope.starts_with("admin:") { "admins" } else { "users, apps" };
        let _ = writeln!(page, "| `{scope}` | {granted_by} | {} |", cells.join("<br>"));
    }
    let unused_names: Vec<String> =
        unused_scopes.iter().map(|(scope, _)| format!("`{scope}`")).collect();
    let _ = write!(
        page,
        "\nNo endpoint here needs the other scopes, which are for servers behind the [gateway check](gateway.md): {}.\n",
        unused_names.join(", ")
    );
    page
}

/// Returns the endpoints that a scope allows.
fn allowed_endpoints(files: &OpenApiFiles, scope: &str) -> BTreeSet<String> {
    let mut endpoints = BTreeSet::new();
    for (path, item) in files.areas.iter().flat_map(described_paths) {
        for (method, operation) in operations(item) {
            let mut required_scopes =
                items(&operation["security"]).flat_map(|requirement| items(&requirement["oauth2"]));
            if required_scopes.any(|required| required.as_str() == Some(scope)) {
                let path = path.replace("/{segment}/client/{api}", "…");
                endpoints.insert(format!("`{}`", endpoint_name(method, &path)));
            }
        }
    }
    endpoints
}
