//! `larder new`: creates a provider project.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::error::CommandError;
use super::{Outcome, out};
use larder_author::{self as author, Example, ProjectLanguage};

/// Create a provider project with a working example and a test
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  larder new notes --lang rust && larder dev notes
  larder new notes --lang python --interactive     also with a tool, a prompt, a search and a setting
  larder new sums --lang rust --kind function      functions that are tools, without the interfaces of Larder")]
pub(super) struct New {
    /// The name: lower-case letters, digits and `-`
    name: String,
    /// The programming language
    #[arg(long = "lang", value_name = "LANGUAGE")]
    language: LanguageArg,
    /// Begin with an example that also has a tool, a prompt, a search and a setting
    #[arg(long)]
    interactive: bool,
    /// What the component exports: the interfaces of Larder, or plain functions, which are tools (rust and python)
    #[arg(
        long,
        value_name = "KIND",
        default_value = "provider",
        conflicts_with = "interactive"
    )]
    kind: Kind,
    /// The folder to create [default: the name, in the working directory]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Provider,
    Function,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum LanguageArg {
    Rust,
    Python,
    #[value(alias = "js")]
    Javascript,
    #[value(alias = "ts")]
    Typescript,
    Go,
    C,
    #[value(alias = "c++")]
    Cpp,
}

impl New {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let folder = self.path.unwrap_or_else(|| PathBuf::from(&self.name));
        let example = match (self.kind, self.interactive) {
            (Kind::Function, _) => Example::Functions,
            (Kind::Provider, true) => Example::Interactive,
            (Kind::Provider, false) => Example::Resources,
        };
        author::scaffold(self.language.into(), example, &self.name, &folder)?;
        let folder = folder.display();
        out::note(&format!(
            "created {folder}; its README.md has the commands to install the tools, build and deploy"
        ));
        out::note(&format!(
            "run `larder dev {folder}` to build it on every save and serve it"
        ));
        Ok(Outcome::Success)
    }
}

impl From<LanguageArg> for ProjectLanguage {
    fn from(language: LanguageArg) -> Self {
        match language {
            LanguageArg::Rust => Self::Rust,
            LanguageArg::Python => Self::Python,
            LanguageArg::Javascript => Self::JavaScript,
            LanguageArg::Typescript => Self::TypeScript,
            LanguageArg::Go => Self::Go,
            LanguageArg::C => Self::C,
            LanguageArg::Cpp => Self::Cpp,
        }
    }
}
