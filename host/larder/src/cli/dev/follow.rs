//! Rebuilds a project after each change of its files.

use std::time::Duration;

use super::builder::Builder;
use super::error::RebuildError;
use super::loader::Loader;
use super::phases::Phases;
use super::report;
use super::sources::{self, Snapshot, Sources};
use crate::cli::error::CommandError;
use crate::cli::{Outcome, guest_stderr, out};
use larder_config::{self as config, Project};
use larder_model::name::ProviderName;

/// How many builds in a row are interrupted by changes before a warning.
const INTERRUPTIONS_BEFORE_WARNING: u32 = 3;
/// Maximum number of builds in a row that changes interrupt. After that, the next build waits until the files stop
/// changing, and is not interrupted.
const MAX_INTERRUPTIONS: u32 = 10;

/// Why a build takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Start,
    Change {
        /// The time since the save, if it is known.
        noticed: Option<Duration>,
    },
}

impl Cause {
    fn verb(self) -> &'static str {
        if self == Self::Start {
            "built"
        } else {
            "rebuilt"
        }
    }
}

/// How a rebuild ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rebuilt {
    Served {
        /// Whether nothing was omitted or changed.
        without_problem: bool,
    },
    Failed,
    /// The development component lacks a module that the program needs.
    Incomplete,
}

/// Builds and loads the component, and prints the result.
pub(super) async fn rebuild(
    project: &Project,
    builder: &mut Builder,
    loader: &mut Loader,
    cause: Cause,
) -> Result<Rebuilt, CommandError> {
    let mut phases = Phases::default();
    if let Cause::Change {
        noticed: Some(noticed),
    } = cause
    {
        phases.add("notice", noticed);
    }
    let loaded = async {
        let output = builder.build(project, &mut phases).await?;
        loader.load(&output, &mut phases).await
    };
    let error = match loaded.await {
        Ok(provider) => {
            builder.loaded();
            let verb = cause.verb();
            let without_problem =
                report::print(&project.name, &format!("{verb} in {phases}"), &provider)?;
            return Ok(Rebuilt::Served { without_problem });
        }
        Err(error) => error,
    };
    note_error(&project.name, &error);
    let is_incomplete = error.needs_new_component() && builder.require_new_component();
    Ok(if is_incomplete {
        Rebuilt::Incomplete
    } else {
        Rebuilt::Failed
    })
}

fn note_error(name: &ProviderName, error: &RebuildError) {
    out::note(&format!("larder: {error}"));
    if let RebuildError::Rejected { stderr, .. } = error {
        guest_stderr::note(name.as_str(), stderr);
    }
}

/// Builds and loads after every change. Returns only after an error.
pub(super) async fn follow(
    project: &Project,
    builder: &mut Builder,
    loader: &mut Loader,
) -> Result<Outcome, CommandError> {
    let mut sources = Sources::new(project);
    let mut base = sources.snapshot()?;
    let mut interruptions = 0;
    let mut cause = Cause::Start;
    loop {
        warn_of_changed_settings(project);
        // The NAME.toml of the project may have changed.
        if sources.set_written(&loader.writable_folders(project)) {
            base = sources.snapshot()?;
        }
        let inputs = builder.start(project, &base);
        let mut rebuilt = None;
        tokio::select! {
            ended = rebuild(project, builder, loader, cause) => rebuilt = Some(ended?),
            edited = sources.wait_for_edit(&inputs), if interruptions < MAX_INTERRUPTIONS => {
                edited?;
                out::note("larder: files changed during the build; building again");
            }
        }
        let now = sources.snapshot()?;
        if rebuilt == Some(Rebuilt::Incomplete) {
            base = now;
            continue;
        }
        if now == base || interruptions >= MAX_INTERRUPTIONS {
            if now != base {
                out::note(&format!(
                    "larder: {} changed during this build as well; the next build starts after the next save",
                    sources::difference(&now, &base)
                ));
            }
            base = sources.wait_for_change(&now).await?;
            interruptions = 0;
            cause = Cause::Change {
                noticed: sources.time_since_save(&base, &now),
            };
            continue;
        }
        interruptions += 1;
        if interruptions == INTERRUPTIONS_BEFORE_WARNING {
            out::note(&interruption_warning(&now, &base));
        }
        cause = Cause::Change {
            noticed: sources.time_since_save(&now, &base),
        };
        base = if interruptions < MAX_INTERRUPTIONS {
            now
        } else {
            wait_until_idle(&mut sources).await?
        };
    }
}

fn warn_of_changed_settings(project: &Project) {
    if !config::load_project(&project.folder).is_ok_and(|now| now == *project) {
        out::note(&format!(
            "larder: {} has changed; restart `larder dev`",
            config::PROJECT_FILE
        ));
    }
}

/// Waits until the files stop changing. Otherwise a build that takes longer than the time between two saves
/// would never finish.
async fn wait_until_idle(sources: &mut Sources) -> Result<Snapshot, CommandError> {
    out::note(&format!(
        "larder: files changed during each of the last {MAX_INTERRUPTIONS} builds; \
         waiting until they stop changing"
    ));
    sources.wait_until_idle().await
}

fn interruption_warning(now: &Snapshot, base: &Snapshot) -> String {
    let file = sources::difference(now, base);
    format!(
        "larder: {file} changed during each of the last builds; if the build writes it, add it to `ignore` in {}",
        config::PROJECT_FILE
    )
}
