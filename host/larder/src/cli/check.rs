//! `larder check`: checks the configuration and all components without serving them.

mod addresses;
mod component;
pub(super) mod grants;
mod online;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use grants::GrantReport;
use online::{OnlineCheck, OnlineOutcome};

use super::admin_args::AdminArgs;
use super::error::CommandError;
use super::table::Table;
use super::team::TeamArg;
use super::{Outcome, guest_stderr, log, out, sanitize, state_folder};
use crate::app::{App, Provider, RejectedComponent, ServingReport, missing_state};
use larder_config::{self as config, Config, ConfigError, Overrides, Team};
use larder_mcp::ListenAddress;

/// Check the configuration and all components without serving them
///
/// With FILE.wasm, checks only that component: loads it, gets its description and lists, and reads its first
/// resource. If a call fails, prints the end of what the component wrote to stderr. It gets only the grants that
/// --config has for a provider of its name.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if there is a problem, and 64 if the configuration is invalid."
)]
pub(super) struct Check {
    /// Check only this component: a file, or builtin:NAME
    #[arg(value_name = "FILE.wasm", conflicts_with = "plugins")]
    file: Option<PathBuf>,
    /// The configuration file [default: larder.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder with the components [default: plugins]
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    #[command(flatten)]
    team: TeamArg,
    /// Treat warnings as problems
    #[arg(long, conflicts_with = "file")]
    strict: bool,
    /// Also test what the server needs from others: the OAuth issuer, the collector of traces, NATS, registries, granted
    /// hosts, and free addresses
    #[arg(long, conflicts_with = "file")]
    online: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The results, as printed with `--json`.
#[derive(Debug, Default, Serialize)]
struct Findings {
    ok: bool,
    /// Whether a server refuses the configuration.
    #[serde(skip)]
    is_invalid: bool,
    /// Problems of the configuration.
    faults: Vec<String>,
    /// What is unusual in the configuration but not a problem.
    warnings: Vec<String>,
    /// The secrets that providers can read. Some providers need theirs, so these warnings are never problems.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets_in_guests: Vec<String>,
    /// What was tested over the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    online: Vec<OnlineCheck>,
    /// The grants of each provider that has grants or requests grants.
    grants: Vec<GrantReport>,
    #[serde(flatten)]
    served: ServingReport,
}

impl Check {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        if let Some(file) = &self.file {
            return component::check(file, self.config, self.team, self.json).await;
        }
        let loaded = config::load(&self.overrides());
        let config = match loaded.and_then(Config::require_plugins_folders) {
            Ok(config) => state_folder::of_server(config, AdminArgs::of_config(self.config)).await,
            Err(error) => Err(error),
        };
        let findings = match config {
            Ok(config) => examine(config, self.strict, self.online).await?,
            Err(error) => configuration_faults(&error),
        };
        if self.json {
            out::json(&findings)?
        } else {
            findings.print()?
        }
        Ok(findings.outcome())
    }

    fn overrides(&self) -> Overrides {
        self.team
            .overrides(self.config.clone(), self.plugins.clone())
    }
}

fn configuration_faults(error: &ConfigError) -> Findings {
    Findings {
        is_invalid: true,
        faults: error.to_string().lines().map(str::to_owned).collect(),
        ..Findings::default()
    }
}

async fn examine(
    mut config: Config,
    is_strict: bool,
    is_online: bool,
) -> Result<Findings, CommandError> {
    log::start_quietly(&config.log);
    if let Some(only) = config.overrides.team.clone() {
        config.teams.retain(|team, _| *team == only);
    }
    let mut findings = Findings::default();
    for team in config.teams.values() {
        let reports = grants::of_team(team)?;
        let secrets = grants::secrets_in_guests(team, &reports);
        findings.secrets_in_guests.extend(secrets);
        findings.grants.extend(reports);
    }
    findings.add_configuration(&config);
    if is_online {
        // Its tests say more about the addresses.
        findings.online = online::examine(&config).await;
    } else {
        findings.add_addresses(&config);
    }
    findings.add_missing_state(&config);
    let app = App::build(config).await?;
    findings.add_served(app.served());
    findings.faults.extend(app.problems());
    app.finish().await;
    findings.ok = !findings.fails(is_strict);
    Ok(findings)
}

impl Findings {
    fn add_configuration(&mut self, config: &Config) {
        self.add_access(config);
        self.add_sockets(config);
        self.faults
            .extend(config.teams.values().flat_map(unused_sections));
        self.add_warnings(config);
    }

    fn add_access(&mut self, config: &Config) {
        let no_access = no_access(config);
        self.is_invalid = no_access.is_some();
        self.faults.extend(no_access);
    }

    fn add_sockets(&mut self, config: &Config) {
        let sockets = addresses::sockets(config).into_iter();
        self.faults
            .extend(sockets.filter_map(|(_, listen, _)| no_socket_folder(listen)));
    }

    fn add_warnings(&mut self, config: &Config) {
        let file = file_in_errors(config);
        let warnings = config.warnings.iter();
        self.warnings
            .extend(warnings.map(|warning| warning.in_file(Some(&file))));
    }

    fn add_addresses(&mut self, config: &Config) {
        let addresses = addresses::examine(config);
        self.faults.extend(addresses.faults);
        self.warnings.extend(addresses.warnings);
    }

    fn add_missing_state(&mut self, config: &Config) {
        let teams = config.teams.values();
        let missing = teams.filter_map(|team| missing_state(team, &config.state_dir));
        self.warnings.extend(missing);
    }

    fn add_served(&mut self, served: ServingReport) {
        let empty = served
            .providers
            .iter()
            .filter(|provider| provider.has_no_content);
        self.warnings.extend(empty.map(no_content));
        self.served = served;
    }

    fn fails(&self, is_strict: bool) -> bool {
        self.has_problem() || (is_strict && self.has_warning())
    }

    fn has_problem(&self) -> bool {
        let has_failed = |check: &OnlineCheck| check.outcome == OnlineOutcome::Failed;
        !self.faults.is_empty()
            || !self.served.rejected.is_empty()
            || !self.served.collisions.is_empty()
            || !self.grants.iter().all(GrantReport::is_fine)
            || self.served.providers.iter().any(is_faulty)
            || self.online.iter().any(has_failed)
    }

    fn has_warning(&self) -> bool {
        let is_ok = |check: &OnlineCheck| check.outcome == OnlineOutcome::Ok;
        self.strict_warning_count() > 0 || !self.online.iter().all(is_ok)
    }

    /// The number of warnings that are problems with `--strict`.
    fn strict_warning_count(&self) -> usize {
        let providers = self.served.providers.iter();
        let of_settings = providers.map(|provider| provider.setting_warnings.len());
        self.warnings.len() + of_settings.sum::<usize>()
    }

    fn warning_count(&self) -> usize {
        self.strict_warning_count() + self.secrets_in_guests.len()
    }

    fn outcome(&self) -> Outcome {
        if self.is_invalid {
            Outcome::InvalidConfig
        } else {
            Outcome::success_if(self.ok)
        }
    }
}

/// Returns the name of the configuration file, as errors name it.
fn file_in_errors(config: &Config) -> PathBuf {
    let file = config.overrides.config.clone();
    file.unwrap_or_else(|| config::DEFAULT_FILE.into())
}

fn is_faulty(provider: &Provider) -> bool {
    !provider.omitted.is_empty()
        || !provider.setting_problems.is_empty()
        || !provider.skill_problems.is_empty()
}

/// Reports a provider without content, for example a provider that serves files and has no folder.
fn no_content(provider: &Provider) -> String {
    let summary = provider
        .summary
        .as_deref()
        .map(|summary| format!(": {summary}"))
        .unwrap_or_default();
    format!(
        "{} has neither resources nor templates{summary}",
        provider.full_name()
    )
}

/// Reports several teams if none of them has authentication.
fn no_access(config: &Config) -> Option<String> {
    let error = config.clone().over_http().err()?;
    config.clone().over_stdio().err()?;
    Some(error.to_string())
}

/// Reports a Unix socket in a folder that does not exist.
fn no_socket_folder(listen: &ListenAddress) -> Option<String> {
    let ListenAddress::Unix { path, .. } = listen else {
        return None;
    };
    let folder = path.parent().filter(|folder| !folder.is_dir())?;
    Some(format!(
        "the server cannot listen on {listen}: there is no folder {}",
        folder.display()
    ))
}

/// Reports `[provider.NAME]` sections without a component. Otherwise a misspelt name would not be found.
fn unused_sections(team: &Team) -> impl Iterator<Item = String> {
    let plugins = &team.plugins;
    let section = provider_section(team);
    let unused = team
        .reconcile
        .providers
        .keys()
        .filter(|name| !team.builtin.contains_key(*name))
        .filter(|name| !has_file(plugins, &format!("{name}.wasm")));
    unused.map(move |name| {
        format!(
            "[{section}.{name}] has no component: there is no {name}.wasm in {}",
            plugins.display()
        )
    })
}

fn provider_section(team: &Team) -> String {
    if team.quota.is_some() {
        format!("team.{}.provider", team.reconcile.team)
    } else {
        "provider".into()
    }
}

/// Whether the folder has a file of this name, in the same case on each system.
fn has_file(folder: &Path, name: &str) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten();
    entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() == name))
}

impl Findings {
    fn print(&self) -> io::Result<()> {
        self.print_providers()?;
        self.print_grants()?;
        self.note_online();
        self.note_config();
        self.note_grants();
        self.note_served();
        if self.ok {
            self.note_success();
        }
        Ok(())
    }

    fn print_providers(&self) -> io::Result<()> {
        if self.served.providers.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(["PROVIDER", "VERSION", "OFFERS"]);
        for provider in &self.served.providers {
            table.row([
                &provider.full_name(),
                provider.version.as_deref().unwrap_or(""),
                &provider.counts(),
            ]);
        }
        out::text(&table.show())
    }

    fn print_grants(&self) -> io::Result<()> {
        let grants: String = self.grants.iter().map(GrantReport::show).collect();
        out::text(&grants)
    }

    fn note_online(&self) {
        for check in &self.online {
            out::note(&sanitize::line(&check.show()));
        }
    }

    fn note_config(&self) {
        for fault in &self.faults {
            out::note(fault);
        }
        for warning in self.warnings.iter().chain(&self.secrets_in_guests) {
            out::note(&format!("warning: {warning}"));
        }
    }

    fn note_grants(&self) {
        for problem in self.grants.iter().flat_map(GrantReport::problems) {
            out::note(&problem);
        }
    }

    fn note_served(&self) {
        for rejected in &self.served.rejected {
            note_rejected(rejected);
        }
        for provider in &self.served.providers {
            note_omitted(provider);
        }
        for provider in &self.served.providers {
            note_settings(provider);
        }
        for collision in &self.served.collisions {
            out::note(collision);
        }
    }

    fn note_success(&self) {
        match self.warning_count() {
            0 => out::note("no problems found"),
            1 => out::note("no problems found, but one warning"),
            count => out::note(&format!("no problems found, but {count} warnings")),
        }
    }
}

fn note_rejected(rejected: &RejectedComponent) {
    let name = rejected.full_name();
    out::note(&format!("{name} is rejected: {}", rejected.reason));
    guest_stderr::note(&name, &rejected.stderr);
}

fn note_omitted(provider: &Provider) {
    let name = provider.full_name();
    for why in &provider.omitted {
        out::note(&format!("{name}: omitted or changed: {why}"));
    }
}

fn note_settings(provider: &Provider) {
    let name = provider.full_name();
    for problem in &provider.setting_problems {
        out::note(&format!("{name}: {problem}"));
    }
    for problem in &provider.skill_problems {
        out::note(&sanitize::line(&format!("{name}: {problem}")));
    }
    for problem in &provider.setting_warnings {
        out::note(&format!("{name}: warning: {problem}"));
    }
}
