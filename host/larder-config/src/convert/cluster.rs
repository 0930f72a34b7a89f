//! Converts `[cluster]`.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;

use super::Conversion;
use crate::file::{self, NatsServers};
use crate::{Diagnostic, Team};
use larder_cluster::{ClusterConfig, NatsCredentials, NatsServer, Prefix};
use larder_model::name::{ReplicaName, TeamName};
use larder_model::policy::{KeyValueGrant, Secret, Secrets};

/// The minimum length of a key. A key is used without a derivation, so it must not be a word.
const MIN_KEY_BYTES: usize = 32;
/// The limits of a lease. A shorter lease would expire while a machine is busy, and a longer lease would delay every
/// takeover.
const LEASES: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(600);
/// The maximum number of copies in NATS.
const MAX_COPIES: usize = 5;

impl Conversion<'_> {
    pub(super) fn cluster(
        &mut self,
        raw: file::Cluster,
        secrets: &Secrets,
        teams: &BTreeMap<TeamName, Team>,
    ) -> Option<ClusterConfig> {
        let Some(nats) = &raw.nats else {
            self.require_nats(&raw);
            return None;
        };
        self.warn_of_unshared(teams);
        let credentials = self.credentials(raw.credentials_file.as_ref(), nats);
        Some(ClusterConfig {
            replica: self.replica_name(raw.replica.as_ref()),
            servers: nats.get_ref().0.clone(),
            prefix: self.prefix(raw.prefix.as_ref()),
            credentials,
            ca: raw.ca.as_ref().map(|ca| self.cluster_certificates(ca)),
            keys: self.keys(&nats.span(), raw.key.as_ref(), secrets),
            require_sealed: raw
                .require_sealed
                .as_ref()
                .is_some_and(|raw| *raw.get_ref()),
            lease: self.lease(raw.lease.as_ref()),
            copies: self.copies(raw.copies.as_ref()),
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }

    fn require_nats(&mut self, raw: &file::Cluster) {
        if let Some(at) = first_setting(raw) {
            let message = "has no effect without `cluster.nats`: add it, or remove [cluster]";
            self.error(&at, message);
        }
    }

    fn replica_name(&mut self, raw: Option<&Spanned<String>>) -> Option<ReplicaName> {
        self.parse_value(raw?, ReplicaName::parse)
    }

    fn prefix(&mut self, raw: Option<&Spanned<String>>) -> Prefix {
        let text = raw.map_or("larder", |raw| raw.get_ref());
        Prefix::parse(text).unwrap_or_else(|error| {
            self.error(&raw.map_or(0..0, Spanned::span), error.to_string());
            Prefix::default()
        })
    }

    fn credentials(
        &mut self,
        raw: Option<&Spanned<PathBuf>>,
        nats: &Spanned<NatsServers>,
    ) -> Option<NatsCredentials> {
        let raw = raw?;
        let mut servers = nats.get_ref().0.iter();
        if servers.any(NatsServer::has_credentials) {
            let message =
                "contains a user as well as `cluster.credentials_file`: remove one of the two";
            self.error(&nats.span(), message);
        }
        let path = self.context.folder.join(raw.get_ref());
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        let parsed =
            text.and_then(|text| NatsCredentials::parse(&text).map_err(|error| error.to_string()));
        let credentials = parsed.map_err(|error| format!("cannot use {}: {error}", path.display()));
        self.ok_or_report(&raw.span(), credentials)
    }

    fn cluster_certificates(&mut self, raw: &Spanned<PathBuf>) -> PathBuf {
        let path = self.context.folder.join(raw.get_ref());
        self.ok_or_report(&raw.span(), check_certificates(&path));
        path
    }

    fn keys(
        &mut self,
        nats: &Range<usize>,
        raw: Option<&Spanned<Vec<Spanned<String>>>>,
        secrets: &Secrets,
    ) -> Vec<Secret> {
        let Some(raw) = raw.filter(|raw| !raw.get_ref().is_empty()) else {
            let message = "requires `cluster.key`, such as key = [\"cluster-key\"] with [secret.cluster-key]: \
                           replicas seal their messages with it; create one with `openssl rand -base64 32`";
            self.error(nats, message);
            return Vec::new();
        };
        let selected = self.select_secrets(secrets, raw.get_ref());
        for name in raw.get_ref() {
            // A secret that could not be loaded is empty, and the error was already reported.
            let length = selected
                .get(name.get_ref())
                .map_or(0, |secret| secret.reveal().len());
            if (1..MIN_KEY_BYTES).contains(&length) {
                let message = format!(
                    "the key has {length} bytes, and must have at least {MIN_KEY_BYTES}: create one with `openssl rand -base64 32`"
                );
                self.error(&name.span(), message);
            }
        }
        raw.get_ref()
            .iter()
            .filter_map(|name| selected.get(name.get_ref()).cloned())
            .collect()
    }

    fn lease(&mut self, raw: Option<&Spanned<crate::value::HumanDuration>>) -> Duration {
        let Some(raw) = raw else {
            return Duration::from_secs(10);
        };
        let lease = raw.get_ref().0;
        if !LEASES.contains(&lease) {
            self.error(&raw.span(), "must be from \"1s\" to \"10m\"");
        }
        lease
    }

    fn copies(&mut self, raw: Option<&Spanned<NonZeroUsize>>) -> usize {
        let Some(raw) = raw else { return 1 };
        let copies = raw.get_ref().get();
        if copies > MAX_COPIES {
            let message = format!("NATS keeps at most {MAX_COPIES} copies");
            self.error(&raw.span(), message);
        }
        copies
    }

    /// Warns about state that replicas do not share.
    fn warn_of_unshared(&mut self, teams: &BTreeMap<TeamName, Team>) {
        for (team, config) in teams {
            for (name, provider) in &config.reconcile.providers {
                if provider.grant.key_value == KeyValueGrant::default() {
                    continue;
                }
                let key = match config.quota {
                    Some(_) => format!("team.{team}.provider.{name}.key_value"),
                    None => format!("provider.{name}.key_value"),
                };
                let message = "each replica of [cluster] has a key-value store of its own, so a value that a call stores is \
                               missing in calls at other replicas";
                self.warnings.push(Diagnostic::without_line(key, message));
            }
        }
    }
}

/// Returns where the first setting of the section is.
fn first_setting(raw: &file::Cluster) -> Option<Range<usize>> {
    let settings = [
        raw.credentials_file.as_ref().map(Spanned::span),
        raw.ca.as_ref().map(Spanned::span),
        raw.replica.as_ref().map(Spanned::span),
        raw.prefix.as_ref().map(Spanned::span),
        raw.key.as_ref().map(Spanned::span),
        raw.require_sealed.as_ref().map(Spanned::span),
        raw.lease.as_ref().map(Spanned::span),
        raw.copies.as_ref().map(Spanned::span),
    ];
    settings.into_iter().flatten().min_by_key(|at| at.start)
}

fn check_certificates(path: &Path) -> Result<(), String> {
    match std::fs::read_to_string(path) {
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        Ok(text) if !text.contains("-----BEGIN CERTIFICATE-----") => {
            Err(format!("{} contains no certificate in PEM", path.display()))
        }
        Ok(_) => Ok(()),
    }
}
