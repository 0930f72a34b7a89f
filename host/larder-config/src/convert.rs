//! Converts the parsed file into the `Config`. All defaults are set here, except the defaults of `Limits` and `Quota`.
//! These are in `policy`, because they also apply without a configuration file.

mod admin;
mod audit;
mod auth;
mod ceiling;
#[cfg(feature = "cluster")]
mod cluster;
mod compiler;
mod component;
mod connections;
pub(super) mod grant_request_file;
mod log_filter;
mod memory;
mod name_case;
mod own_files;
mod provider;
#[cfg(feature = "registry")]
mod registries;
mod secret;
mod server;
mod socket;
mod state;
mod team;
mod telemetry;
#[cfg(feature = "registry")]
mod trust;
#[cfg(not(feature = "registry"))]
mod without_registries;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io::Read as _;
use std::mem;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;

pub use self::auth::{validate_scope, validate_token_name};
use self::team::GlobalSettings;
#[cfg(not(feature = "registry"))]
use self::{without_registries as registries, without_registries as trust};
use super::file::{self, File, Search, Watch};
use super::parser::Source;
use super::value::{DurationOrNever, HumanDuration, SettingValue, function_settings};
use super::{Config, Diagnostic, Env, Overrides, ParseContext, SecretFiles};
use larder_core::change_detector;
use larder_mcp as endpoint;
use larder_model::name::{StateName, TeamName, Teams};
use larder_model::policy::{GrantRequest, Limits, OwnFiles};
use larder_model::size;
use larder_model::text_index;
use larder_sandbox as sandbox;

pub(super) fn convert(
    mut file: File,
    context: &ParseContext,
    env: &Env,
    overrides: &Overrides,
    source: &Source<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Config {
    let mut conversion = Conversion::new(context, env, source, diagnostics);
    conversion.own_files = own_files::of_host(&file, context, env);
    let global = conversion.global_settings(&mut file, overrides);
    let has_teams = !file.team.is_empty();
    let settings = conversion.all_team_settings(&global, &mut file);
    let state_dir = conversion.team_state_dir(&global, &settings);
    let teams = conversion.build_teams(&global, settings, &state_dir);
    #[cfg(feature = "cluster")]
    let cluster = conversion.cluster(file.cluster, &global.secrets.values, &teams);
    #[cfg(not(feature = "cluster"))]
    let cluster = None;
    conversion.set_team_order(file.server.team_order.as_ref());
    let anonymous_teams = conversion.teams_or_implied(file.server.teams.as_ref());
    let local_teams = conversion.local_teams(file.stdio.teams.as_ref(), overrides);
    let auth = conversion.auth(file.auth);
    let listen = conversion.listen(&file.server, overrides, auth.is_empty());
    let log = conversion.log(&file.server);
    let connections = conversion.connection_limits(&file.server);
    let is_private = has_teams || !auth.is_empty();
    let shared_teams = auth::shared_teams(&auth, [&anonymous_teams, &local_teams]);
    Config {
        admin: conversion.admin(&file.admin, &file.server, overrides, auth.oauth.is_some()),
        audit: conversion.audit(&file.audit),
        telemetry: conversion.telemetry(&file.telemetry),
        cluster,
        gateway: server::gateway(
            &file.server,
            &file.cache,
            &file.search,
            is_private,
            shared_teams,
        ),
        text_index: text_index(&file.search),
        watched_uris: count(file.server.watched_uris, 1_000) as usize,
        change_detector: change_detector(&file.watch),
        sandbox: sandbox::Config {
            slots: count(file.server.guests, 256),
            memory: conversion.memory_budget(file.server.memory.as_ref()),
            log: log.bytes_per_second,
            log_each_fault: false,
            compiler: compiler::compiler(file.compiler, context, env),
        },
        shutdown_grace: time(file.server.shutdown_grace, 10),
        ready_timeout: server::ready_timeout(&file.server),
        local_caller: server::caller(file.stdio.subject, local_teams),
        endpoint: server::endpoint(file.server, listen, connections, auth, anonymous_teams),
        file: context.file_path(),
        fingerprint: None,
        default_state_dirs: conversion.possible_state_dirs(global.state_dir.as_ref(), overrides),
        secret_files: conversion.secret_files,
        warnings: conversion.warnings,
        overrides: overrides.clone(),
        is_over_stdio: false,
        registry_store: global.registries.store_in(&state_dir),
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
    time_or_never(watch.missing_folder_grace, 30).unwrap_or_default()
}

fn change_detector(watch: &Watch) -> change_detector::Config {
    change_detector::Config {
        version_interval: time(watch.version_interval, 2),
        read_interval: time_or_never(watch.read_interval, 10),
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
        // Symlinks are resolved: the operator approves this folder, not a folder to which the link may point later.
        dir.host = dir.host.canonicalize().unwrap_or_else(|_| dir.host.clone());
        dir.is_canonical = true;
    }
    GrantRequest {
        settings: setting_texts(raw.settings),
        dirs,
        hosts: raw.hosts.into_iter().map(|host| host.0).collect(),
        tcp: raw.tcp.into_iter().map(|rule| rule.0).collect(),
        env: raw
            .env
            .into_iter()
            .map(|name| (name.get_ref().clone(), env.get(name.get_ref()).cloned()))
            .collect(),
        // A request only names secrets. Their values are in the operator's configuration.
        secrets: raw.secrets.into_iter().map(|name| (name, None)).collect(),
        key_value: raw.key_value.0,
        tools: raw.tools.0,
        prompts: raw.prompts,
        skills: raw.skills,
        apps: raw.apps.0,
        functions: function_settings(raw.functions, raw.resources),
    }
}

fn setting_texts(raw: BTreeMap<String, SettingValue>) -> BTreeMap<String, String> {
    raw.into_iter()
        .map(|(name, value)| (name, value.0))
        .collect()
}

fn count(raw: Option<NonZeroU32>, default: u32) -> u32 {
    raw.map_or(default, NonZeroU32::get)
}

fn text_index(search: &Search) -> text_index::Limits {
    let default = text_index::Limits::default();
    text_index::Limits {
        bytes: search.max_bytes.map_or(default.bytes, |size| size.0),
        ..default
    }
}

/// Returns the absolute path in a variable.
fn absolute_path(env: &Env, name: &str) -> Option<PathBuf> {
    env.get(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

fn time(raw: Option<HumanDuration>, seconds: u64) -> Duration {
    raw.map_or(Duration::from_secs(seconds), |time| time.0)
}

fn time_or_never(raw: Option<DurationOrNever>, seconds: u64) -> Option<Duration> {
    raw.map_or(Some(Duration::from_secs(seconds)), |time| time.0)
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
    /// What is unusual but not an error.
    warnings: Vec<Diagnostic>,
    /// The known files of the host.
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
        Self {
            context,
            env,
            team_names: BTreeSet::new(),
            team_order: None,
            source,
            diagnostics,
            warnings: Vec::new(),
            own_files: OwnFiles::default(),
            secret_files: SecretFiles::new(),
        }
    }

    /// Returns the value of a variable. An empty value counts as unset.
    fn variable(&self, name: &str) -> Option<&'a String> {
        self.env.get(name).filter(|value| !value.is_empty())
    }
}

impl Conversion<'_> {
    /// Takes what applies to all teams out of the file.
    fn global_settings<'o>(
        &mut self,
        file: &mut File,
        overrides: &'o Overrides,
    ) -> GlobalSettings<'o> {
        self.check_memory(file.limits.memory.as_ref());
        let secrets = self.load_secrets(mem::take(&mut file.secret));
        let state_name = file.state_name.as_ref();
        GlobalSettings {
            limits: provider::limits(&Limits::default(), &file.limits),
            approve: file.approve,
            trust: self.trust_rule("[trust]".into(), &file.trust, None),
            registries: self.registries(
                mem::take(&mut file.registries),
                &secrets.values,
                overrides,
            ),
            secrets,
            state_dir: file.state_dir.take(),
            state_name: state_name.and_then(|name| self.parse_value(name, StateName::parse)),
            scan_interval: time(file.watch.scan_interval, 2),
            missing_source_grace: missing_folder_grace(&file.watch),
            resource_tools: overrides.resource_tools || file.server.resource_tools.unwrap_or(false),
            overrides,
        }
    }

    fn warn(&mut self, at: &Range<usize>, message: impl Into<String>) {
        self.warnings.push(self.source.diagnostic(at, message));
    }

    fn error(&mut self, at: &Range<usize>, message: impl Into<String>) {
        self.diagnostics.push(self.source.diagnostic(at, message));
    }

    /// Returns the value, or reports the error at this position.
    fn ok_or_report<T, E: Display>(
        &mut self,
        at: &Range<usize>,
        result: Result<T, E>,
    ) -> Option<T> {
        result
            .map_err(|error| self.error(at, error.to_string()))
            .ok()
    }

    /// Reports an error in a command line option or in a default, which has no line in the file.
    fn error_for_key(&mut self, key: &str, message: String) {
        self.diagnostics
            .push(Diagnostic::without_line(key, message));
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
        // A missing folder is not an error here: a server waits for the folder, and other commands check it themselves.
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
}

/// Reads a text file whose size is limited.
fn read_up_to(path: &Path, limit: u64) -> Result<String, String> {
    let mut text = String::new();
    let file = std::fs::File::open(path);
    let result = file.and_then(|file| file.take(limit + 1).read_to_string(&mut text));
    match result {
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        Ok(size) if size as u64 > limit => Err(format!(
            "{} is larger than {}",
            path.display(),
            size::show(limit)
        )),
        Ok(_) => Ok(text),
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
