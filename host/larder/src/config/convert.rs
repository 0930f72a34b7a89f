//! Converts the parsed file into the `Config`. All defaults are set here, except those of `Limits` and
//! `Quota`: they are in `policy`, because they also apply without a configuration file.

mod admin;
mod audit;
mod auth;
#[cfg(feature = "cluster")]
mod cluster;
mod compiler;
mod connections;
mod log_filter;
mod memory;
mod own_files;
mod provider;
#[cfg(feature = "registry")]
mod registries;
mod secret;
mod socket;
mod state;
mod team;
mod telemetry;
#[cfg(feature = "registry")]
mod trust;
#[cfg(not(feature = "registry"))]
mod without_registries;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;

pub(crate) use self::auth::{validate_scope, validate_token_name};
use self::connections::ConnectionLimits;
use self::socket::WrittenAt;
use self::team::GlobalSettings;
#[cfg(not(feature = "registry"))]
use self::{without_registries as registries, without_registries as trust};
use super::file::{self, File, Server, Watch};
use super::parser::Source;
use super::value::HumanDuration;
use super::{Config, Diagnostic, Env, Log, LogFormat, Overrides, ParseContext, SecretFiles};
use larder_core::change_detector;
use larder_core::gateway;
use larder_mcp::{self as endpoint, ListenAddress};
use larder_model::name::{StateName, TeamName, Teams};
use larder_model::policy::{GrantRequest, Limits, OwnFiles};
use larder_model::resource::Caller;
use larder_sandbox as sandbox;

/// A client that reads nothing for this long is disconnected.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a session may be idle, by default.
const SESSION_IDLE_SECONDS: u64 = 30 * 60;

pub(super) fn convert(
    file: File,
    context: &ParseContext,
    env: &Env,
    overrides: &Overrides,
    source: &Source<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Config {
    let own_files = own_files::of_host(&file, context, env);
    let mut conversion = Conversion {
        own_files,
        ..Conversion::new(context, env, source, diagnostics)
    };
    conversion.check_memory(file.limits.memory.as_ref());
    let memory = conversion.memory_budget(file.server.memory.as_ref());
    let secrets = conversion.load_secrets(file.secret);
    let global = GlobalSettings {
        limits: provider::limits(&Limits::default(), &file.limits),
        approve: file.approve,
        trust: conversion.trust_rule("[trust]".into(), &file.trust, None),
        registries: conversion.registries(file.registries, &secrets, overrides),
        secrets,
        state_dir: file.state_dir,
        state_name: file
            .state_name
            .and_then(|name| conversion.parse_value(&name, StateName::parse)),
        scan_interval: time(file.watch.scan_interval, 2),
        missing_source_grace: missing_folder_grace(&file.watch),
        resource_tools: overrides.resource_tools || file.server.resource_tools.unwrap_or(false),
        overrides,
    };
    let has_teams = !file.team.is_empty();
    let (teams, state_dir) =
        conversion.build_teams(&global, file.plugins.as_ref(), file.provider, file.team);
    let default_state_dirs = conversion.possible_state_dirs(global.state_dir.as_ref(), overrides);
    conversion.team_names = teams.keys().cloned().collect();
    #[cfg(feature = "cluster")]
    let cluster = conversion.cluster(file.cluster, &file.server, &global.secrets, &teams);
    #[cfg(not(feature = "cluster"))]
    let cluster = None;
    conversion.set_team_order(file.server.team_order.as_ref());
    let anonymous_teams = conversion.teams_or_implied(file.server.teams.as_ref());
    let stdio_teams = conversion.teams_or_implied(file.stdio.teams.as_ref());
    let team = overrides
        .team
        .clone()
        .filter(|team| teams.contains_key(team));
    let local_teams = team.map_or(stdio_teams, Teams::from);
    let auth = conversion.auth(file.auth);
    let private = has_teams || !auth.is_empty();
    let listen = conversion.listen(&file.server, overrides, auth.is_empty());
    let log = conversion.log(&file.server);
    let admin = conversion.admin(&file.admin, &file.server, overrides, auth.oauth.is_some());
    let audit = conversion.audit(&file.audit);
    let connections = conversion.connection_limits(&file.server);
    let telemetry = conversion.telemetry(&file.telemetry);
    let Server {
        instructions,
        page_size,
        watched_uris,
        guests,
        shutdown_grace,
        ..
    } = &file.server;
    Config {
        admin,
        audit,
        telemetry,
        cluster,
        gateway: gateway::Config {
            page_size: gateway::PageSize {
                resources: page_size.resources.unwrap_or(1_000),
                templates: page_size.templates.unwrap_or(1_000),
            },
            instructions: instructions.clone(),
            cache: gateway::CacheConfig {
                bytes: file.cache.bytes.map_or(64 << 20, |size| size.0),
                entries: file.cache.entries.unwrap_or(10_000) as usize,
            },
            private,
            shared_teams: auth::shared_teams(&auth, [&anonymous_teams, &local_teams]),
        },
        watched_uris: count(*watched_uris, 1_000) as usize,
        change_detector: change_detector(&file.watch),
        sandbox: sandbox::Config {
            slots: count(*guests, 256),
            memory,
            log: log.bytes_per_second,
            compiler: compiler::compiler(file.compiler, context, env),
        },
        shutdown_grace: time(*shutdown_grace, 10),
        ready_timeout: ready_timeout(&file.server),
        local_caller: Caller {
            subject: file.stdio.subject,
            issuer: None,
            teams: local_teams,
            scopes: Vec::new(),
        },
        endpoint: endpoint(file.server, listen, connections, auth, anonymous_teams),
        file: context
            .file
            .as_ref()
            .map(|file| context.working_dir.join(file)),
        fingerprint: None,
        secret_files: conversion.secret_files,
        warnings: conversion.warnings,
        overrides: overrides.clone(),
        is_over_stdio: false,
        registry_store: global.registries.store_in(&state_dir),
        default_state_dirs,
        teams,
        state_dir,
        log,
    }
}

/// Converts only the credentials. Accesses no folder and no other file.
pub(super) fn credentials(
    file: File,
    context: &ParseContext,
    env: &Env,
    source: &Source<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> endpoint::auth::Config {
    let names = file
        .team
        .keys()
        .filter_map(|name| TeamName::parse(name.get_ref()).ok());
    let team_names = if file.team.is_empty() {
        [TeamName::default_team()].into()
    } else {
        names.collect()
    };
    Conversion {
        team_names,
        ..Conversion::new(context, env, source, diagnostics)
    }
    .auth(file.auth)
}

fn missing_folder_grace(watch: &Watch) -> Duration {
    watch
        .missing_folder_grace
        .map_or(Duration::from_secs(30), |time| time.0.unwrap_or_default())
}

fn ready_timeout(server: &Server) -> Duration {
    server
        .ready_timeout
        .map_or(Duration::from_secs(30), |time| time.0.unwrap_or_default())
}

fn change_detector(watch: &Watch) -> change_detector::Config {
    change_detector::Config {
        version_interval: time(watch.version_interval, 2),
        read_interval: watch
            .read_interval
            .map_or(Some(Duration::from_secs(10)), |time| time.0),
    }
}

/// Converts the grant request of a component.
pub(super) fn grant_request(
    raw: file::GrantRequest,
    context: &ParseContext,
    env: &Env,
    source: &Source<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> GrantRequest {
    let mut conversion = Conversion::new(context, env, source, diagnostics);
    let mut dirs = conversion.dirs(&raw.dirs);
    for dir in &mut dirs {
        // Resolves symlinks: the operator approves this folder, not what the link may point to later.
        dir.host = dir.host.canonicalize().unwrap_or_else(|_| dir.host.clone());
        dir.is_canonical = true;
    }
    GrantRequest {
        settings: raw
            .settings
            .into_iter()
            .map(|(name, value)| (name, value.0))
            .collect(),
        dirs,
        hosts: raw.hosts.into_iter().map(|host| host.0).collect(),
        tcp: raw.tcp.into_iter().map(|rule| rule.0).collect(),
        env: raw
            .env
            .into_iter()
            .map(|name| (name.get_ref().clone(), env.get(name.get_ref()).cloned()))
            .collect(),
        // A request names secrets; their values come from the operator's configuration.
        secrets: raw.secrets.into_iter().map(|name| (name, None)).collect(),
        key_value: raw.key_value.0,
        tools: raw.tools.0,
        prompts: raw.prompts,
    }
}

fn endpoint(
    server: Server,
    listen: ListenAddress,
    ConnectionLimits {
        streams,
        connections,
    }: ConnectionLimits,
    auth: endpoint::auth::Config,
    anonymous_teams: Teams,
) -> endpoint::Config {
    endpoint::Config {
        listen,
        hosts: server
            .hosts
            .unwrap_or_default()
            .into_iter()
            .map(|name| name.0)
            .collect(),
        origins: server
            .origins
            .unwrap_or_default()
            .into_iter()
            .map(|origin| origin.0)
            .collect(),
        body_limit: server.body_limit.map_or(1 << 20, |size| size.0),
        sessions: count(server.sessions, 1_000) as usize,
        session_idle_timeout: time(server.session_idle_timeout, SESSION_IDLE_SECONDS),
        streams,
        connections,
        waiting_bytes: server.waiting_bytes.map_or(256 << 20, |size| size.0),
        keep_alive: time(server.keep_alive, 15),
        stall_timeout: STALL_TIMEOUT,
        shutdown_grace: time(server.shutdown_grace, 10),
        request_log: request_log(server.log.requests),
        trusted_proxies: server
            .trusted_proxies
            .into_iter()
            .map(|proxy| proxy.0)
            .collect(),
        auth,
        caller: Caller {
            subject: None,
            issuer: None,
            teams: anonymous_teams,
            scopes: Vec::new(),
        },
        title: server.title,
        extensions: server
            .extensions
            .into_iter()
            .map(endpoint::Extension::from)
            .collect(),
    }
}

fn request_log(raw: Option<file::Requests>) -> endpoint::RequestLogMode {
    match raw {
        Some(file::Requests::Off) => endpoint::RequestLogMode::Off,
        None | Some(file::Requests::Errors) => endpoint::RequestLogMode::Errors,
        Some(file::Requests::All) => endpoint::RequestLogMode::All,
    }
}

fn count(raw: Option<NonZeroU32>, default: u32) -> u32 {
    raw.map_or(default, NonZeroU32::get)
}

fn time(raw: Option<HumanDuration>, seconds: u64) -> Duration {
    raw.map_or(Duration::from_secs(seconds), |time| time.0)
}

struct Conversion<'a> {
    context: &'a ParseContext,
    env: &'a Env,
    /// The names of all configured teams.
    team_names: BTreeSet<TeamName>,
    /// The order of teams for all callers; none if the order of each caller's teams decides.
    team_order: Option<Teams>,
    source: &'a Source<'a>,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// What is unusual, but no error.
    warnings: Vec<Diagnostic>,
    /// The files of the host, as far as they are known.
    own_files: OwnFiles,
    /// The files of secrets that were read.
    secret_files: SecretFiles,
}

impl<'a> Conversion<'a> {
    fn new(
        context: &'a ParseContext,
        env: &'a Env,
        source: &'a Source<'a>,
        diagnostics: &'a mut Vec<Diagnostic>,
    ) -> Self {
        let (team_names, team_order, warnings, own_files, secret_files) = Default::default();
        Self {
            context,
            env,
            team_names,
            team_order,
            source,
            diagnostics,
            warnings,
            own_files,
            secret_files,
        }
    }
}

impl Conversion<'_> {
    fn warn(&mut self, at: &Range<usize>, message: impl Into<String>) {
        self.warnings.push(self.source.diagnostic(at, message));
    }

    fn error(&mut self, at: &Range<usize>, message: impl Into<String>) {
        self.diagnostics.push(self.source.diagnostic(at, message));
    }

    /// Reports an error in a command line option or a default, which has no line in the file.
    fn error_for_key(&mut self, key: &str, message: String) {
        self.diagnostics.push(Diagnostic {
            line: None,
            key: key.into(),
            message,
        });
    }

    /// Returns the plugins folder of a team: from the command line, from the file, or the default.
    fn plugins(
        &mut self,
        raw: Option<&Spanned<PathBuf>>,
        option: Option<&Path>,
        default: &str,
    ) -> PathBuf {
        let (at, path) = match (option, raw) {
            (Some(path), _) => (None, self.context.working_dir.join(path)),
            (None, Some(path)) => (Some(path.span()), self.context.folder.join(path.get_ref())),
            (None, None) => (None, self.context.folder.join(default)),
        };
        // A missing folder is no error here: a server waits for it, and other commands check for it
        // themselves.
        if let (true, Err(message)) = (path.exists(), require_folder(&path)) {
            match at {
                Some(at) => self.error(&at, message),
                None if option.is_some() => self.error_for_key("--plugins", message),
                None => self.error_for_key(
                    "plugins",
                    format!("{message}, or name another with `--plugins DIR`"),
                ),
            }
        }
        path
    }

    /// Returns the address to listen on. A non-loopback address requires credentials, or an explicit
    /// `unauthenticated = true`.
    fn listen(&mut self, server: &Server, overrides: &Overrides, is_open: bool) -> ListenAddress {
        let unauthenticated = server
            .unauthenticated
            .as_ref()
            .filter(|flag| *flag.get_ref());
        if let Some(flag) = unauthenticated.filter(|_| !is_open) {
            let message = "contradicts the credentials in `auth`: remove one of the two";
            self.error(&flag.span(), message);
        }
        let raw = server.listen.as_ref();
        let listen = match self.listen_address(server, overrides) {
            ListenAddress::Tcp(address) if !address.ip().is_loopback() => address,
            // As on a loopback address, only clients on this machine can connect.
            local => return local,
        };
        let mut missing = Vec::new();
        if server.hosts.as_ref().is_none_or(Vec::is_empty) {
            missing.push("`server.hosts` with the names under which clients reach it");
        }
        if is_open && !self.context.auth_active && unauthenticated.is_none() {
            missing.push(
                "credentials (`larder token new` creates a token), or `server.unauthenticated = true` \
                 if anyone who reaches it may read everything",
            );
        }
        if !missing.is_empty() {
            let message = format!(
                "{listen} is reachable from outside this machine: set {}",
                missing.join(", and ")
            );
            match raw {
                Some(raw) if overrides.listen.is_none() => self.error(&raw.span(), message),
                _ => self.error_for_key("--listen", message),
            }
        }
        listen.into()
    }

    /// Returns the address on the command line, in the file, or the default.
    fn listen_address(&mut self, server: &Server, overrides: &Overrides) -> ListenAddress {
        let (address, at) = match (&overrides.listen, &server.listen) {
            (Some(address), _) => (address.clone(), WrittenAt::Option("--listen")),
            (None, Some(address)) => (address.get_ref().0.clone(), WrittenAt::File(address.span())),
            (None, None) => return SocketAddr::from((Ipv4Addr::LOCALHOST, 7878)).into(),
        };
        self.absolute_socket(address, server.socket_mode, &at)
    }

    fn log(&mut self, server: &Server) -> Log {
        let variable = self
            .env
            .get("LARDER_LOG")
            .filter(|filter| !filter.is_empty());
        let raw = server.log.filter.as_ref();
        let filter = variable
            .or(raw.map(|filter| filter.get_ref()))
            .map_or("info", String::as_str)
            .to_owned();
        if let Err(message) = log_filter::validate(&filter) {
            match raw {
                Some(raw) if variable.is_none() => self.error(&raw.span(), message),
                _ => self.error_for_key("LARDER_LOG", message),
            }
        }
        Log {
            filter,
            format: server.log.format.unwrap_or(LogFormat::Text),
            bytes_per_second: server.log.bytes_per_second.map_or(1 << 20, |size| size.0),
        }
    }
}

/// Requires that the path is an existing folder.
fn require_folder(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(format!("{} is not a folder", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("there is no folder {}: create it", path.display()))
        }
        Err(error) => Err(format!("cannot open {}: {error}", path.display())),
    }
}
