//! Finds import cycles between the modules of a crate, from the `use` declarations and paths in its source. Each module
//! counts as one node with all modules inside it, and the modules beside it must not form a circle. A parent may use its
//! child, and a child may use its parent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module by its path from the crate root: `["http", "stream"]`. The root is empty.
type Module = Vec<String>;

/// Groups of modules that use each other in a circle, each with the modules inside it.
pub(crate) fn cycles(root: &Path, files: &[PathBuf]) -> Vec<Vec<String>> {
    let modules: BTreeMap<Module, String> = files
        .iter()
        .filter(|path| !is_test(path))
        .map(|path| {
            (
                module(root, path),
                without_tests(&std::fs::read_to_string(path).unwrap()),
            )
        })
        .collect();
    let graph = sibling_graph(&modules);
    let mut found = Vec::new();
    let mut seen: BTreeSet<&[String]> = BTreeSet::new();
    for &start in graph.keys() {
        if seen.contains(start) {
            continue;
        }
        let forth = reachable(&graph, start);
        let circle: Vec<&[String]> = forth
            .iter()
            .copied()
            .filter(|other| reachable(&graph, other).contains(start))
            .collect();
        if circle.len() > 1 {
            seen.extend(&circle);
            found.push(circle.iter().map(|module| module.join("::")).collect());
        }
    }
    found
}

/// Modules, and which of the modules beside each of them it uses.
type SiblingGraph<'a> = BTreeMap<&'a [String], BTreeSet<&'a [String]>>;

/// The graph of all modules that have the same parent, for each parent. What is used inside a module counts as used by
/// the module.
fn sibling_graph(modules: &BTreeMap<Module, String>) -> SiblingGraph<'_> {
    let mut graph = SiblingGraph::new();
    for (from, text) in modules {
        for to in uses(modules, from, text) {
            let level = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            let [from, to] = [from, to].map(|module| &module[..=level]);
            graph.entry(from).or_default().insert(to);
            graph.entry(to).or_default();
        }
    }
    graph
}

/// All modules that a module leads to. The module itself is included only if a path leads back to it.
fn reachable<'a>(graph: &SiblingGraph<'a>, start: &'a [String]) -> BTreeSet<&'a [String]> {
    let (mut found, mut next) = (BTreeSet::new(), vec![start]);
    while let Some(module) = next.pop() {
        next.extend(
            graph[module]
                .iter()
                .filter(|other| found.insert(**other))
                .copied(),
        );
    }
    found
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs")
}

fn module(root: &Path, path: &Path) -> Module {
    let inner = path.strip_prefix(root).unwrap().with_extension("");
    let mut parts: Module = inner
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect();
    if parts.len() == 1 && (parts[0] == "lib" || parts[0] == "main") {
        parts.clear();
    }
    parts
}

/// The source without comments and without its test module.
fn without_tests(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The other modules that a module names, except those around it and inside it.
fn uses<'a>(
    modules: &'a BTreeMap<Module, String>,
    from: &Module,
    text: &str,
) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    for path in paths(text) {
        let Some(target) = resolve(modules, from, &path) else {
            continue;
        };
        if !target.starts_with(from) && !from.starts_with(target) {
            found.insert(target);
        }
    }
    found
}

/// The paths in a source that begin at the crate or at the module itself. Groups are expanded.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for keyword in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(keyword) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            expand(&text[at..], &mut Vec::new(), &mut found);
        }
    }
    found
}

/// Reads one path, and follows each branch of a `{…}` group. Returns the rest of the text.
fn expand<'a>(
    mut text: &'a str,
    prefix: &mut Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> &'a str {
    let depth = prefix.len();
    loop {
        text = text.trim_start();
        if let Some(mut inner) = text.strip_prefix('{') {
            loop {
                inner = expand(inner, prefix, found).trim_start();
                let Some(rest) = inner.strip_prefix(',') else {
                    break;
                };
                inner = rest;
            }
            prefix.truncate(depth);
            return inner.trim_start().strip_prefix('}').unwrap_or(inner);
        }
        let end = text
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        prefix.push(text[..end].to_owned());
        text = &text[end..];
        match text.strip_prefix("::") {
            Some(rest) => text = rest,
            None => break,
        }
    }
    found.push(prefix.clone());
    prefix.truncate(depth);
    // `name as other`
    let rest = text.trim_start();
    rest.strip_prefix("as ").map_or(text, |rest| {
        rest.trim_start()
            .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
    })
}

/// The innermost module that a path names.
fn resolve<'a>(
    modules: &'a BTreeMap<Module, String>,
    from: &Module,
    path: &[String],
) -> Option<&'a Module> {
    let mut at = from.clone();
    let mut parts = path.iter();
    let mut rest: Vec<&String> = Vec::new();
    for part in parts.by_ref() {
        match part.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => _ = at.pop(),
            _ => {
                rest.push(part);
                break;
            }
        }
    }
    rest.extend(parts);
    for part in rest {
        at.push(part.clone());
        if !modules.contains_key(&at) {
            at.pop();
            break;
        }
    }
    modules.get_key_value(&at).map(|(module, _)| module)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&[&str]]) {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = files
            .iter()
            .map(|(name, text)| {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, text).unwrap();
                path
            })
            .collect();
        assert_eq!(cycles(folder.path(), &paths), expected);
    }

    #[test]
    fn finds_cycles_through_groups_and_paths() {
        check(&[("a.rs", "use super::b::X;"), ("b.rs", "fn f() {}")], &[]);
        check(
            &[
                ("a.rs", "use super::b::X;"),
                ("b.rs", "use crate::{c::Y, a::{Z, self as q}};"),
                ("c.rs", ""),
            ],
            &[&["a", "b"]],
        );
        check(
            &[
                ("a.rs", "fn f() { crate::b::g() }"),
                ("b.rs", "use super::c;"),
                ("c.rs", "use super::a;"),
            ],
            &[&["a", "b", "c"]],
        );
        // What a child uses counts as used by its parent.
        check(
            &[
                ("a.rs", "mod x;"),
                ("a/x.rs", "use crate::b;"),
                ("b.rs", "use super::c;"),
                ("c.rs", "use super::a;"),
            ],
            &[&["a", "b", "c"]],
        );
        check(
            &[
                ("a.rs", ""),
                ("a/x.rs", "use super::y::inner;"),
                ("a/x/inner.rs", ""),
                ("a/y.rs", ""),
                ("a/y/inner.rs", "use crate::a::x::inner;"),
            ],
            &[&["a::x", "a::y"]],
        );
        // A parent and its child may use each other, and tests do not count.
        check(
            &[("a.rs", "use self::b::X;"), ("a/b.rs", "use super::Y;")],
            &[],
        );
        check(
            &[
                ("a.rs", "use super::b::X;"),
                ("b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a;\n}"),
            ],
            &[],
        );
    }
}
