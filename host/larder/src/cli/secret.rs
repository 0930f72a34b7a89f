//! `larder secret test`: tries a secret that the host adds to requests of providers.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use http::{StatusCode, Uri};

use super::admin_args::AdminArgs;
use super::check::grants::host_rules;
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, out, sanitize, state_folder};
use larder_config::{self as config, Config};
use larder_core::reconcile::ApprovalsError;
use larder_model::policy::{CredentialStore, HostAuth, HostRule, SecretHosts};
use larder_sandbox::CredentialTest;

/// Work with the secrets of the configuration
#[derive(Debug, Args)]
pub(super) struct Secret {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Test(Test),
}

/// Try a secret: send a request with it, as the server does for a provider
///
/// A provider must have a host with `auth` that uses the secret, in the configuration or in its NAME.toml if that is
/// approved. The value is never printed.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if the host refuses the secret, or if the request fails. Many hosts answer some requests \
also without a secret: use a URL that needs it.

Examples:
  larder secret test billing-token billing.example.com
  larder secret test billing-token https://billing.example.com/v1/me"
)]
struct Test {
    /// The name of the secret
    name: String,
    /// The host, or a URL of it
    #[arg(value_name = "HOST", value_hint = ValueHint::Url)]
    host: String,
    /// The configuration file [default: larder.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    team: TeamArg,
}

impl Secret {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let Command::Test(test) = self.command;
        test.run().await
    }
}

impl Test {
    async fn run(self) -> Result<Outcome, CommandError> {
        let overrides = self.team.overrides(self.config.clone(), None);
        let config = config::load(&overrides)?;
        let admin = AdminArgs::of_config(self.config.clone());
        let config = state_folder::of_server(config, admin).await?;
        let credentials = CredentialStore::default();
        credentials.set(config.credentials());
        let url = self.url();
        let mut statuses = Vec::new();
        for test in self.tests(&config, &url)? {
            statuses.push(try_secret(&test, &url, &credentials).await?);
        }
        if statuses.is_empty() {
            return Err(CommandError::UnusedSecret {
                name: self.name,
                host: self.host,
            });
        }
        let is_accepted = |status: &Option<StatusCode>| status.is_some_and(|it| !is_refusal(it));
        Ok(Outcome::success_if(statuses.iter().all(is_accepted)))
    }

    fn url(&self) -> String {
        if self.host.contains("://") {
            return self.host.clone();
        }
        format!("https://{}", self.host)
    }

    /// The tests of all rules for this URL that use the secret.
    fn tests(&self, config: &Config, url: &str) -> Result<Vec<CredentialTest>, ApprovalsError> {
        let only = self.team.team.as_ref();
        let teams = config.teams.iter();
        let mut tests = Vec::new();
        for (team, config) in teams.filter(|(name, _)| only.is_none_or(|only| only == *name)) {
            for (provider, mut rules) in host_rules(config)? {
                rules.retain(|rule| self.is_used_by(rule) && is_for_url(rule, url));
                tests.extend(rules.into_iter().map(|rule| CredentialTest {
                    team: team.clone(),
                    provider: provider.clone(),
                    rule,
                }));
            }
        }
        Ok(tests)
    }

    fn is_used_by(&self, rule: &HostRule) -> bool {
        let auth = rule.auth.iter();
        auth.flat_map(HostAuth::secrets)
            .any(|name| name == self.name)
    }
}

/// Sends a request with the secret, and prints the outcome. Returns the status of the response if there is one.
async fn try_secret(
    test: &CredentialTest,
    url: &str,
    credentials: &CredentialStore,
) -> Result<Option<StatusCode>, CommandError> {
    let result = test.get(url, credentials).await;
    let outcome = match &result {
        Ok(status) => outcome(*status),
        Err(why) => format!("failed: {why}"),
    };
    let auth = test.rule.auth.as_ref().map(ToString::to_string);
    let auth = auth.unwrap_or_default();
    let line = format!("{} {url}, {auth}: {outcome}", test.provider);
    out::text(&format!("{}\n", sanitize::line(&line)))?;
    Ok(result.ok())
}

/// Whether a rule is for this URL, whatever the method.
fn is_for_url(rule: &HostRule, url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else {
        return false;
    };
    let scheme = url.scheme_str().unwrap_or_default();
    let default_port = if scheme == "http" { 80 } else { 443 };
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().unwrap_or(default_port);
    let hosts = SecretHosts::new([rule.clone()]);
    let mut rules = hosts.rules().iter();
    rules.any(|rule| rule.allows("GET", scheme, host, port))
}

fn outcome(status: StatusCode) -> String {
    if is_refusal(status) {
        format!("refused (status {status})")
    } else if status.is_success() || status.is_redirection() {
        format!("accepted (status {status})")
    } else {
        format!("not refused (status {status})")
    }
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}
