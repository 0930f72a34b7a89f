//! What the operator wants: the file as a person wrote it (`file`), turned once into what each room needs.
//! Every fault is found before anything starts, and all of them are reported at once.
//! The only room that reads the environment, and the only place with defaults (`convert`).

mod again;
mod ask;
mod convert;
mod fault;
mod file;
mod gather;
mod project;
mod substitute;
mod value;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::name::TeamName;
use crate::policy::Quota;
use crate::resource::Caller;
use crate::stamp::Stamp;
use crate::{admin, audit, endpoint, gateway, lookout, reconcile, sandbox, telemetry};

pub use again::{Again, Believed};
pub use ask::parse as ask;
pub(crate) use convert::{scope, token_name};
pub use fault::{ConfigError, Fault};
pub use project::{PROJECT, Project, project};
pub(crate) use value::listen;

/// The file that is used when none is named and it is there.
pub const FILE: &str = "larder.toml";

/// What every room needs. Nothing is optional, and paths are absolute.
#[derive(Debug, Clone)]
pub struct Config {
    /// By name; without teams in the file it is `default` alone.
    pub teams: BTreeMap<TeamName, Team>,
    /// Who asks on standard input, and in this process.
    pub local: Caller,
    /// Who read what.
    pub audit: audit::Config,
    /// Where traces go.
    pub telemetry: telemetry::Config,
    /// What operators look at.
    pub admin: admin::Config,
    /// MCP on the wire.
    pub endpoint: endpoint::Config,
    /// What can be asked.
    pub gateway: gateway::Config,
    /// URIs that one client may watch.
    pub watched_uris: usize,
    /// How often is looked whether they differ.
    pub lookout: lookout::Config,
    /// The engine.
    pub sandbox: sandbox::Config,
    /// How long requests in flight may go on after the stop.
    pub grace: Duration,
    /// What is logged.
    pub log: Log,
    /// The file that was read, or that is read once it is there; none where there is to be none.
    pub file: Option<PathBuf>,
    /// That file as it was before it was read.
    pub seen: Option<Stamp>,
    /// What the command line said.
    pub overrides: Overrides,
    /// Whether there is one client only, on standard input or in this process.
    pub is_over_stdio: bool,
}

/// What belongs to one team.
#[derive(Debug, Clone)]
pub struct Team {
    /// Where its components come from, and what each is given.
    pub reconcile: reconcile::Config,
    /// What it may use up in all; none where there are no teams.
    pub quota: Option<Quota>,
}

impl Config {
    /// For those who answer once: a server may wait for its folder, they do not.
    pub fn with_folder(self) -> Result<Self, ConfigError> {
        let gone = self.teams.iter().filter(|(_, team)| !team.reconcile.plugins.exists());
        let faults: Vec<_> = gone
            .map(|(name, team)| {
                let place = match (&self.overrides.plugins, &team.quota) {
                    (Some(_), _) if self.overrides.team.as_ref().is_none_or(|named| named == name) => {
                        "--plugins".into()
                    }
                    (_, Some(_)) => format!("team.{name}.plugins"),
                    _ => "plugins".to_owned(),
                };
                let plugins = team.reconcile.plugins.display();
                let what = format!("there is no folder {plugins}: create it, or name another");
                Fault { line: None, place, what }
            })
            .collect();
        if faults.is_empty() { Ok(self) } else { Err(ConfigError::Faults { file: None, faults }) }
    }

    /// For a server on HTTP: it has to be known as whom those ask who have no credential.
    pub fn over_http(self) -> Result<Self, ConfigError> {
        if !self.endpoint.auth.is_open() {
            return Ok(self);
        }
        self.knows(&self.endpoint.caller, "server.teams", "those belong who ask without a credential")?;
        Ok(self)
    }

    /// For one client on standard input, or in this process.
    pub fn over_stdio(mut self) -> Result<Self, ConfigError> {
        self.knows(&self.local, "stdio.teams", "who asks here belongs, there or with `--team NAME`")?;
        self.endpoint.caller = self.local.clone();
        self.is_over_stdio = true;
        Ok(self)
    }

    fn knows(&self, caller: &Caller, place: &str, who: &str) -> Result<(), ConfigError> {
        if caller.teams.iter().all(|team| self.teams.contains_key(team)) {
            return Ok(());
        }
        let teams: Vec<_> = self.teams.keys().map(TeamName::as_str).collect();
        let what = format!("there are several teams ({}): say to which of them {who}", teams.join(", "));
        Err(ConfigError::Faults { file: None, faults: vec![Fault { line: None, place: place.into(), what }] })
    }
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Which events: `info`, or `info,larder::sandbox::log=off`, which is what providers say.
    pub filter: String,
    /// How they look.
    pub format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// What the command line says; it wins over the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The file to read.
    pub config: Option<PathBuf>,
    /// The folder with the components.
    pub plugins: Option<PathBuf>,
    /// Whose folder that is, and as whom this process asks.
    pub team: Option<TeamName>,
    /// The address to listen on.
    pub listen: Option<SocketAddr>,
}

/// Where `${NAME}` is looked up.
type Env = BTreeMap<String, String>;

/// Reads the configuration: the file that was named, or `larder.toml` in the working directory, or none.
pub fn load(overrides: &Overrides) -> Result<Config, ConfigError> {
    load_with(overrides, false)
}

fn load_with(overrides: &Overrides, guarded: bool) -> Result<Config, ConfigError> {
    let here =
        std::env::current_dir().map_err(|error| ConfigError::Unreadable { path: ".".into(), error })?;
    let path = overrides.config.clone().unwrap_or_else(|| FILE.into());
    let seen = Stamp::of(&path).ok();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && overrides.config.is_none() => String::new(),
        Err(error) => return Err(ConfigError::Unreadable { path, error }),
    };
    let folder = path.parent().map_or_else(|| here.clone(), |folder| here.join(folder));
    let place = Place { file: Some(path), folder, here, guarded };
    Ok(Config { seen, ..parse(&text, &place, &environment(), overrides)? })
}

/// The token that the environment has for a server; an empty one is none.
pub fn token() -> Option<String> {
    environment().remove("LARDER_TOKEN").filter(|token| !token.trim().is_empty())
}

/// Who runs this, as the system calls them.
pub fn user() -> String {
    let env = environment();
    let name = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(|name| env.get(name));
    name.cloned().unwrap_or_else(|| "unknown".into())
}

/// The defaults over a folder of components, whatever files or variables there are; but what was compiled
/// before is found where it is always kept.
pub fn bare(plugins: &Path, others: &Overrides) -> Result<Config, ConfigError> {
    let place = Place { file: None, folder: plugins.to_owned(), here: plugins.to_owned(), guarded: false };
    let overrides = Overrides { config: None, plugins: Some(plugins.to_owned()), ..others.clone() };
    let mut env = environment();
    env.retain(|name, _| ["HOME", "XDG_CACHE_HOME"].contains(&name.as_str()));
    parse("", &place, &env, &overrides)
}

/// Whether people want colours on their terminals, as far as the environment says (<https://no-color.org>).
pub fn allows_colour() -> bool {
    let env = environment();
    env.get("NO_COLOR").is_none_or(String::is_empty) && env.get("TERM").is_none_or(|term| term != "dumb")
}

/// Where a configuration was found.
struct Place {
    /// What faults call it.
    file: Option<PathBuf>,
    /// What its paths are relative to.
    folder: PathBuf,
    /// What the paths of the command line are relative to.
    here: PathBuf,
    /// Whether a gate is shut already, and stays so whatever the file says.
    guarded: bool,
}

fn parse(text: &str, place: &Place, env: &Env, overrides: &Overrides) -> Result<Config, ConfigError> {
    let refuse = |faults| ConfigError::Faults { file: place.file.clone(), faults };
    let (written, source, mut faults) = gather::read(text, Some(env)).map_err(refuse)?;
    let config = convert::convert(written, place, env, overrides, &source, &mut faults);
    if faults.is_empty() {
        return Ok(config);
    }
    faults.sort_by_key(|fault| fault.line);
    Err(refuse(faults))
}

// Variables that are not UTF-8 cannot stand in a TOML file.
fn environment() -> Env {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests;
