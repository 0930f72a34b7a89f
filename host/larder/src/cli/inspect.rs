//! `larder inspect`: shows what a component imports and requests, and what it offers without grants.

mod component_info;
mod interfaces;
#[cfg(feature = "registry")]
mod pulled;
mod registry_metadata;
mod render;
mod signatures;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueHint};
use serde::Serialize;

use super::check::grants::{GrantReport, of_file};
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, guest_stderr, log, out, temp_plugins};
use crate::app::{App, Interfaces, Provider};
pub(super) use component_info::ComponentInfo;
#[cfg(feature = "registry")]
pub(super) use component_info::Metadata;
use larder_config::{self as config, Config, Overrides, Team};
use larder_model::name::Digest;
use larder_model::signature::{NoVerification, SignatureVerifier};
#[cfg(feature = "registry")]
pub(super) use pulled::examine_published;
pub(super) use registry_metadata::RegistryMetadata;
#[cfg(feature = "registry")]
pub(super) use registry_metadata::Statement;

/// Show what a component imports, requests and offers
///
/// Runs the component with the default limits and without any grant. A component in a registry is pulled
/// into the local store.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if the component would be rejected.")]
pub(super) struct Inspect {
    /// The component: a file, builtin:NAME, or a reference such as registry.example.com/team/wiki:1.2
    #[arg(value_name = "FILE.wasm|REF", value_hint = ValueHint::FilePath)]
    pub(super) component: PathBuf,
    /// Show which of its requests this configuration would grant
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    #[command(flatten)]
    pub(super) team: TeamArg,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// The results, as printed with `--json`.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    /// The file of the component, or its reference.
    file: String,
    size: u64,
    digest: String,
    #[serde(flatten)]
    info: ComponentInfo,
    /// The offers of the provider; none if the component was rejected.
    offers: Option<Provider>,
    #[serde(flatten)]
    interfaces: Interfaces,
    pub(super) rejected: Option<String>,
    /// If the guest misbehaved: the end of what it wrote to stderr.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stderr: Vec<String>,
    /// What a registry stores in addition to the component.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    published: Option<RegistryMetadata>,
    /// What the NAME.toml of the component requests, and which of these requests are granted. None if it requests
    /// nothing.
    grants: Option<GrantReport>,
    /// Whether a configuration was given. It determines what is granted.
    #[serde(skip)]
    configured: bool,
}

impl Inspect {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let configured = self.config.is_some() || self.team.team.is_some();
        let (grants, trust) = grants(&self.component, self.config, self.team, configured)?;
        let path = self.component;
        let bytes = temp_plugins::read(&path)?;
        let published = signatures::of_file(&path, &bytes, &*trust);
        let findings = examine(&path, &bytes, grants).await?;
        Findings {
            configured,
            published,
            ..findings
        }
        .print(self.json)
    }
}

impl Findings {
    /// Prints the findings.
    pub(super) fn print(&self, json: bool) -> Result<Outcome, CommandError> {
        if json {
            out::json(self)?
        } else {
            out::text(&self.show())?
        }
        Ok(Outcome::success_if(
            self.rejected.is_none() && self.is_trusted(),
        ))
    }

    fn is_trusted(&self) -> bool {
        let published = self.published.as_ref();
        published.is_none_or(|published| published.untrusted.is_none())
    }

    /// Returns why the component can never be served. A failure that only settings or grants would prevent is not such
    /// a reason.
    #[cfg(feature = "registry")]
    pub(super) fn refusal(&self) -> Option<&String> {
        let is_provider = self.info.contract.is_some() && !self.info.has_unknown_imports();
        self.rejected.as_ref().filter(|_| !is_provider)
    }

    /// Formats the findings for stdout.
    pub(super) fn show(&self) -> String {
        render::render(self, out::colour())
    }
}

/// Loads a component alone, and describes it.
async fn examine(
    path: &Path,
    bytes: &[u8],
    grants: Option<GrantReport>,
) -> Result<Findings, CommandError> {
    let LoadReport {
        offers,
        interfaces,
        rejected,
        stderr,
    } = run_alone(path, bytes).await?;
    Ok(Findings {
        file: path.display().to_string(),
        size: bytes.len() as u64,
        digest: format!("sha256:{}", Digest::of(bytes)),
        info: ComponentInfo::of(bytes),
        offers,
        interfaces,
        rejected,
        stderr: guest_stderr::lines(&stderr),
        published: None,
        grants,
        configured: false,
    })
}

/// Returns the grant report, and the trusted signers. Without a configuration, the report only contains requests, and
/// no signer is trusted.
fn grants(
    file: &Path,
    config: Option<PathBuf>,
    team: TeamArg,
    configured: bool,
) -> Result<(Option<GrantReport>, Arc<dyn SignatureVerifier>), CommandError> {
    let config = if configured {
        config::load(&team.overrides(config, None))?.over_stdio()?
    } else {
        config::without_file(
            file.parent().unwrap_or(Path::new(".")),
            &Overrides::default(),
        )?
    };
    let team = local_team(&config);
    let trust = team.map_or_else(nobody, |team| team.reconcile.trust.clone());
    Ok((
        team.map(|team| of_file(&team.reconcile, file))
            .transpose()?
            .flatten(),
        trust,
    ))
}

/// Returns the first team of the callers on this machine.
fn local_team(config: &Config) -> Option<&Team> {
    let mut names = config.local_caller.teams.iter();
    names.find_map(|name| config.teams.get(name))
}

fn nobody() -> Arc<dyn SignatureVerifier> {
    Arc::new(NoVerification)
}

/// The results of loading a component.
struct LoadReport {
    offers: Option<Provider>,
    interfaces: Interfaces,
    rejected: Option<String>,
    /// If the guest misbehaved: the end of what it wrote to stderr.
    stderr: String,
}

/// Loads a component as `larder serve` would, in a temporary folder.
async fn run_alone(path: &Path, bytes: &[u8]) -> Result<LoadReport, CommandError> {
    let folder = temp_plugins::create(path, bytes)?;
    let config = config::without_file(folder.path(), &Overrides::default())?;
    log::start_quietly(&config.log);
    let app = App::build(config).await?;
    let served = app.served();
    let interfaces = app.interfaces().await;
    let mut stderr = app.take_last_stderr();
    app.finish().await;
    let offers = served.providers.into_iter().next();
    let rejected = served.rejected.into_iter().next();
    let rejected = rejected.map(|rejected| {
        stderr = rejected.stderr;
        rejected.reason
    });
    Ok(LoadReport {
        offers,
        interfaces,
        rejected,
        stderr,
    })
}
