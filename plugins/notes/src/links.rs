//! Finds the notes that links lead to.

use std::collections::HashMap;

use provider_support::uri;

use crate::note::Link;
use crate::vault::Path;

/// All notes, by path and by name.
pub(crate) struct Resolver<'a> {
    paths: HashMap<String, usize>,
    names: HashMap<String, usize>,
    all: &'a [Path],
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(all: &'a [Path]) -> Self {
        let (mut paths, mut names) = (HashMap::new(), HashMap::<String, usize>::new());
        for (at, path) in all.iter().enumerate() {
            paths.insert(path.join("/"), at);
            let name = path
                .last()
                .map(|name| name.to_lowercase())
                .unwrap_or_default();
            // Of several notes with the same name, a link without a path leads to the one nearest to the top.
            let nearest = names.entry(name).or_insert(at);
            if path.len() < all[*nearest].len() {
                *nearest = at;
            }
        }
        Self { paths, names, all }
    }

    /// The note to which a link leads, or the path at which there is no note.
    pub(crate) fn resolve(&self, from: &[String], link: &Link) -> Result<&'a Path, String> {
        let target = link.target.split(['#', '?']).next().unwrap_or_default();
        let target = uri::decode(target).unwrap_or_default();
        let target = target.strip_suffix(".md").unwrap_or(&target);
        let found = if link.is_wiki {
            let by_name = || self.names.get(&target.to_lowercase());
            self.paths.get(target).or_else(by_name)
        } else {
            absolute(from, target).and_then(|path| self.paths.get(&path))
        };
        found
            .map(|at| &self.all[*at])
            .ok_or_else(|| target.to_owned())
    }
}

/// The absolute form of a relative path in a note. `None` if the path leads out of the folder of the notes.
fn absolute(from: &[String], target: &str) -> Option<String> {
    let folder = from
        .split_last()
        .map(|(_, folder)| folder)
        .unwrap_or_default();
    let mut path: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => folder.iter().map(String::as_str).collect(),
    };
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(path.pop()?),
            name => path.push(name),
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_paths_and_names() {
        let path = |text: &str| text.split('/').map(str::to_owned).collect::<Path>();
        let all = ["a", "in/b", "in/deep/c", "in/deep/a", "x y", "z/c"].map(path);
        let resolver = Resolver::new(&all);
        let check = |target: &str, is_wiki, expected: Result<&str, &str>| {
            let link = Link {
                target: target.to_owned(),
                is_wiki,
                is_embed: false,
            };
            let found = resolver
                .resolve(&path("in/b"), &link)
                .map(|path| path.join("/"));
            assert_eq!(
                found,
                expected.map(str::to_owned).map_err(str::to_owned),
                "{target}"
            );
        };
        check("deep/c.md", false, Ok("in/deep/c"));
        check("./deep/c#part", false, Ok("in/deep/c"));
        check("../a.md", false, Ok("a"));
        check("/a.md", false, Ok("a"));
        check("../x%20y.md", false, Ok("x y"));
        check("a.md", false, Err("a"));
        check("../../a.md", false, Err("../../a"));
        check("C", true, Ok("z/c"));
        check("a", true, Ok("a"));
        check("in/deep/a", true, Ok("in/deep/a"));
        check("none", true, Err("none"));
    }
}
