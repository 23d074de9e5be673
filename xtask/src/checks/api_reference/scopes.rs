//! The table of scopes: the roles that can grant them, and the endpoints that they allow.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::operation::{methods, name};
use super::source::{Source, described_paths, entries, items};

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

pub(super) fn render(source: &Source) -> String {
    let flow = &source.base["securitySchemes"]["oauth2"]["flows"]["authorizationCode"];
    let all = entries(&flow["scopes"]).map(|(scope, _)| (scope, endpoints(source, scope)));
    let (used, unused): (Vec<_>, Vec<_>) = all.partition(|(_, allowed)| !allowed.is_empty());
    let mut page = HEADER.to_owned();
    for (scope, allowed) in &used {
        // Narrower scopes are named instead of their endpoints.
        let narrower =
            used.iter().filter(|(_, other)| other != allowed && other.is_subset(allowed));
        let (names, covered): (Vec<_>, Vec<_>) =
            narrower.map(|(name, other)| (format!("`{name}`"), other)).unzip();
        let rest = allowed.iter().filter(|one| !covered.iter().any(|other| other.contains(*one)));
        let included = (!names.is_empty()).then(|| format!("all of {}", names.join(", ")));
        let cells: Vec<String> = included.into_iter().chain(rest.cloned()).collect();
        let granted_by = if scope.starts_with("admin:") { "admins" } else { "users, apps" };
        let _ = writeln!(page, "| `{scope}` | {granted_by} | {} |", cells.join("<br>"));
    }
    let unused: Vec<String> = unused.iter().map(|(scope, _)| format!("`{scope}`")).collect();
    let _ = write!(
        page,
        "\nNo endpoint here needs the other scopes, which are for servers behind the [gateway check](gateway.md): {}.\n",
        unused.join(", ")
    );
    page
}

/// Returns the endpoints that a scope allows.
fn endpoints(source: &Source, scope: &str) -> BTreeSet<String> {
    let mut allowed = BTreeSet::new();
    for (path, item) in source.areas.iter().flat_map(described_paths) {
        for (method, operation) in methods(item) {
            let mut required = items(&operation["security"]).flat_map(|one| items(&one["oauth2"]));
            if required.any(|one| one.as_str() == Some(scope)) {
                let path = path.replace("/{segment}/client/{api}", "…");
                allowed.insert(format!("`{}`", name(method, &path)));
            }
        }
    }
    allowed
}
