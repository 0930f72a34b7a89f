//! `larder new`: a small provider, to be changed into one's own.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::{Answer, out};
use crate::author::{self, Kit};

/// Begins a provider: a small one that builds and is tested
#[derive(Debug, Args)]
#[command(after_help = "Example: larder new notes --lang rust && larder dev notes")]
pub(super) struct New {
    /// What it is called: lower-case letters, digits and `-`
    name: String,
    /// The language it is written in
    #[arg(long = "lang", value_name = "LANGUAGE")]
    language: Lang,
    /// The folder to make [default: the name, in the working directory]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Lang {
    Rust,
    Python,
    #[value(alias = "js")]
    Javascript,
    Go,
    C,
}

impl New {
    pub(super) fn run(self) -> Result<Answer, Failure> {
        let folder = self.path.unwrap_or_else(|| PathBuf::from(&self.name));
        author::scaffold(self.language.into(), &self.name, &folder)?;
        let folder = folder.display();
        out::note(&format!(
            "{folder} is a provider now; its README.md has the three commands to tools, build and use"
        ));
        out::note(&format!("`larder dev {folder}` builds it on every save, and serves it"));
        Ok(Answer::Yes)
    }
}

impl From<Lang> for Kit {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::Rust => Self::Rust,
            Lang::Python => Self::Python,
            Lang::Javascript => Self::JavaScript,
            Lang::Go => Self::Go,
            Lang::C => Self::C,
        }
    }
}
