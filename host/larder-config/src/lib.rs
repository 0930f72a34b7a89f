//! The server configuration. `file` mirrors `larder.toml`; `convert` turns it into one typed `Config` per
//! module. All errors are found before anything starts and are reported together. Only this crate reads
//! environment variables, and only `convert` sets defaults.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

mod client;
mod convert;
mod error;
mod features;
mod file;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod parse_context;
mod parser;
mod project;
mod reload;
mod substitute;
mod value;
#[cfg(not(feature = "registry"))]
mod without_registry;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use larder_admin as admin;
use larder_builtin::BuiltinComponents;
#[cfg(feature = "cluster")]
use larder_cluster::ClusterConfig;
use larder_core::audit;
use larder_core::change_detector;
use larder_core::gateway;
use larder_core::reconcile;
use larder_core::telemetry;
use larder_mcp::{self as endpoint, ListenAddress};
use larder_model::name::TeamName;
use larder_model::policy::{Quota, TeamCredentials};
use larder_model::resource::Caller;
use larder_model::text_index;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_sandbox as sandbox;

pub use client::{ClientConfig, ConfiguredAddress, env_url, load_client};
pub use convert::grant_request_file::parse as parse_grant_request;
pub use convert::{validate_scope, validate_token_name};
pub use error::{ConfigError, Diagnostic};
#[cfg(feature = "registry")]
use larder_registry::LOCK_FILE;
#[cfg(feature = "registry")]
use larder_registry::source::RegistryComponent;
#[cfg(feature = "registry")]
pub use larder_registry::source::RegistryConfig;
use parse_context::{ParseContext, location};
pub use project::{Development, PROJECT_FILE, Project, load_project};
pub use reload::{AuthReload, ConfigReload};
pub use value::AdminAddress;
pub use value::{parse_admin_address, parse_listen_address};
#[cfg(not(feature = "registry"))]
use without_registry::LOCK_FILE;
#[cfg(not(feature = "registry"))]
pub use without_registry::RegistryConfig;
/// This type has one value, which no configuration contains: without the feature `registry`, references are refused.
#[cfg(not(feature = "registry"))]
type RegistryComponent = ();

/// The configuration file that is read if it exists and `--config` does not name another file.
pub const DEFAULT_FILE: &str = "larder.toml";

/// This type has no values: without the feature `cluster`, `[cluster]` is refused.
#[cfg(not(feature = "cluster"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterConfig {}

/// The complete, validated configuration. Defaults are filled in and paths are absolute.
#[derive(Debug, Clone)]
pub struct Config {
    /// All teams by name. A file without `[team.*]` has only the team `default`.
    pub teams: BTreeMap<TeamName, Team>,
    /// The folder for approvals and sessions.
    pub state_dir: PathBuf,
    /// The folders that may be the state folder, the default first. Empty if the configuration or the service manager
    /// determines the folder.
    pub default_state_dirs: Vec<PathBuf>,
    /// The folder with the components from registries.
    pub registry_store: PathBuf,
    /// The caller on whose behalf stdio and in-process clients make requests.
    pub local_caller: Caller,
    /// The audit log of reads.
    pub audit: audit::Config,
    /// OpenTelemetry traces.
    pub telemetry: telemetry::Config,
    /// The connection to the other replicas. `None` if this is the only server.
    pub cluster: Option<ClusterConfig>,
    /// The admin address: health, metrics and status.
    pub admin: admin::Config,
    /// The MCP endpoint: HTTP and stdio.
    pub endpoint: endpoint::Config,
    /// The gateway: paging, instructions and the response cache.
    pub gateway: gateway::Config,
    /// The limits of the full-text index of each team.
    pub text_index: text_index::Limits,
    /// The maximum number of URIs that one client may watch.
    pub watched_uris: usize,
    /// How often watched URIs are checked for changes.
    pub change_detector: change_detector::Config,
    /// The sandbox: guest slots and the compiler.
    pub sandbox: sandbox::Config,
    /// How long the server is not ready after its start while components are not served yet.
    pub ready_timeout: Duration,
    /// How long requests in flight may continue after shutdown begins.
    pub shutdown_grace: Duration,
    /// Which log events are written, and in which format.
    pub log: Log,
    /// The configuration file. It may not exist yet. `None` if no file is used.
    pub file: Option<PathBuf>,
    /// The fingerprint of that file, taken before it was read.
    pub fingerprint: Option<FileFingerprint>,
    /// The files of secrets.
    pub secret_files: SecretFiles,
    /// What is unusual in the file but not an error.
    pub warnings: Vec<Diagnostic>,
    /// The command line options.
    pub overrides: Overrides,
    /// Whether the only client is on standard input or in this process.
    pub is_over_stdio: bool,
}

/// Files of secrets with their fingerprints, which were taken before the files were read. `None` for a path that is not
/// a regular file.
pub type SecretFiles = BTreeMap<PathBuf, Option<FileFingerprint>>;

/// The configuration of one team.
#[derive(Debug, Clone)]
pub struct Team {
    /// The folder with the team's components.
    pub plugins: PathBuf,
    /// The components that are inside the program.
    pub builtin: BuiltinComponents,
    /// The components that come from registries.
    pub registry: RegistryConfig,
    /// The grant of each provider, and how components are loaded.
    pub reconcile: reconcile::Config,
    /// The secrets that the host may add to requests of the team's providers.
    pub credentials: TeamCredentials,
    /// The limits for the whole team. `None` if the file has no `[team.*]`.
    pub quota: Option<Quota>,
}

impl Config {
    /// The secrets that the host may add to requests of guests, by team.
    pub fn credentials(&self) -> BTreeMap<TeamName, TeamCredentials> {
        let teams = self.teams.iter();
        teams
            .map(|(name, team)| (name.clone(), team.credentials.clone()))
            .collect()
    }

    /// Requires that all plugins folders exist, except those of teams with built-in providers. For commands that run
    /// once; a server waits for its folders instead.
    pub fn require_plugins_folders(self) -> Result<Self, ConfigError> {
        let missing = self
            .teams
            .iter()
            .filter(|(_, team)| team.is_without_components());
        let diagnostics: Vec<_> = missing
            .map(|(name, team)| self.missing_folder(name, team))
            .collect();
        if diagnostics.is_empty() {
            Ok(self)
        } else {
            Err(ConfigError::without_file(diagnostics))
        }
    }

    fn missing_folder(&self, name: &TeamName, team: &Team) -> Diagnostic {
        let key = self.key_of_plugins(name, team);
        let plugins = team.plugins.display();
        let message = format!("there is no folder {plugins}: create it, or name another one");
        Diagnostic::without_line(key, message)
    }

    /// Returns the key or the option that names the plugins folder of a team.
    fn key_of_plugins(&self, name: &TeamName, team: &Team) -> String {
        if self.overrides.names_plugins_of(name) {
            return "--plugins".into();
        }
        match team.quota {
            Some(_) => format!("team.{name}.plugins"),
            None => "plugins".to_owned(),
        }
    }

    /// Checks the configuration of an HTTP server: requests without credentials need a team if no credentials
    /// are configured.
    pub fn over_http(self) -> Result<Self, ConfigError> {
        if !self.endpoint.auth.is_empty() {
            return Ok(self);
        }
        self.require_known_teams(
            &self.endpoint.caller,
            "server.teams",
            "requests without credentials belong",
        )?;
        Ok(self)
    }

    /// Adapts the configuration to a single client on standard input or in this process.
    pub fn over_stdio(mut self) -> Result<Self, ConfigError> {
        let what = "this client belongs, or use `--team NAME`";
        self.require_known_teams(&self.local_caller, "stdio.teams", what)?;
        self.endpoint.caller = self.local_caller.clone();
        self.leave_cluster();
        self.is_over_stdio = true;
        Ok(self)
    }

    fn leave_cluster(&mut self) {
        if self.cluster.take().is_some() {
            let message = "has no effect on a server for one client on standard input";
            self.warnings
                .push(Diagnostic::without_line("cluster", message));
        }
    }

    fn require_known_teams(
        &self,
        caller: &Caller,
        key: &str,
        what: &str,
    ) -> Result<(), ConfigError> {
        let mut teams = caller.teams.iter();
        if teams.all(|team| self.teams.contains_key(team)) {
            return Ok(());
        }
        let teams: Vec<_> = self.teams.keys().map(TeamName::as_str).collect();
        let message = format!(
            "there are several teams ({}): specify to which of them {what}",
            teams.join(", ")
        );
        let diagnostics = vec![Diagnostic::without_line(key, message)];
        Err(ConfigError::without_file(diagnostics))
    }
}

impl Team {
    /// Whether its plugins folder is missing, and it has no built-in provider.
    fn is_without_components(&self) -> bool {
        self.builtin.is_empty() && !self.plugins.exists()
    }
}

/// The log configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The `tracing` filter, such as `info`, or `info,larder::provider=off` to hide log lines of
    /// providers.
    pub filter: String,
    /// The output format.
    pub format: LogFormat,
    /// Maximum number of bytes per second.
    pub bytes_per_second: u64,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Human-readable text.
    Text,
    /// One JSON object per line.
    Json,
}

/// Command line options that override the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The configuration file.
    pub config: Option<PathBuf>,
    /// The folder with the components.
    pub plugins: Option<PathBuf>,
    /// The team to which `plugins` belongs, and for which this process makes requests.
    pub team: Option<TeamName>,
    /// The state folder, if the configuration does not determine it.
    pub state_dir: Option<PathBuf>,
    /// The address to listen on.
    pub listen: Option<ListenAddress>,
    /// The admin address.
    pub admin: Option<AdminAddress>,
    /// Whether clients are offered the server's own tools. Overrides the file.
    pub resource_tools: bool,
    /// Whether exactly the components in the lock file are served.
    pub locked: bool,
}

impl Overrides {
    /// Whether the option `--plugins` is for this team.
    fn names_plugins_of(&self, team: &TeamName) -> bool {
        self.plugins.is_some() && self.team.as_ref().is_none_or(|named| named == team)
    }
}

/// Environment variables, for `${NAME}` and grants.
type Env = BTreeMap<String, String>;

/// Loads the configuration from the file that `--config` names, or else from `larder.toml` in the working directory. If
/// `larder.toml` does not exist, all defaults apply.
pub fn load(overrides: &Overrides) -> Result<Config, ConfigError> {
    load_with(overrides, false)
}

fn load_with(overrides: &Overrides, auth_active: bool) -> Result<Config, ConfigError> {
    let (path, context) = location(overrides, auth_active)?;
    let fingerprint = FileFingerprint::of(&path).ok();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && overrides.config.is_none() => {
            String::new()
        }
        Err(error) => return Err(ConfigError::Unreadable { path, error }),
    };
    Ok(Config {
        fingerprint,
        ..parse(&text, &context, &environment(), overrides)?
    })
}

/// Loads a configuration that is not in a file. Its paths are absolute.
pub fn of_text(text: &str, overrides: &Overrides) -> Result<Config, ConfigError> {
    let (_, context) = location(overrides, false)?;
    let context = ParseContext {
        file: None,
        ..context
    };
    parse(text, &context, &environment(), overrides)
}

/// Checks a text before it becomes the configuration file.
#[cfg(feature = "registry")]
pub fn check_text(text: &str, overrides: &Overrides) -> Result<(), ConfigError> {
    let (_, context) = location(overrides, false)?;
    parse(text, &context, &environment(), overrides).map(drop)
}

/// Returns the token in `LARDER_TOKEN` or `LARDER_ADMIN_TOKEN`. An empty value counts as unset.
pub fn env_token(name: &str) -> Option<String> {
    environment()
        .remove(name)
        .filter(|token| !token.trim().is_empty())
}

/// Returns a variable that names the location of files of other programs, or a variable that a command names.
pub fn variable(name: &str) -> Option<String> {
    environment().remove(name).filter(|value| !value.is_empty())
}

/// Returns the state folder of this user, which does not depend on a configuration.
pub fn user_state_dir() -> Option<PathBuf> {
    let state = absolute_path("XDG_STATE_HOME");
    let state = state.or_else(|| Some(absolute_path("HOME")?.join(".local/state")));
    Some(state?.join("larder"))
}

/// Returns the absolute path in a variable.
fn absolute_path(name: &str) -> Option<PathBuf> {
    variable(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// Returns the name of the user who runs this process, to record who approved a grant.
pub fn operator_name() -> String {
    let env = environment();
    let name = ["SUDO_USER", "USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| env.get(name));
    name.cloned().unwrap_or_else(|| "unknown".into())
}

/// Returns the default configuration for a folder of components. Ignores configuration files and environment variables,
/// except variables that locate the cache of compiled components.
pub fn without_file(plugins: &Path, others: &Overrides) -> Result<Config, ConfigError> {
    let overrides = Overrides {
        config: None,
        plugins: Some(plugins.to_owned()),
        ..others.clone()
    };
    let context = ParseContext::of_folder(plugins);
    let mut config = parse("", &context, &cache_variables(), &overrides)?;
    for team in config.teams.values_mut() {
        team.reconcile.requires_settings = false;
    }
    Ok(config)
}

/// The variables that locate the cache of compiled components.
fn cache_variables() -> Env {
    let mut env = environment();
    env.retain(|name, _| ["HOME", "XDG_CACHE_HOME"].contains(&name.as_str()));
    env
}

/// Whether the environment allows coloured terminal output (<https://no-color.org>).
pub fn allows_colour() -> bool {
    let env = environment();
    env.get("NO_COLOR").is_none_or(String::is_empty)
        && env.get("TERM").is_none_or(|term| term != "dumb")
}

fn parse(
    text: &str,
    context: &ParseContext,
    env: &Env,
    overrides: &Overrides,
) -> Result<Config, ConfigError> {
    let refuse = |diagnostics| ConfigError::Invalid {
        file: context.file.clone(),
        diagnostics,
    };
    let (raw, source, mut diagnostics) = parser::parse(text, Some(env)).map_err(refuse)?;
    diagnostics.extend(features::check(&source));
    let config = convert::convert(raw, context, env, overrides, &source, &mut diagnostics);
    error::require_no_errors(diagnostics).map_err(refuse)?;
    Ok(config)
}

// Skips variables that are not UTF-8: a TOML file can neither name nor contain them.
fn environment() -> Env {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests;
