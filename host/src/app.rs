//! From a configuration to a running house: everything is wired, served and drained here.

mod descriptors;
mod follow;
mod keeping;
mod outside;
mod pages;
mod reread;
mod served;
mod signal;
mod team;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;

use self::keeping::Keeping;
use self::reread::Reread;
use crate::admin::{Admin, Shown};
use crate::audit::Audit;
use crate::catalog::Reader;
use crate::config::Config;
use crate::drain::{Drain, Leash};
use crate::endpoint::Endpoint;
use crate::endpoint::auth::Gate;
use crate::gateway::Gateway;
use crate::health::{Concerns, Health};
use crate::sandbox::{Sandbox, SetUpError};
use crate::telemetry::{Telemetry, TelemetryError};

pub use outside::bind_admin;
pub use served::{Provider, Rejected, Served};
use signal::HangUps;
pub(crate) use signal::Stops;
use team::{Ground, Team};

/// Bytes on their way between a client and an endpoint in one process.
const IN_FLIGHT: usize = 64 << 10;
/// How long it may take to tell and to write down how all else has ended.
const LAST: Duration = Duration::from_secs(3);
/// How long those who look may take to hear of it.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// When, after the start, old files of the cache are looked for.
const TIDY: Duration = Duration::from_secs(10);

/// How long teams wait for one another at the start.
const START: Duration = Duration::from_secs(10);

/// Everything that runs.
pub struct App {
    endpoint: Endpoint,
    catalogs: Vec<Reader>,
    /// What keeps the catalogs up to date; taken when it begins.
    keepers: Vec<Team>,
    reread: Option<Reread>,
    keeping: Keeping,
    audit: Audit,
    drain: Drain,
    /// Of what writes down how all else ends.
    last: Drain,
    /// Of what tells of it, until the end.
    outlook: Drain,
    /// An app that is given up, even while it is built, leaves nothing that works on.
    _leashes: [Leash; 3],
    grace: Duration,
    /// From before anybody is told that this serves; none where the system's own way of ending a process is right.
    stops: Option<Stops>,
    hang_ups: Option<HangUps>,
    /// Whether SIGHUP is one of them, as it is to what runs in a terminal.
    ends_with_terminal: bool,
}

/// Sees what is served, and can do nothing else.
#[derive(Clone)]
pub struct View(Vec<Reader>);

impl View {
    /// What is served now.
    pub fn served(&self) -> Served {
        Served::of(self.0.iter().map(|catalog| (catalog.team(), catalog.snapshot())))
    }
}

/// Why the house does not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The address is taken, or is not ours.
    #[error("cannot listen on {listen}: {error}{}", advice(error, "--listen"))]
    Bind {
        /// The address.
        listen: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// The address for operators is taken, or is not ours.
    #[error("cannot listen on {listen}: {error}{}", advice(error, "admin.listen"))]
    BindAdmin {
        /// The address.
        listen: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// There is nowhere to write down who reads what.
    #[error("cannot open the audit log (`audit.file`): {0}")]
    Audit(io::Error),
    /// The collector of traces cannot be asked.
    #[error("cannot set up what sends traces (`telemetry.otlp`): {0}")]
    Telemetry(TelemetryError),
    /// There is no sandbox.
    #[error("cannot set up the sandbox: {0}")]
    SetUp(#[from] SetUpError),
    /// The endpoint ended by itself.
    #[error("the endpoint broke off: {0}")]
    Serve(#[from] io::Error),
    /// What is served would get old.
    #[error(
        "a task that keeps the catalog up to date broke off; the log says which, and this is a defect of ours"
    )]
    Broke,
}

/// At the start there is more to do than to look through thousands of files that may be old.
async fn tidy(sandbox: Arc<Sandbox>, drain: Drain) {
    if drain.unless_stopping(tokio::time::sleep(TIDY)).await.is_some() {
        drain.spawn_blocking(move || sandbox.tidy());
    }
}

fn advice(error: &io::Error, place: &str) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("; is another server running there? choose another address with `{place}`")
        }
        io::ErrorKind::AddrNotAvailable => "; it is not an address of this machine".into(),
        io::ErrorKind::PermissionDenied => format!("; choose a port above 1023 with `{place}`"),
        _ => String::new(),
    }
}

/// Takes the address, before anything slow is done. Clients that come early wait until it is served.
pub async fn bind(listen: SocketAddr) -> Result<TcpListener, RunError> {
    TcpListener::bind(listen).await.map_err(|error| RunError::Bind { listen, error })
}

impl App {
    /// Builds everything and loads what is in the folders: who asks from now on gets all of it.
    /// For one who asks by himself: nothing is audited, and nobody looks from outside.
    pub async fn build(mut config: Config) -> Result<Self, RunError> {
        (config.audit.to, config.telemetry) = (None, None);
        Self::wire(config, None, None).await
    }

    /// The same for a server: who looks from outside sees it from the beginning, and a signal that comes once this is
    /// done stops it as it should. Of several teams none waits long for what another brings.
    pub async fn build_server(config: Config, admin: Option<TcpListener>) -> Result<Self, RunError> {
        pages::keep_small();
        let most = (config.teams.len() > 1).then_some(START);
        let mut app = Self::wire(config, admin, most).await?;
        (app.stops, app.hang_ups) = (Some(Stops::new()), Some(HangUps::new()));
        Ok(app)
    }

    /// The same for one who works at a terminal: without it there is nobody to serve.
    pub(crate) fn of_terminal(self) -> Self {
        Self { stops: Some(Stops::of_terminal()), ends_with_terminal: true, ..self }
    }

    async fn wire(
        config: Config,
        admin: Option<TcpListener>,
        most: Option<Duration>,
    ) -> Result<Self, RunError> {
        let (drain, last, outlook) = (Drain::new(), Drain::new(), Drain::new());
        let leashes = [&drain, &last, &outlook].map(Drain::leash);
        let health = Health::default();
        let sandbox = Arc::new(Sandbox::new(&config.sandbox, &drain)?);
        drain.spawn(tidy(sandbox.clone(), drain.clone()));
        let metrics = sandbox.metrics().clone();
        let (watched_uris, lookout) = (config.watched_uris, config.lookout.clone());
        let ground = Ground { sandbox, drain: drain.clone(), health: health.clone(), watched_uris, lookout };
        let asked = &config.endpoint;
        let gate = Gate::new(asked.auth.clone(), asked.caller.clone(), drain.clone());
        let teams = config.teams.values();
        let mut keepers: Vec<_> = teams.map(|team| Team::new(team.clone(), ground.clone())).collect();
        let orders = keepers.iter().map(|team| (team.reader.team().clone(), team.orders()));
        let reread = Reread::new(&config, &gate, orders, &health);
        let catalogs: Vec<_> = keepers.iter().map(|team| team.reader.clone()).collect();
        health.wrong("start", "it has not yet looked at all components", Concerns::Everybody);
        if let Some(listener) = admin {
            let folders = config.teams.values().map(|team| team.reconcile.plugins.clone());
            let teams = folders.zip(catalogs.iter().cloned());
            let teams = teams.map(|(plugins, catalog)| Shown { plugins, catalog }).collect();
            let (seen, own) = (drain.clone(), outlook.clone());
            let admin = Admin::new(&config.admin, teams, metrics.clone(), health.clone(), seen, own);
            outlook.spawn(admin.serve(listener));
        }
        let audit = Audit::open(&config.audit, config.teams.keys(), (metrics.clone(), health.clone()), &last);
        let audit = audit.map_err(RunError::Audit)?;
        let telemetry = Telemetry::open(&config.telemetry, config.teams.keys().cloned(), &metrics, &last);
        let telemetry = telemetry.map_err(RunError::Telemetry)?;
        join_all(keepers.iter_mut().map(|team| team.load(most))).await;
        let parts = keepers.iter().map(|team| (team.reader.clone(), team.signals.clone()));
        let rations =
            keepers.iter().filter_map(|team| Some((team.reader.team().clone(), team.ration.clone()?)));
        let gateway = Gateway::new(config.gateway, parts).with_audit(audit.clone()).with_rations(rations);
        gateway.show_refusals(&metrics);
        gateway.show_cache(&metrics);
        let endpoint = Endpoint::new(config.endpoint, gate, gateway, drain.clone(), (metrics, telemetry));
        health.right("start");
        let keeping = Keeping::new(drain.clone());
        Ok(Self {
            endpoint,
            catalogs,
            keepers,
            reread,
            keeping,
            audit,
            drain,
            last,
            outlook,
            _leashes: leashes,
            grace: config.grace,
            stops: None,
            hang_ups: None,
            ends_with_terminal: false,
        })
    }

    /// Follows the folders and what providers say from now on, without telling `larder approve` what is held
    /// back: that is for the server to say.
    pub fn keep_up(&mut self) {
        self.follow(false);
    }

    /// The same for a server, which also looks again at SIGHUP.
    fn serve_on(&mut self) {
        descriptors::raise();
        let teams = self.keepers.iter().map(Team::wake);
        let reread = self.reread.iter().flat_map(Reread::wakes);
        let wakes = teams.chain(reread).chain(self.audit.reopen()).collect();
        if !self.ends_with_terminal {
            let hang_ups = self.hang_ups.take().unwrap_or_else(HangUps::new);
            self.drain.spawn(hang_ups.wake(wakes, self.drain.clone()));
        }
        self.follow(true);
    }

    fn follow(&mut self, announces: bool) {
        self.keepers.drain(..).for_each(|team| team.keep_up(&self.keeping, announces));
        self.reread.take().into_iter().for_each(|reread| reread.keep_up(&self.keeping, &self.drain));
    }

    /// What is served now.
    pub fn served(&self) -> Served {
        self.view().served()
    }

    /// A look at what is served while this runs.
    pub fn view(&self) -> View {
        View(self.catalogs.clone())
    }

    /// Serves one client in this process, and gives the client's end.
    pub fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(IN_FLIGHT);
        let (input, output) = tokio::io::split(far);
        let endpoint = self.endpoint.clone();
        self.drain.spawn(async move { endpoint.serve_stdio(input, output).await });
        near
    }

    /// Serves HTTP until somebody asks to stop.
    pub async fn serve_http(self, listener: TcpListener) -> Result<(), RunError> {
        let endpoint = self.endpoint.clone();
        self.run(async move { endpoint.serve_http(listener).await }).await
    }

    /// Serves standard input and output until they end or somebody asks to stop.
    pub async fn serve_stdio(self) -> Result<(), RunError> {
        let endpoint = self.endpoint.clone();
        self.run(async move { endpoint.serve_stdio(tokio::io::stdin(), tokio::io::stdout()).await }).await
    }

    /// Lets everything come to its end, within the grace time.
    pub async fn finish(self) -> bool {
        let in_time = self.drain.finish(self.grace).await;
        let in_time = self.last.finish(LAST).await && in_time;
        // Who looks may leave a connection open for as long as he likes.
        self.outlook.finish(LAST_LOOK).await;
        in_time
    }

    async fn run(
        mut self,
        serving: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> Result<(), RunError> {
        self.serve_on();
        let mut stops = self.stops.take().unwrap_or_else(Stops::new);
        let mut serving = self.drain.spawn(serving);
        let mut broke = false;
        let ended = tokio::select! {
            ended = &mut serving => Some(ended),
            () = stops.next() => None,
            () = self.drain.stopping() => None,
            () = self.keeping.broke() => { broke = true; None }
        };
        if ended.is_none() {
            tracing::info!(grace = ?self.grace, "stopping; once more ends at once");
        }
        tokio::select! {
            in_time = self.drain.finish(self.grace) => if !in_time {
                tracing::warn!("requests were still in flight after the grace time");
            },
            () = stops.next() => {
                tracing::warn!("ended at once");
                // Nothing is read any more when the logs are closed.
                self.drain.finish(Duration::ZERO).await;
            }
        }
        if !self.last.finish(LAST).await {
            tracing::error!("the end of the audit log or of the traces could not be written in time");
        }
        self.outlook.finish(LAST_LOOK).await;
        match ended {
            // A task that was dropped or that panicked has been logged where it happened.
            Some(Ok(Some(Ok(())))) => Ok(()),
            // A client that leaves in the middle of a line is one that leaves.
            Some(Ok(Some(Err(error)))) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Some(Ok(Some(Err(error)))) => Err(error.into()),
            Some(_) => Err(io::Error::other("its task ended").into()),
            None if broke => Err(RunError::Broke),
            None => Ok(()),
        }
    }
}
