//! `larder bindings`: writes bindings of the contract for a language into a folder.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::error::CommandError;
use super::{Outcome, out};
use larder_author::{self as author, Ability, BindingsLanguage};

/// Write bindings of the contract for C or Go, or the contract itself
///
/// Replaces files of the same name and leaves all others unchanged.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  larder bindings c -o bindings          provider.h, provider.c, and an object with the types to link
  larder bindings c --with tools,prompts the same, for a provider that also offers tools and prompts
  larder bindings go -o bindings         packages, and the runtime module that they import
  larder bindings wit -o wit             WIT files for componentize-py, componentize-qjs, jco and others")]
pub(super) struct Bindings {
    /// The language
    language: LanguageArg,
    /// The folder to write to
    #[arg(long, short, value_name = "DIR", default_value = "bindings")]
    output: PathBuf,
    /// Interfaces that the provider exports in addition to resources (c and go)
    #[arg(long = "with", value_name = "ABILITY", value_delimiter = ',')]
    abilities: Vec<AbilityArg>,
    /// The import path of DIR (go) [default: derived from the go.mod in or above DIR]
    #[arg(long, value_name = "PATH")]
    package: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LanguageArg {
    C,
    Go,
    /// The contract itself: worlds `provider`, `full-provider` and `interactive-provider`
    Wit,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AbilityArg {
    Completions,
    Versions,
    Tools,
    Prompts,
    Search,
    Settings,
}

impl Bindings {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let folder = self.output;
        let language = match self.language {
            LanguageArg::C => BindingsLanguage::C,
            LanguageArg::Wit => BindingsLanguage::Wit,
            LanguageArg::Go => BindingsLanguage::Go {
                package: self.package.map_or_else(|| import_path(&folder), Ok)?,
            },
        };
        let mut abilities: Vec<_> = self.abilities.into_iter().map(Ability::from).collect();
        abilities.sort();
        abilities.dedup();
        let files = author::bindings(&language, &abilities)?;
        author::write_into(&folder, &files)?;
        for name in files.keys() {
            out::text(&format!("{}\n", folder.join(name).display()))?;
        }
        if matches!(self.language, LanguageArg::Go) {
            print_go_mod_command(&folder);
        }
        Ok(Outcome::Success)
    }
}

impl From<AbilityArg> for Ability {
    fn from(ability: AbilityArg) -> Self {
        match ability {
            AbilityArg::Completions => Self::Completions,
            AbilityArg::Versions => Self::Versions,
            AbilityArg::Tools => Self::Tools,
            AbilityArg::Prompts => Self::Prompts,
            AbilityArg::Search => Self::Search,
            AbilityArg::Settings => Self::Settings,
        }
    }
}

/// Prints the command that makes Go use the runtime module in the folder. Without this command, Go would fetch the
/// module.
fn print_go_mod_command(folder: &Path) {
    let module = "go.bytecodealliance.org/pkg";
    let pkg = folder.join("pkg");
    out::note("run this once in the folder of go.mod, with the path relative to it:");
    out::note(&format!(
        "  go mod edit -require={module}@v0.4.0 -replace={module}=./{}",
        pkg.display()
    ));
}

/// Returns the Go import path of a folder, which need not exist.
fn import_path(folder: &Path) -> Result<String, CommandError> {
    let full = canonical(folder).map_err(CommandError::input(folder))?;
    for root in full.ancestors() {
        let Ok(text) = std::fs::read_to_string(root.join("go.mod")) else {
            continue;
        };
        let named = text.lines().find_map(module_path);
        let below = full.strip_prefix(root).unwrap_or(&full);
        let words = below.iter().map(|word| word.to_string_lossy());
        return match named {
            Some(module) => Ok(std::iter::once(module.into())
                .chain(words)
                .collect::<Vec<_>>()
                .join("/")),
            None => Err(CommandError::NoModule(folder.to_owned())),
        };
    }
    Err(CommandError::NoModule(folder.to_owned()))
}

/// Returns the canonical form of a path whose last parts need not exist.
fn canonical(path: &Path) -> io::Result<PathBuf> {
    let full = std::path::absolute(path)?;
    let existing = full
        .ancestors()
        .find(|above| above.exists())
        .unwrap_or(&full);
    let rest = full.strip_prefix(existing).unwrap_or(Path::new(""));
    let mut canonical = existing.canonicalize()?;
    for word in rest {
        if word == ".." {
            canonical.pop();
        } else {
            canonical.push(word);
        }
    }
    Ok(canonical)
}

/// Returns the path in a `module` line of a go.mod. Go allows quotes, and a comment at the end.
fn module_path(line: &str) -> Option<&str> {
    let rest = line.split("//").next()?.trim().strip_prefix("module")?;
    let name = rest
        .strip_prefix([' ', '\t'])?
        .trim()
        .trim_matches(['"', '`']);
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_module_lines() {
        for (line, named) in [
            ("module example.dev/notes", Some("example.dev/notes")),
            (
                "module\texample.dev/notes // of all notes",
                Some("example.dev/notes"),
            ),
            ("  module \"notes\"// mine", Some("notes")),
            ("module `notes`", Some("notes")),
            ("module // nothing", None),
            ("// module notes", None),
            ("modules notes", None),
            ("require notes v1.0.0", None),
        ] {
            assert_eq!(module_path(line), named, "{line}");
        }
    }
}
