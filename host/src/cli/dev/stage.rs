//! Where a component is loaded: in a server of our own, in a house that is closed again, or in a folder that
//! another server follows.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::TcpListener;

use super::{LoadError, own_configuration};
use crate::app::{self, App, Provider, Served, View};
use crate::author;
use crate::cli::failure::Failure;
use crate::cli::log;
use crate::config::{self, Config, Log, Overrides, Project};
use crate::name::Digest;
use crate::policy::Approve;

/// Compiling takes ten seconds for the largest; what is not there by then never comes.
const LOADED: Duration = Duration::from_secs(120);
/// Between two looks at the catalog.
const LOOK: Duration = Duration::from_millis(10);

pub(super) struct Stage {
    /// With the component, and nothing else.
    folder: TempDir,
    config: Config,
    /// What a server of ours serves; without one, a house is opened for each load.
    view: Option<View>,
    /// Where it goes once it works.
    plugins: Option<PathBuf>,
}

impl Stage {
    pub(super) fn alone(project: &Project, config: Option<PathBuf>) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let config = configuration(project, config, folder.path(), None)?;
        Ok(Self { folder, config, view: None, plugins: None })
    }

    pub(super) fn elsewhere(
        project: &Project,
        plugins: PathBuf,
        config: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        Ok(Self { plugins: Some(plugins), ..Self::alone(project, config)? })
    }

    pub(super) async fn here(
        project: &Project,
        config: Option<PathBuf>,
        listen: Option<SocketAddr>,
    ) -> Result<(Self, App, TcpListener), Failure> {
        let folder = tempfile::tempdir()?;
        let config = configuration(project, config, folder.path(), listen)?;
        let listener = app::bind(config.endpoint.listen).await?;
        let app = App::build(config.clone()).await?;
        let stage = Self { folder, config, view: Some(app.view()), plugins: None };
        Ok((stage, app, listener))
    }

    /// Loads what was built.
    pub(super) async fn load(&mut self, project: &Project) -> Result<Provider, LoadError> {
        let path = &project.component;
        let component =
            std::fs::read(path).map_err(|error| LoadError::Unbuilt { path: path.clone(), error })?;
        let digest = Digest::of(&component).to_string();
        put(project, &component, self.folder.path())?;
        let provider = match &self.view {
            Some(view) => published(view, &digest).await?,
            None => self.try_out(&digest).await?,
        };
        if let Some(plugins) = &self.plugins {
            put(project, &component, plugins)?;
        }
        Ok(provider)
    }

    async fn try_out(&self, digest: &str) -> Result<Provider, LoadError> {
        let app = App::build(self.config.clone()).await?;
        let served = app.served();
        app.finish().await;
        found(served, digest).unwrap_or_else(|| Err(LoadError::Rejected("it was not loaded".into())))
    }
}

/// What the author's machine grants, to the author's own component.
fn configuration(
    project: &Project,
    config: Option<PathBuf>,
    plugins: &Path,
    listen: Option<SocketAddr>,
) -> Result<Config, Failure> {
    let overrides = Overrides { plugins: Some(plugins.to_owned()), listen, ..Overrides::default() };
    let mut config = match own_configuration(project, config) {
        Some(file) => config::load(&Overrides { config: Some(file), ..overrides })?,
        None => Config { overrides, ..config::bare(plugins)? },
    };
    // Whoever runs the build has trusted the project with more than any grant gives.
    for team in config.teams.values_mut() {
        team.reconcile.default.approve = Approve::Always;
        team.reconcile.terms.values_mut().for_each(|terms| terms.approve = Approve::Always);
    }
    // Reading it again would take that back.
    config.file = None;
    if let Some(listen) = listen {
        config.endpoint.listen = listen;
    }
    // An author wants to see what the component says, and of the host only what is wrong.
    let filter = format!("warn,{}=debug", project.name);
    log::start(&if config.log.filter == "info" {
        Log { filter, ..config.log.clone() }
    } else {
        config.log.clone()
    });
    Ok(config)
}

/// The component, after what it asks for: so the two are seen together.
fn put(project: &Project, component: &[u8], folder: &Path) -> Result<(), LoadError> {
    let asks = format!("{}.toml", project.name);
    if let Ok(text) = std::fs::read(project.folder.join(&asks)) {
        author::replace(&folder.join(&asks), &text)?;
    }
    Ok(author::replace(&folder.join(format!("{}.wasm", project.name)), component)?)
}

/// Waits until the server has loaded just this.
async fn published(view: &View, digest: &str) -> Result<Provider, LoadError> {
    let end = Instant::now() + LOADED;
    loop {
        if let Some(found) = found(view.served(), digest) {
            return found;
        }
        if Instant::now() > end {
            return Err(LoadError::Late(LOADED));
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn found(served: Served, digest: &str) -> Option<Result<Provider, LoadError>> {
    let rejected =
        served.rejected.into_iter().find(|rejected| rejected.digest.as_deref().is_none_or(|d| d == digest));
    if let Some(rejected) = rejected {
        return Some(Err(LoadError::Rejected(format!("{} is rejected: {}", rejected.file, rejected.reason))));
    }
    served.providers.into_iter().find(|provider| provider.digest == digest).map(Ok)
}
