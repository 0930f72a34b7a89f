//! `larder check`: checks the configuration and all components without serving them.

mod addresses;
mod component;
pub(super) mod grants;
mod online;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use addresses::AddressReport;
use grants::GrantReport;
use online::{OnlineCheck, OnlineOutcome};

use super::admin_args::AdminArgs;
use super::error::CommandError;
use super::table::Table;
use super::team::TeamArg;
use super::{Outcome, guest_stderr, log, out, sanitize, state_folder};
use crate::app::{App, Provider, Served, missing_state};
use crate::config::{self, Config, ConfigError, Overrides, Team};
use larder_core::reconcile;
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
    /// Check only this component
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
    /// Also test what the server needs from others: the OAuth issuer, the collector of traces, and free addresses
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
    /// Problems of the configuration.
    faults: Vec<String>,
    /// What is unusual in the configuration, but no problem.
    warnings: Vec<String>,
    /// What was tested over the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    online: Vec<OnlineCheck>,
    /// The grants of each provider that has or requests any.
    grants: Vec<GrantReport>,
    #[serde(flatten)]
    served: Served,
}

impl Check {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        if let Some(file) = self.file {
            return component::check(&file, self.config, self.team, self.json).await;
        }
        let overrides = Overrides {
            config: self.config.clone(),
            plugins: self.plugins,
            team: self.team.team,
            ..Overrides::default()
        };
        let config = match config::load(&overrides).and_then(Config::require_plugins_folders) {
            Ok(config) => state_folder::of_server(config, AdminArgs::of_config(self.config)).await,
            Err(error) => Err(error),
        };
        let (findings, outcome) = match config {
            Ok(config) => examine(config, self.strict, self.online).await?,
            Err(error) => (configuration_faults(&error), Outcome::InvalidConfig),
        };
        if self.json {
            out::json(&findings)?
        } else {
            print(&findings)?
        }
        Ok(outcome)
    }
}

fn configuration_faults(error: &ConfigError) -> Findings {
    Findings {
        faults: error.to_string().lines().map(str::to_owned).collect(),
        ..Findings::default()
    }
}

async fn examine(
    mut config: Config,
    is_strict: bool,
    is_online: bool,
) -> Result<(Findings, Outcome), CommandError> {
    log::start_quietly(&config.log);
    if let Some(only) = config.overrides.team.clone() {
        config.teams.retain(|team, _| *team == only);
    }
    let mut grants = Vec::new();
    for team in config.teams.values() {
        grants.extend(grants::of_team(team)?);
    }
    let no_access = no_access(&config);
    let is_invalid = no_access.is_some();
    let mut faults: Vec<_> = no_access
        .into_iter()
        .chain(
            addresses::sockets(&config)
                .into_iter()
                .filter_map(|(_, listen, _)| no_socket_folder(listen)),
        )
        .chain(config.teams.values().flat_map(unused_sections))
        .collect();
    let online = if is_online {
        online::examine(&config).await
    } else {
        Vec::new()
    };
    // The tests of `--online` say more about the addresses.
    let addresses = if is_online {
        AddressReport::default()
    } else {
        addresses::examine(&config)
    };
    // Named as in errors.
    let file = config
        .overrides
        .config
        .clone()
        .unwrap_or_else(|| config::DEFAULT_FILE.into());
    let mut warnings: Vec<_> = config
        .warnings
        .iter()
        .map(|warning| warning.in_file(Some(&file)))
        .collect();
    warnings.extend(addresses.warnings);
    warnings.extend(
        config
            .teams
            .values()
            .filter_map(|team| missing_state(team, &config.state_dir)),
    );
    faults.extend(addresses.faults);
    let app = App::build(config).await?;
    let served = app.served();
    faults.extend(app.problems());
    app.finish().await;
    warnings.extend(
        served
            .providers
            .iter()
            .filter(|provider| provider.has_no_content)
            .map(no_content),
    );
    let incomplete = served
        .providers
        .iter()
        .any(|provider| !provider.omitted.is_empty());
    let has_setting_warnings = served
        .providers
        .iter()
        .any(|provider| !provider.setting_warnings.is_empty());
    let has_bad_settings = served
        .providers
        .iter()
        .any(|provider| !provider.setting_problems.is_empty());
    let ok = grants.iter().all(GrantReport::is_fine)
        && faults.is_empty()
        && served.rejected.is_empty()
        && served.collisions.is_empty()
        && !incomplete
        && !has_bad_settings
        && !online
            .iter()
            .any(|check| check.outcome == OnlineOutcome::Failed)
        && (!is_strict
            || warnings.is_empty()
                && !has_setting_warnings
                && online
                    .iter()
                    .all(|check| check.outcome == OnlineOutcome::Ok));
    let outcome = if is_invalid {
        Outcome::InvalidConfig
    } else {
        Outcome::success_if(ok)
    };
    Ok((
        Findings {
            ok,
            faults,
            warnings,
            online,
            grants,
            served,
        },
        outcome,
    ))
}

/// Reports a provider without content, such as one that serves files and was not granted a folder.
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

/// Reports several teams without authentication for any of them.
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

/// Reports `[provider.NAME]` sections without a component. A misspelt name would go unnoticed otherwise.
fn unused_sections(team: &Team) -> impl Iterator<Item = String> {
    let (
        plugins,
        reconcile::Config {
            providers,
            team: name,
            ..
        },
    ) = (&team.plugins, &team.reconcile);
    let section = if team.quota.is_some() {
        format!("team.{name}.provider")
    } else {
        "provider".into()
    };
    let unused = providers
        .keys()
        .filter(|name| !plugins.join(format!("{name}.wasm")).exists());
    unused.map(move |name| {
        format!(
            "[{section}.{name}] has no component: there is no {name}.wasm in {}",
            plugins.display()
        )
    })
}

fn print(findings: &Findings) -> Result<(), CommandError> {
    let Findings {
        ok,
        faults,
        warnings,
        online,
        grants,
        served,
    } = findings;
    if !served.providers.is_empty() {
        let mut table = Table::new(["PROVIDER", "VERSION", "OFFERS"]);
        for provider in &served.providers {
            table.row([
                &provider.full_name(),
                provider.version.as_deref().unwrap_or(""),
                &provider.counts(),
            ]);
        }
        out::text(&table.show())?;
    }
    out::text(&grants.iter().map(GrantReport::show).collect::<String>())?;
    online
        .iter()
        .for_each(|check| out::note(&sanitize::line(&check.show())));
    faults.iter().for_each(|fault| out::note(fault));
    warnings
        .iter()
        .for_each(|warning| out::note(&format!("warning: {warning}")));
    grants
        .iter()
        .flat_map(GrantReport::problems)
        .for_each(|problem| out::note(&problem));
    for rejected in &served.rejected {
        out::note(&format!(
            "{} is rejected: {}",
            rejected.full_name(),
            rejected.reason
        ));
        guest_stderr::note(&rejected.full_name(), &rejected.stderr);
    }
    for provider in &served.providers {
        provider.omitted.iter().for_each(|why| {
            out::note(&format!(
                "{}: omitted or changed: {why}",
                provider.full_name()
            ))
        });
    }
    for provider in &served.providers {
        let name = provider.full_name();
        provider
            .setting_problems
            .iter()
            .for_each(|problem| out::note(&format!("{name}: {problem}")));
        provider
            .setting_warnings
            .iter()
            .for_each(|problem| out::note(&format!("{name}: warning: {problem}")));
    }
    served
        .collisions
        .iter()
        .for_each(|collision| out::note(collision));
    let of_settings = served
        .providers
        .iter()
        .map(|provider| provider.setting_warnings.len());
    match (ok, warnings.len() + of_settings.sum::<usize>()) {
        (false, _) => {}
        (true, 0) => out::note("no problems found"),
        (true, 1) => out::note("no problems found, but one warning"),
        (true, count) => out::note(&format!("no problems found, but {count} warnings")),
    }
    Ok(())
}
