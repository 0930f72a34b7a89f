//! `larder bindings`: the contract in the words of a language, written into a folder.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::{Answer, out};
use crate::author::{self, Ability, Language};

/// Writes bindings of the contract for C or Go, or the contract itself
///
/// Files of the same names are replaced, and nothing else is touched.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  larder bindings c -o bindings          provider.h, provider.c and an object with the types: compile all three
  larder bindings go -o bindings         packages, and the module that they import
  larder bindings wit -o wit             for componentize-py, componentize-qjs, jco and others that read WIT")]
pub(super) struct Bindings {
    /// The language
    language: Kind,
    /// Where they are written
    #[arg(long, short, value_name = "DIR", default_value = "bindings")]
    output: PathBuf,
    /// What the provider exports beyond resources (c and go)
    #[arg(long = "with", value_name = "ABILITY", value_delimiter = ',')]
    abilities: Vec<With>,
    /// The import path of DIR (go) [default: what the go.mod in or above it says]
    #[arg(long, value_name = "PATH")]
    package: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    C,
    Go,
    /// The contract: worlds `provider` and `full-provider`
    Wit,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum With {
    Completions,
    Versions,
}

impl Bindings {
    pub(super) fn run(self) -> Result<Answer, Failure> {
        let folder = self.output;
        let language = match self.language {
            Kind::C => Language::C,
            Kind::Wit => Language::Wit,
            Kind::Go => Language::Go { package: self.package.map_or_else(|| package(&folder), Ok)? },
        };
        let mut abilities: Vec<_> = self.abilities.into_iter().map(Ability::from).collect();
        abilities.sort();
        abilities.dedup();
        let files = author::bindings(&language, &abilities)?;
        author::write_into(&folder, &files)?;
        for name in files.keys() {
            out::text(&format!("{}\n", folder.join(name).display()))?;
        }
        if matches!(self.language, Kind::Go) {
            advise(&folder);
        }
        Ok(Answer::Yes)
    }
}

impl From<With> for Ability {
    fn from(with: With) -> Self {
        match with {
            With::Completions => Self::Completions,
            With::Versions => Self::Versions,
        }
    }
}

/// Without this Go would look for the module elsewhere.
fn advise(folder: &Path) {
    let (module, pkg) = ("go.bytecodealliance.org/pkg", folder.join("pkg"));
    out::note("once, in the folder of go.mod, with the path as it is seen from there:");
    out::note(&format!("  go mod edit -require={module}@v0.4.0 -replace={module}=./{}", pkg.display()));
}

/// The import path of a folder, which may not be there yet.
fn package(folder: &Path) -> Result<String, Failure> {
    let full = real(folder).map_err(|error| Failure::Input { path: folder.to_owned(), error })?;
    for root in full.ancestors() {
        let Ok(text) = std::fs::read_to_string(root.join("go.mod")) else { continue };
        let named = text.lines().find_map(module);
        let below = full.strip_prefix(root).unwrap_or(&full);
        let words = below.iter().map(|word| word.to_string_lossy());
        return match named {
            Some(module) => Ok(std::iter::once(module.into()).chain(words).collect::<Vec<_>>().join("/")),
            None => Err(Failure::NoModule(folder.to_owned())),
        };
    }
    Err(Failure::NoModule(folder.to_owned()))
}

/// Where a path leads, though its end may not be there yet.
fn real(path: &Path) -> io::Result<PathBuf> {
    let full = std::path::absolute(path)?;
    let there = full.ancestors().find(|above| above.exists()).unwrap_or(&full);
    let rest = full.strip_prefix(there).unwrap_or(Path::new(""));
    let mut real = there.canonicalize()?;
    for word in rest {
        if word == ".." {
            real.pop();
        } else {
            real.push(word);
        }
    }
    Ok(real)
}

/// The path that such a line of a go.mod names. Go takes it with quotes, and with a comment behind it.
fn module(line: &str) -> Option<&str> {
    let rest = line.split("//").next()?.trim().strip_prefix("module")?;
    let name = rest.strip_prefix([' ', '\t'])?.trim().trim_matches(['"', '`']);
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_named_in_many_ways() {
        for (line, named) in [
            ("module example.dev/notes", Some("example.dev/notes")),
            ("module\texample.dev/notes // of all notes", Some("example.dev/notes")),
            ("  module \"notes\"// mine", Some("notes")),
            ("module `notes`", Some("notes")),
            ("module // nothing", None),
            ("// module notes", None),
            ("modules notes", None),
            ("require notes v1.0.0", None),
        ] {
            assert_eq!(module(line), named, "{line}");
        }
    }
}
