//! Builds what is loaded: the component as it is deployed, or the development component with the program.

use std::path::Path;

use super::build;
use super::build_output::{BuildOutput, Component};
use super::development::DevelopmentBuilder;
use super::error::RebuildError;
use super::phases::Phases;
use super::sources::Snapshot;
use crate::cli::out;
use larder_config::Project;

pub(super) enum Builder {
    /// Builds the component as it is deployed.
    Packed,
    /// Builds the development component once, and provides the program to it.
    Development(Box<DevelopmentBuilder>),
}

impl Builder {
    /// Returns the builder for a project. The programs are copied into a separate folder.
    pub(super) fn new(project: &Project, programs: &Path, packed: bool) -> Self {
        match &project.development {
            Some(development) if !packed => Self::Development(Box::new(DevelopmentBuilder::new(
                development.clone(),
                programs.to_owned(),
            ))),
            _ => Self::Packed,
        }
    }

    /// Prepares a build of these files, and returns what has to be built. Also returns the files whose changes make the
    /// build outdated.
    pub(super) fn start(&mut self, project: &Project, files: &Snapshot) -> Snapshot {
        match self {
            Self::Packed => {
                out::note(&format!("larder: building {}", project.name));
                files.clone()
            }
            Self::Development(builder) => builder.start(project, files),
        }
    }

    pub(super) async fn build(
        &mut self,
        project: &Project,
        phases: &mut Phases,
    ) -> Result<BuildOutput, RebuildError> {
        match self {
            Self::Packed => {
                phases
                    .time("build", build::run(project, &project.build))
                    .await?;
                BuildOutput::new(project, Component::read(&project.component)?)
            }
            Self::Development(builder) => builder.build(project, phases).await,
        }
    }

    /// Records that the last output is served.
    pub(super) fn loaded(&mut self) {
        if let Self::Development(builder) = self {
            builder.loaded();
        }
    }

    /// Makes the next build create a new component. Returns false if the last build created a component, so that a new
    /// component would be the same.
    pub(super) fn require_new_component(&mut self) -> bool {
        match self {
            Self::Packed => false,
            Self::Development(builder) => builder.require_new_component(),
        }
    }
}
