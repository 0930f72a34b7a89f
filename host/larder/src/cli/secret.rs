//! `larder secret test`: tries a secret that the host adds to requests of providers.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use http::{StatusCode, Uri};

use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, out, sanitize};
use larder_config::{self as config, Config, Overrides, Team};
use larder_model::name::TeamName;
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
/// The configuration of a provider must have a host with `auth` that uses the secret. The value is never printed.
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
        let config = config::load(&Overrides {
            config: self.config.clone(),
            team: self.team.team.clone(),
            ..Overrides::default()
        })?;
        let credentials = CredentialStore::default();
        credentials.set(config.credentials());
        let url = self.url();
        let mut statuses = Vec::new();
        for test in self.tests(&config, &url) {
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
    fn tests<'a>(
        &'a self,
        config: &'a Config,
        url: &'a str,
    ) -> impl Iterator<Item = CredentialTest<'a>> {
        let only = self.team.team.as_ref();
        let teams = config.teams.iter();
        let teams = teams.filter(move |(name, _)| only.is_none_or(|only| only == *name));
        let all = teams.flat_map(|(name, team)| tests_of_team(name, team));
        all.filter(move |test| self.is_used_by(test.rule) && is_for_url(test.rule, url))
    }

    fn is_used_by(&self, rule: &HostRule) -> bool {
        let auth = rule.auth.iter();
        auth.flat_map(HostAuth::secrets)
            .any(|name| name == self.name)
    }
}

fn tests_of_team<'a>(
    team: &'a TeamName,
    config: &'a Team,
) -> impl Iterator<Item = CredentialTest<'a>> {
    let providers = config.reconcile.providers.iter();
    providers.flat_map(move |(provider, config)| {
        let rules = config.grant.hosts.iter();
        rules.map(move |rule| CredentialTest {
            team,
            provider,
            rule,
        })
    })
}

/// Sends a request with the secret, and prints the outcome. Returns the status of the response if there is one.
async fn try_secret(
    test: &CredentialTest<'_>,
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
