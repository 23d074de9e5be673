//! Import cycles between the modules of each crate.
//!
//! A module is a file. Siblings, each taken together with its descendants, must not form a cycle,
//! so a crate can be read from the bottom up at every level. A parent and its descendants may name
//! each other. Paths are read from the source: `use` declarations, and paths in expressions and
//! types that begin with `crate`, `self`, `super`, a child module or an imported name. A name that
//! another module re-exports counts as an import of the module that defines it. Test code is
//! ignored.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::Path;

use self::source::SourceFile;
use super::sources::rust_files_in;
use crate::cargo;

/// A module path without the crate name; empty for the crate root.
type Module = Vec<String>;

/// Siblings that import each other, directly or through their descendants.
struct Cycle {
    parent: Module,
    members: BTreeSet<String>,
    imports: Vec<Import>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Import {
    from: String,
    to: String,
    module: Module,
    line: usize,
}

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let mut cycle_count = 0;
    for package in cargo::package_dirs()? {
        let name = package.file_name().unwrap_or_default().to_string_lossy();
        for cycle in find_sibling_cycles(&read_crate(&package.join("src"))?) {
            println!("{}", cycle.describe(&name));
            cycle_count += 1;
        }
    }
    Ok(cycle_count == 0)
}

impl Cycle {
    /// Returns the parent and the members: `server::http: account, api`.
    fn title(&self, package: &str) -> String {
        let parent = [&[package.to_owned()], self.parent.as_slice()].concat().join("::");
        let members: Vec<&str> = self.members.iter().map(String::as_str).collect();
        format!("{parent}: {}", members.join(", "))
    }

    /// Returns the title and the imports between the members.
    fn describe(&self, package: &str) -> String {
        let imports = self.imports.iter().map(|Import { from, to, module, line }| {
            format!("    {from} -> {to}: {package}/src/{}.rs:{line}", module.join("/"))
        });
        [self.title(package)].into_iter().chain(imports).collect::<Vec<_>>().join("\n")
    }
}

/// Parses the modules of a crate without its test modules: the library, or the binary `main` if
/// there is no library.
fn read_crate(src: &Path) -> Result<BTreeMap<Module, SourceFile>, Box<dyn Error>> {
    let mut modules = BTreeMap::new();
    let root = if src.join("lib.rs").is_file() { "lib" } else { "main" };
    for file in rust_files_in(src)? {
        let path = file.strip_prefix(src)?.with_extension("");
        let mut module: Module =
            path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        match module.first().map(String::as_str) {
            Some(first) if first == root => module.clear(),
            // Other binaries have one file each and import the library as an external crate.
            Some("main" | "bin") => continue,
            _ => {}
        }
        modules.insert(module, SourceFile::parse(&fs::read_to_string(&file)?));
    }
    Ok(remove_tests(modules))
}

/// Removes modules that are declared with `#[cfg(test)]`, and their descendants.
fn remove_tests(mut modules: BTreeMap<Module, SourceFile>) -> BTreeMap<Module, SourceFile> {
    let test_modules: Vec<Module> = modules
        .iter()
        .flat_map(|(module, source)| {
            source
                .test_modules
                .iter()
                .map(|name| [module.as_slice(), std::slice::from_ref(name)].concat())
        })
        .collect();
    modules.retain(|module, _| !test_modules.iter().any(|test| module.starts_with(test)));
    modules
}

/// Returns the cycles among the children of each module.
fn find_sibling_cycles(modules: &BTreeMap<Module, SourceFile>) -> Vec<Cycle> {
    let mut imports_by_parent: BTreeMap<Module, BTreeSet<Import>> = BTreeMap::new();
    for (module, source) in modules {
        let mut targets: BTreeMap<Module, usize> = BTreeMap::new();
        for (path, line) in &source.paths {
            if let Some(target) = resolve(modules, module, path, 0) {
                targets.entry(target).or_insert(*line);
            }
        }
        for (target, line) in targets {
            let common_depth = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            // Neither of the two is an ancestor of the other.
            if let (Some(from), Some(to)) = (module.get(common_depth), target.get(common_depth)) {
                let from = from.clone();
                let to = to.clone();
                let import = Import { from, to, module: module.clone(), line };
                imports_by_parent
                    .entry(module[..common_depth].to_vec())
                    .or_default()
                    .insert(import);
            }
        }
    }
    let mut cycles = vec![];
    for (parent, imports) in imports_by_parent {
        let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for Import { from, to, .. } in &imports {
            edges.entry(from).or_default().insert(to);
        }
        for members in find_cycles(&edges) {
            let is_inside = |import: &&Import| {
                members.contains(import.from.as_str()) && members.contains(import.to.as_str())
            };
            cycles.push(Cycle {
                parent: parent.clone(),
                members: members.iter().map(|&member| member.to_owned()).collect(),
                imports: imports.iter().filter(is_inside).cloned().collect(),
            });
        }
    }
    cycles
}

/// Returns the module that defines the item at this path, as seen from a module; `None` if it is in
/// another crate.
fn resolve(
    modules: &BTreeMap<Module, SourceFile>,
    from: &Module,
    path: &[String],
    depth: usize,
) -> Option<Module> {
    let (first, mut rest) = path.split_first()?;
    let mut module = match first.as_str() {
        "crate" => vec![],
        "self" => from.clone(),
        "super" => from[..from.len().checked_sub(1)?].to_vec(),
        name => {
            let child = [from.as_slice(), &[name.to_owned()]].concat();
            if !modules.contains_key(&child) {
                let imported_path = modules.get(from)?.names.get(name).filter(|_| depth < 16)?;
                return resolve(
                    modules,
                    from,
                    &[imported_path.as_slice(), rest].concat(),
                    depth + 1,
                );
            }
            child
        }
    };
    while let Some((name, tail)) = rest.split_first() {
        let child = [module.as_slice(), std::slice::from_ref(name)].concat();
        if name == "super" {
            module.pop()?;
        } else if modules.contains_key(&child) {
            module = child;
        } else {
            let imported_path = modules.get(&module)?.names.get(name).filter(|_| depth < 16);
            let Some(imported_path) = imported_path else { break };
            let full_path = [imported_path.as_slice(), tail].concat();
            return resolve(modules, &module, &full_path, depth + 1);
        }
        rest = tail;
    }
    Some(module)
}

/// Returns each set of two or more nodes that reach each other.
fn find_cycles<N: Ord + Clone>(edges: &BTreeMap<N, BTreeSet<N>>) -> Vec<BTreeSet<N>> {
    let mut cycles: Vec<BTreeSet<N>> = vec![];
    for node in edges.keys() {
        if cycles.iter().any(|cycle| cycle.contains(node)) {
            continue;
        }
        let mut cycle = reachable(edges, node);
        cycle.retain(|other| reachable(edges, other).contains(node));
        if cycle.len() > 1 {
            cycles.push(cycle);
        }
    }
    cycles
}

/// Returns the nodes that can be reached from this one.
fn reachable<N: Ord + Clone>(edges: &BTreeMap<N, BTreeSet<N>>, start: &N) -> BTreeSet<N> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![start];
    while let Some(node) = pending.pop() {
        for next in edges.get(node).into_iter().flatten() {
            if reached.insert(next.clone()) {
                pending.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str) -> Module {
        name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    type Files<'a> = &'a [(&'a str, &'a str)];

    fn cycle_titles(files: Files<'_>) -> Vec<String> {
        let modules = remove_tests(
            files.iter().map(|(name, text)| (module(name), SourceFile::parse(text))).collect(),
        );
        find_sibling_cycles(&modules).iter().map(|cycle| cycle.title("x")).collect()
    }

    #[test]
    fn cycles_between_siblings_or_their_descendants_are_found() {
        let cases: &[(Files<'_>, &[&str])] = &[
            // A tree.
            (
                &[
                    ("", "mod a; mod b; pub use a::A;"),
                    ("a", "use crate::b::B; use std::fmt;"),
                    ("b", "pub struct B;"),
                ],
                &[],
            ),
            // Two siblings.
            (&[("", ""), ("a", "use super::b::B;"), ("b", "use crate::a::{A, C};")], &["x: a, b"]),
            // A cycle between siblings through different descendants.
            (
                &[
                    ("", ""),
                    ("a", "mod y; mod z;"),
                    ("a::y", "use crate::b::B;"),
                    ("a::z", ""),
                    ("b", "use crate::a::z::Z;"),
                ],
                &["x: a, b"],
            ),
            // Siblings below the root, by paths in expressions and types.
            (
                &[
                    ("", ""),
                    ("p", ""),
                    ("p::a", ""),
                    ("p::a::x", "fn f() { crate::p::b::y::g() }"),
                    ("p::b", ""),
                    ("p::b::y", "use super::super::c::C;"),
                    ("p::c", "fn h() -> crate::p::a::x::X { todo!() }"),
                    ("q", "use crate::p::P;"),
                ],
                &["x::p: a, b, c"],
            ),
            // Paths that begin with an imported module.
            (
                &[
                    ("", ""),
                    ("p", ""),
                    ("p::a", "use crate::p; fn f() { p::b::g() }"),
                    ("p::b", "use super::a;"),
                ],
                &["x::p: a, b"],
            ),
            // A parent and its descendants may name each other.
            (
                &[
                    ("", "mod a; use a::A;"),
                    ("a", "mod x; use self::x::X; use x::y::Y;"),
                    ("a::x", "use super::A; use crate::Root;"),
                    ("a::x::y", "use super::super::A;"),
                ],
                &[],
            ),
            // A re-exported name counts as an import of the module that defines it.
            (
                &[
                    ("", ""),
                    ("p", "mod a; mod b; pub use self::a::A as Alias; use b::*;"),
                    ("p::a", "use super::b::B;"),
                    ("p::b", "use super::Alias;"),
                ],
                &["x::p: a, b"],
            ),
            // A macro is exported by `use`.
            (
                &[
                    ("", ""),
                    ("a", "macro_rules! m { () => {} } pub(crate) use m; use crate::b::B;"),
                    ("b", "use crate::a::m;"),
                ],
                &["x: a, b"],
            ),
            // Crates with the name of a module.
            (&[("", ""), ("a", "use ::b::B;"), ("b", "use crate::a::A; use a::A;")], &[]),
            // Two cycles at two levels.
            (
                &[
                    ("", ""),
                    ("a", ""),
                    ("a::x", "use super::y::Y; use crate::b::B;"),
                    ("a::y", "use super::x::X;"),
                    ("b", "use crate::a::x::X;"),
                    ("c", "use crate::a::A;"),
                ],
                &["x: a, b", "x::a: x, y"],
            ),
        ];
        for (files, expected) in cases {
            assert_eq!(cycle_titles(files), *expected, "{files:?}");
        }
    }

    #[test]
    fn test_code_comments_and_strings_are_ignored() {
        let files = [
            ("", ""),
            ("a", "// use crate::b::B;\nconst A: &str = \"crate::b::B\"; /* crate::b */"),
            (
                "b",
                "use crate::a::A;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { use crate::c::C; }",
            ),
            ("b::tests", "use crate::c::C;"),
            ("c", "use crate::b::B; const Q: char = '\"'; fn f<'a>(x: &'a str) {}"),
        ];
        assert_eq!(cycle_titles(&files), [""; 0]);
    }
}
