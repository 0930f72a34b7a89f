//! `[development]` in `larder-dev.toml`: a component that only `larder dev` uses. The component loads the program when
//! a guest starts, so that no new component is built after a save.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::are_commands;
use crate::Diagnostic;

/// How the development component of a project is built, and which program it loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Development {
    /// The commands that build the development component.
    pub build: Vec<Vec<String>>,
    /// The development component.
    pub component: PathBuf,
    /// Files and folders that the component contains: their changes cause a new build of the component.
    pub base: Vec<String>,
    /// Commands that run after each save. They prepare the program.
    pub prepare: Vec<Vec<String>>,
    /// The folder with the program, which the component loads when a guest starts.
    pub program: PathBuf,
}

/// The section in the form of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct DevelopmentSection {
    build: Vec<Vec<String>>,
    component: Option<PathBuf>,
    base: Vec<String>,
    prepare: Vec<Vec<String>>,
    program: Option<PathBuf>,
}

impl DevelopmentSection {
    /// Converts the section. `deployed` is the component that the project deploys.
    pub(super) fn convert(
        self,
        folder: &Path,
        deployed: &Path,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Development> {
        let before = diagnostics.len();
        let mut report = |key: &str, message: &str| {
            let key = format!("development.{key}");
            diagnostics.push(Diagnostic::without_line(key, message));
        };
        if !are_commands(&self.build) {
            report(
                "build",
                "specify the commands that build the development component",
            );
        }
        if self.prepare.iter().any(Vec::is_empty) {
            report("prepare", "a command has no words");
        }
        let component = self.component.map(|component| folder.join(component));
        match &component {
            None => report(
                "component",
                "specify the file that `development.build` creates",
            ),
            Some(component) if *component == folder.join(deployed) => {
                report(
                    "component",
                    "it must not be the file of `component`, which you deploy",
                );
            }
            Some(_) => {}
        }
        let component = component.filter(|_| diagnostics.len() == before)?;
        Some(Development {
            build: self.build,
            component,
            base: self.base,
            prepare: self.prepare,
            program: self
                .program
                .map_or_else(|| folder.to_owned(), |program| folder.join(program)),
        })
    }
}
