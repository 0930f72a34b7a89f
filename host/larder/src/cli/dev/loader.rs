//! Loads a built component: first in a temporary server that contains nothing else, and, if that works, in
//! the server of `larder dev` or in a folder that another server serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::build_output::{BuildOutput, PluginsFolder};
use super::error::RebuildError;
use super::phases::Phases;
use crate::app::{self, App, IfInUse, Provider, RejectedComponent, ServingReport, View};
use crate::cli::error::CommandError;
use crate::cli::log::{self, ProcessLog};
use crate::cli::out;
use larder_config::{self as config, Config, Overrides, Project};
use larder_core::reconcile::{self, Approvals};
use larder_mcp::Listener;
use larder_model::name::{Digest, ProviderName};
use larder_model::policy::{Access, ApprovalMode, Ceiling, Dir};

/// How long to wait for the server to load a component. The compilation of the largest components takes ten seconds.
const LOAD_TIMEOUT: Duration = Duration::from_secs(120);
/// The folder for the programs of a development component, in the temporary folder.
const PROGRAMS: &str = "programs";
/// The time between two checks of the catalog.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(super) struct Loader {
    /// Contains all temporary folders, and is deleted on drop.
    temp: TempDir,
    /// The plugins folder of the temporary server.
    trial: PluginsFolder,
    config: Config,
    process_log: ProcessLog,
    /// The plugins folder of the server in this process.
    own_server: Option<(PluginsFolder, View)>,
    /// The plugins folder of another server.
    external: Option<PluginsFolder>,
    /// The component that was tested last. It is in the compilation cache.
    compiled: Option<Digest>,
}

impl Loader {
    /// A loader that only loads into the temporary server.
    pub(super) fn new(project: &Project, overrides: Overrides) -> Result<Self, CommandError> {
        let temp = tempfile::tempdir()?;
        let trial = plugins_folder(&temp, "trial")?;
        let (mut config, process_log) = configuration(project, overrides, &trial, temp.path())?;
        let programs = temp.path().canonicalize()?.join(PROGRAMS);
        for team in config.teams.values_mut() {
            // Relative paths in NAME.toml begin at the project.
            team.reconcile.relative_to.clone_from(&project.folder);
            allow_folder(&mut team.reconcile.ceiling, &programs);
        }
        Ok(Self {
            temp,
            trial,
            config,
            process_log,
            own_server: None,
            external: None,
            compiled: None,
        })
    }

    /// A loader that writes into the plugins folder of another server.
    pub(super) fn for_folder(
        project: &Project,
        plugins: PathBuf,
        overrides: Overrides,
    ) -> Result<Self, CommandError> {
        let mut loader = Self::new(project, overrides)?;
        // Relative paths in NAME.toml are relative to the folder of the other server.
        if let Ok(folder) = plugins.canonicalize() {
            let teams = loader.config.teams.values_mut();
            teams.for_each(|team| team.reconcile.relative_to.clone_from(&folder));
        }
        Ok(Self {
            external: Some(PluginsFolder::new(plugins)),
            ..loader
        })
    }

    /// Returns the folder for the programs of a development component.
    pub(super) fn programs(&self) -> Result<PathBuf, CommandError> {
        Ok(self.temp.path().canonicalize()?.join(PROGRAMS))
    }

    /// Returns the folders that the provider may write to, according to the configuration and its NAME.toml.
    pub(super) fn writable_folders(&self, project: &Project) -> Vec<PathBuf> {
        let requested = fs::read_to_string(project.folder.join(format!("{}.toml", project.name)));
        let mut dirs = Vec::new();
        for team in self.config.teams.values().map(|team| &team.reconcile) {
            dirs.extend(granted_dirs(team, &project.name));
            if let Ok(text) = &requested {
                dirs.extend(requested_dirs(team, text));
            }
        }
        dirs.into_iter()
            .filter(|dir| dir.access == Access::Write)
            .map(|dir| dir.host)
            .collect()
    }

    /// A loader with a server in this process. If an admin address is configured, the server has it.
    pub(super) async fn with_server(
        project: &Project,
        overrides: Overrides,
    ) -> Result<(Self, App, Listener), CommandError> {
        let loader = Self::new(project, overrides)?;
        let served = plugins_folder(&loader.temp, "served")?;
        let mut config = loader.config.clone();
        config
            .teams
            .values_mut()
            .for_each(|team| team.plugins = served.folder().to_owned());
        let listener = app::bind(&config.endpoint.listen).await?;
        let admin = app::bind_explicit_admin(&config.admin, IfInUse::Fail).await?;
        if let Some(address) = admin.as_ref().and_then(|admin| admin.address().ok()) {
            out::note(&format!("larder: admin address {}", address.url("")));
        }
        let app = App::build_with_admin(config, admin, loader.process_log.hook()).await?;
        loader.process_log.start_reports(&app);
        let own_server = Some((served, app.view()));
        Ok((
            Self {
                own_server,
                ..loader
            },
            app.for_terminal(),
            listener,
        ))
    }

    /// Loads the output of a build. If the temporary server rejects it, the previous component stays in
    /// service.
    pub(super) async fn load(
        &mut self,
        output: &BuildOutput,
        phases: &mut Phases,
    ) -> Result<Provider, RebuildError> {
        let built = output.digest();
        let step = self.test_step(built);
        let is_valid = grant_request_check(&self.config);
        self.trial.write(output, &is_valid)?;
        let digest = built.to_string();
        // Boxed, because the future contains the start of a whole server.
        let tested = phases.time(step, Box::pin(self.test(&digest))).await?;
        self.compiled = Some(built);
        if let Some((folder, view)) = &mut self.own_server {
            let before = view.served().rejected;
            folder.write(output, &is_valid)?;
            let is_loaded = |one: &Provider| one.digest == digest && one.grant == tested.grant;
            return phases
                .time("load", wait_until_loaded(view, &digest, &before, is_loaded))
                .await;
        }
        if let Some(folder) = &mut self.external {
            folder.write(output, &is_valid)?;
        }
        Ok(tested)
    }

    fn test_step(&self, built: Digest) -> &'static str {
        if self.compiled == Some(built) {
            "test"
        } else {
            "compile and test"
        }
    }

    /// Loads the component in the temporary server.
    async fn test(&self, digest: &str) -> Result<Provider, RebuildError> {
        let app = App::build(self.config.clone()).await?;
        let served = app.served();
        app.finish().await;
        if let Some(rejected) = served.rejected.first().cloned() {
            return Err(rejection(rejected));
        }
        only_provider(served, |provider| provider.digest == digest).ok_or_else(|| {
            RebuildError::Rejected {
                reason: "the component was not loaded".into(),
                stderr: String::new(),
            }
        })
    }
}

fn granted_dirs(team: &reconcile::Config, name: &ProviderName) -> Vec<Dir> {
    let provider = team.providers.get(name).unwrap_or(&team.default);
    provider.grant.dirs.clone()
}

fn requested_dirs(team: &reconcile::Config, text: &str) -> Vec<Dir> {
    // An invalid request is reported when the component is loaded.
    let request = (team.parse_grant_request)(text, &team.relative_to);
    request.map(|request| request.dirs).unwrap_or_default()
}

fn plugins_folder(temp: &TempDir, name: &str) -> Result<PluginsFolder, CommandError> {
    let folder = temp.path().canonicalize()?.join(name);
    fs::create_dir(&folder)?;
    Ok(PluginsFolder::own(folder))
}

/// Allows a team to read this folder, also beyond the ceiling of the team.
fn allow_folder(ceiling: &mut Arc<Ceiling>, folder: &Path) {
    if let Some(bounds) = &mut Arc::make_mut(ceiling).bounds {
        let host = folder.to_owned();
        let guest = folder.to_string_lossy().into_owned();
        bounds.dirs.push(Dir {
            host,
            guest,
            access: Access::Read,
            is_canonical: true,
        });
    }
}

/// Returns the check of a NAME.toml. Relative folders in it are resolved as in the server.
fn grant_request_check(config: &Config) -> impl Fn(&str) -> bool + use<> {
    let teams = config.teams.values().map(|team| &team.reconcile);
    let checks: Vec<_> = teams
        .map(|team| (team.parse_grant_request, team.relative_to.clone()))
        .collect();
    move |text| {
        checks
            .iter()
            .all(|(parse, folder)| parse(text, folder).is_ok())
    }
}

/// Shows the log of the component, and only warnings of the host. `report` prints the result of a load.
const LOG_FILTER: &str = "warn,larder::provider=debug,larder_core::reconcile::pass=error";

/// Returns the configuration for a component on its author's machine.
fn configuration(
    project: &Project,
    overrides: Overrides,
    trial: &PluginsFolder,
    temp: &Path,
) -> Result<(Config, ProcessLog), CommandError> {
    let plugins = trial.folder();
    let overrides = Overrides {
        config: overrides.config.or_else(|| project_config(project)),
        plugins: Some(plugins.to_owned()),
        ..overrides
    };
    let mut config = match overrides.config {
        Some(_) => config::load(&overrides)?,
        None => config::without_file(plugins, &overrides)?,
    };
    // Only the selected team is served, and all callers belong to it.
    config
        .teams
        .retain(|name, _| overrides.team.as_ref().is_none_or(|team| team == name));
    config.endpoint.caller.teams = config.local_caller.teams.clone();
    for team in config.teams.values_mut() {
        approve_all(&mut team.reconcile);
        // The folders are temporary, so their approvals are not stored permanently.
        team.reconcile.approvals = Approvals::new(&temp.join("state"), plugins);
    }
    // The second of two crashes may have another reason.
    config.sandbox.log_each_fault = true;
    // The configuration has no file, because a reload would undo these changes.
    config.file = None;
    let process_log = start_log(&config);
    Ok((config, process_log))
}

fn project_config(project: &Project) -> Option<PathBuf> {
    let file = project.folder.join(config::DEFAULT_FILE);
    file.exists().then_some(file)
}

fn start_log(config: &Config) -> ProcessLog {
    let mut log = config.log.clone();
    if log.filter == "info" {
        log.filter = LOG_FILTER.to_owned();
    }
    log::start(&log)
}

/// Running the build gives the project more access than any grant does.
fn approve_all(config: &mut reconcile::Config) {
    config.default.approval_mode = ApprovalMode::Always;
    for provider in config.providers.values_mut() {
        provider.approval_mode = ApprovalMode::Always;
    }
}

/// Waits until the server has loaded or rejected this component. Ignores components that it rejected
/// `before`.
async fn wait_until_loaded(
    view: &View,
    digest: &str,
    before: &[RejectedComponent],
    is_loaded: impl Fn(&Provider) -> bool,
) -> Result<Provider, RebuildError> {
    let deadline = Instant::now() + LOAD_TIMEOUT;
    loop {
        let is_about =
            |one: &RejectedComponent| one.digest.as_deref().is_none_or(|other| other == digest);
        let mut rejected = view.served().rejected.into_iter();
        if let Some(provider) = only_provider(view.served(), &is_loaded) {
            return Ok(provider);
        }
        if let Some(rejected) = rejected.find(|one| is_about(one) && !before.contains(one)) {
            return Err(rejection(rejected));
        }
        if Instant::now() > deadline {
            return Err(RebuildError::TimedOut(LOAD_TIMEOUT));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns the provider, with all notes about its lists. In a server with one provider, collisions are always between
/// its own entries.
fn only_provider(
    served: ServingReport,
    is_loaded: impl FnMut(&Provider) -> bool,
) -> Option<Provider> {
    let mut provider = served.providers.into_iter().find(is_loaded)?;
    provider.omitted.extend(served.collisions);
    Some(provider)
}

fn rejection(rejected: RejectedComponent) -> RebuildError {
    let reason = format!("{} is rejected: {}", rejected.file, rejected.reason);
    RebuildError::Rejected {
        reason,
        stderr: rejected.stderr,
    }
}
