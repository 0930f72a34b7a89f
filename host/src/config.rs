//! What the operator wants: the file as a person wrote it (`file`), turned once into what each room needs.
//! Every fault is found before anything starts, and all of them are reported at once.
//! The only room that reads the environment, and the only place with defaults (`convert`).

mod convert;
mod fault;
mod file;
mod gather;
mod substitute;
mod value;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{endpoint, gateway, lookout, reconcile, sandbox};

pub use fault::{ConfigError, Fault};
pub(crate) use value::listen;

/// The file that is used when none is named and it is there.
pub const FILE: &str = "larder.toml";

/// What every room needs. Nothing is optional, and paths are absolute.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder with the components.
    pub plugins: PathBuf,
    /// MCP on the wire.
    pub endpoint: endpoint::Config,
    /// What can be asked.
    pub gateway: gateway::Config,
    /// Where components come from, and what each is given.
    pub reconcile: reconcile::Config,
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
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Which events: `info`, or `larder=debug,wiki=off`.
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
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// The file to read.
    pub config: Option<PathBuf>,
    /// The folder with the components.
    pub plugins: Option<PathBuf>,
    /// The address to listen on.
    pub listen: Option<SocketAddr>,
}

/// Where `${NAME}` is looked up.
type Env = BTreeMap<String, String>;

/// Reads the configuration: the file that was named, or `larder.toml` in the working directory, or none.
pub fn load(overrides: &Overrides) -> Result<Config, ConfigError> {
    let here =
        std::env::current_dir().map_err(|error| ConfigError::Unreadable { path: ".".into(), error })?;
    let path = overrides.config.clone().or_else(|| Path::new(FILE).exists().then(|| FILE.into()));
    let text = match &path {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Unreadable { path: path.clone(), error })?,
        None => String::new(),
    };
    let folder =
        path.as_deref().and_then(Path::parent).map_or_else(|| here.clone(), |folder| here.join(folder));
    parse(&text, &Place { file: path, folder, here }, &environment(), overrides)
}

/// The defaults over a folder of components, whatever files or variables there are; but what was compiled
/// before is found where it is always kept.
pub fn bare(plugins: &Path) -> Result<Config, ConfigError> {
    let place = Place { file: None, folder: plugins.to_owned(), here: plugins.to_owned() };
    let overrides = Overrides { plugins: Some(plugins.to_owned()), ..Overrides::default() };
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
}

fn parse(text: &str, place: &Place, env: &Env, overrides: &Overrides) -> Result<Config, ConfigError> {
    let refuse = |faults| ConfigError::Faults { file: place.file.clone(), faults };
    let (written, source, mut faults) = gather::read(text, env).map_err(refuse)?;
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
