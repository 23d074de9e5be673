//! Import cycles between the modules of a crate.
//!
//! A module is a file. A parent and its descendants may name each other. All other modules must not
//! form a cycle, so that a crate can be read from the bottom up. Paths are read from the source:
//! `use` declarations and paths that begin with `crate`, `self` or `super`. A name that another
//! module re-exports counts as an import of the module that defines it. Test code is ignored.

mod graph;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::Path;

use self::graph::find_cycles;
use self::source::Source;
use super::sources::rust_files_in;
use crate::cargo;

/// The path of a module without the name of the crate; empty for the crate root.
type Module = Vec<String>;

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let mut count = 0;
    for package in ["core", "limits", "runtime", "server", "store"] {
        for cycle in find_cycles(&imports(&read_crate(&cargo::root().join(package).join("src"))?)) {
            println!("{package}: {}", describe(&cycle));
            count += 1;
        }
    }
    Ok(count == 0)
}

/// Describes a cycle as `a -> b -> a`.
fn describe(cycle: &[Module]) -> String {
    let names = cycle.iter().chain(cycle.first()).map(|module| module.join("::"));
    names.collect::<Vec<_>>().join(" -> ")
}

/// Parses all modules of a library crate.
fn read_crate(src: &Path) -> Result<BTreeMap<Module, Source>, Box<dyn Error>> {
    let mut modules = BTreeMap::new();
    for file in rust_files_in(src)? {
        let path = file.strip_prefix(src)?.with_extension("");
        let mut module: Module =
            path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        match module.last().map(String::as_str) {
            Some("main") if module.len() == 1 => continue,
            Some("lib") if module.len() == 1 => module.clear(),
            Some("mod") => drop(module.pop()),
            _ => {}
        }
        modules.insert(module, Source::parse(&fs::read_to_string(&file)?));
    }
    Ok(without_tests(modules))
}

/// Removes modules that are declared with `#[cfg(test)]`, and their descendants.
fn without_tests(mut modules: BTreeMap<Module, Source>) -> BTreeMap<Module, Source> {
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

/// Returns the imports of each module, without those between ancestors and descendants.
fn imports(modules: &BTreeMap<Module, Source>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut imports: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, source) in modules {
        let targets = source.paths.iter().filter_map(|path| resolve(modules, module, path, 0));
        let targets = targets.filter(|to| !to.starts_with(module) && !module.starts_with(to));
        imports.insert(module.clone(), targets.collect());
    }
    imports
}

/// Returns the module that defines the item at this path, as seen from a module; `None` if it is in
/// another crate.
fn resolve(
    modules: &BTreeMap<Module, Source>,
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
            modules.contains_key(&child).then_some(child)?
        }
    };
    while let Some((name, tail)) = rest.split_first() {
        let child = [module.as_slice(), std::slice::from_ref(name)].concat();
        if name == "super" {
            module.pop()?;
        } else if modules.contains_key(&child) {
            module = child;
        } else {
            let imported = modules.get(&module)?.names.get(name).filter(|_| depth < 16);
            let Some(imported) = imported else { break };
            let full = [imported.as_slice(), tail].concat();
            return resolve(modules, &module, &full, depth + 1);
        }
        rest = tail;
    }
    Some(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str) -> Module {
        name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let modules = files.iter().map(|(name, text)| (module(name), Source::parse(text)));
        let modules = without_tests(modules.collect());
        find_cycles(&imports(&modules)).iter().map(|cycle| describe(cycle)).collect()
    }

    #[test]
    fn a_tree_has_no_cycle() {
        let files = [
            ("", "mod a; mod b; pub use a::A;"),
            ("a", "use crate::b::B; use std::fmt;"),
            ("b", "pub struct B;"),
        ];
        assert_eq!(cycles(&files), [""; 0]);
    }

    #[test]
    fn siblings_that_import_each_other_are_a_cycle() {
        let files = [("", ""), ("a", "use super::b::B;"), ("b", "use crate::a::{A, C};")];
        assert_eq!(cycles(&files), ["a -> b -> a"]);
    }

    #[test]
    fn a_cycle_may_have_cousins_and_paths_in_expressions() {
        let files = [
            ("", ""),
            ("a", ""),
            ("a::x", "fn f() { crate::b::y::g() }"),
            ("b", ""),
            ("b::y", "use super::super::c::C;"),
            ("c", "fn h() -> crate::a::x::X { todo!() }"),
        ];
        assert_eq!(cycles(&files), ["a::x -> b::y -> c -> a::x"]);
    }

    #[test]
    fn a_parent_and_its_descendants_may_name_each_other() {
        let files = [
            ("", "mod a; use a::A;"),
            ("a", "mod x; use self::x::X; use x::y::Y;"),
            ("a::x", "use super::A; use crate::Root;"),
            ("a::x::y", "use super::super::A;"),
        ];
        assert_eq!(cycles(&files), [""; 0]);
    }

    #[test]
    fn a_re_exported_name_counts_for_the_module_that_defines_it() {
        let files = [
            ("", ""),
            ("p", "mod a; mod b; pub use self::a::A as Alias; use b::*;"),
            ("p::a", "use super::b::B;"),
            ("p::b", "use super::Alias;"),
        ];
        assert_eq!(cycles(&files), ["p::a -> p::b -> p::a"]);
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
        assert_eq!(cycles(&files), [""; 0]);
    }
}
