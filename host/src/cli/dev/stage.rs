//! Where a component is loaded: first in a house of its own that is closed again, and what works there in a server of
//! ours, or in a folder that another server follows.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::TcpListener;

use super::LoadError;
use super::made::{Made, Shelf};
use crate::app::{self, App, Provider, Rejected, View};
use crate::cli::failure::Failure;
use crate::cli::log;
use crate::config::{self, Config, Log, Overrides, Project};
use crate::policy::Approve;
use crate::reconcile::Approvals;

/// Compiling takes ten seconds for the largest; what is not there by then never comes.
const LOADED: Duration = Duration::from_secs(120);
/// Between two looks at the catalog.
const LOOK: Duration = Duration::from_millis(10);

pub(super) struct Stage {
    /// With all folders of ours; they go with it.
    room: TempDir,
    /// Where it is tried, with nothing else.
    trial: Shelf,
    config: Config,
    /// What a server of ours serves.
    here: Option<(Shelf, View)>,
    /// What another one does.
    elsewhere: Option<Shelf>,
}

impl Stage {
    pub(super) fn alone(project: &Project, given: Overrides) -> Result<Self, Failure> {
        let room = tempfile::tempdir()?;
        let trial = shelf(&room, "trial")?;
        let mut config = configuration(project, given, &trial, room.path())?;
        // That is where the NAME.toml was written.
        config.teams.values_mut().for_each(|team| team.reconcile.relative_to.clone_from(&project.folder));
        Ok(Self { room, trial, config, here: None, elsewhere: None })
    }

    pub(super) fn elsewhere(project: &Project, plugins: PathBuf, given: Overrides) -> Result<Self, Failure> {
        let mut stage = Self::alone(project, given)?;
        // And that is where it will be read.
        if let Ok(folder) = plugins.canonicalize() {
            let teams = stage.config.teams.values_mut();
            teams.for_each(|team| team.reconcile.relative_to.clone_from(&folder));
        }
        Ok(Self { elsewhere: Some(Shelf::new(plugins)), ..stage })
    }

    pub(super) async fn here(
        project: &Project,
        given: Overrides,
    ) -> Result<(Self, App, TcpListener), Failure> {
        let stage = Self::alone(project, given)?;
        let served = shelf(&stage.room, "served")?;
        let mut config = stage.config.clone();
        config.teams.values_mut().for_each(|team| team.reconcile.plugins = served.folder().to_owned());
        let listener = app::bind(config.endpoint.listen).await?;
        let app = App::build(config).await?;
        let here = Some((served, app.view()));
        Ok((Self { here, ..stage }, app.of_terminal(), listener))
    }

    /// Loads what was built. What does not work goes nowhere: whatever is served goes on.
    pub(super) async fn load(&mut self, project: &Project) -> Result<Provider, LoadError> {
        let made = Made::read(project)?;
        let digest = made.digest();
        self.trial.put(&made)?;
        let tried = self.try_out(&digest).await?;
        if let Some((shelf, view)) = &mut self.here {
            let before = view.served().rejected;
            shelf.put(&made)?;
            let is_it = |one: &Provider| one.digest == digest && one.grant == tried.grant;
            return published(view, &digest, &before, is_it).await;
        }
        if let Some(shelf) = &mut self.elsewhere {
            shelf.put(&made)?;
        }
        Ok(tried)
    }

    async fn try_out(&self, digest: &str) -> Result<Provider, LoadError> {
        let app = App::build(self.config.clone()).await?;
        let served = app.served();
        app.finish().await;
        if let Some(rejected) = served.rejected.into_iter().next() {
            return Err(refused(rejected));
        }
        let provider = served.providers.into_iter().find(|provider| provider.digest == digest);
        provider.ok_or_else(|| LoadError::Rejected("it was not loaded".into()))
    }
}

fn shelf(room: &TempDir, name: &str) -> Result<Shelf, Failure> {
    let folder = room.path().canonicalize()?.join(name);
    fs::create_dir(&folder)?;
    Ok(Shelf::new(folder))
}

/// What the author's machine grants, to the author's own component.
fn configuration(project: &Project, given: Overrides, trial: &Shelf, room: &Path) -> Result<Config, Failure> {
    let plugins = trial.folder();
    let own = || Some(project.folder.join(config::FILE)).filter(|path| path.exists());
    let given = Overrides { config: given.config.or_else(own), plugins: Some(plugins.to_owned()), ..given };
    let mut config = match given.config {
        Some(_) => config::load(&given)?,
        None => config::bare(plugins, &given)?,
    };
    // The folders are this team's; what the others have is not served, and who asks belongs to it.
    config.teams.retain(|name, _| given.team.as_ref().is_none_or(|team| team == name));
    config.endpoint.caller.teams = config.local.teams.clone();
    for team in config.teams.values_mut() {
        // Whoever runs the build has trusted the project with more than any grant gives.
        team.reconcile.default.approve = Approve::Always;
        team.reconcile.terms.values_mut().for_each(|terms| terms.approve = Approve::Always);
        // What is remembered of folders that go with this process would be of use to nobody.
        team.reconcile.approvals = Approvals::new(&room.join("state"), plugins);
    }
    // Reading it again would take that back.
    config.file = None;
    // An author wants to see what the component says, and of the host only what is wrong.
    // What came of a load is told by us, in its place.
    let filter = "warn,larder::sandbox::log=debug,larder::reconcile::round=error".to_owned();
    log::start(&if config.log.filter == "info" {
        Log { filter, ..config.log.clone() }
    } else {
        config.log.clone()
    });
    Ok(config)
}

/// Waits until the server has loaded just this. What it rejected `before` says nothing of it.
async fn published(
    view: &View,
    digest: &str,
    before: &[Rejected],
    is_it: impl Fn(&Provider) -> bool,
) -> Result<Provider, LoadError> {
    let end = Instant::now() + LOADED;
    loop {
        let served = view.served();
        if let Some(provider) = served.providers.into_iter().find(&is_it) {
            return Ok(provider);
        }
        let is_about = |one: &Rejected| one.digest.as_deref().is_none_or(|other| other == digest);
        let mut rejected = served.rejected.into_iter();
        if let Some(rejected) = rejected.find(|one| is_about(one) && !before.contains(one)) {
            return Err(refused(rejected));
        }
        if Instant::now() > end {
            return Err(LoadError::Late(LOADED));
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn refused(rejected: Rejected) -> LoadError {
    LoadError::Rejected(format!("{} is rejected: {}", rejected.file, rejected.reason))
}
