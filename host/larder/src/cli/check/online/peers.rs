//! Tests of NATS, of registries, and of the hosts that the configuration grants to providers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::net::TcpStream;

use super::OnlineCheck;
use larder_config::{Config, Team};
use larder_model::policy::Grant;

/// How long it may take to find the address of a host and to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How many hosts are tested at the same time.
const CONCURRENT_TESTS: usize = 16;

#[cfg(feature = "cluster")]
pub(super) async fn nats(config: &Config) -> Vec<OnlineCheck> {
    let Some(cluster) = &config.cluster else {
        return Vec::new();
    };
    let advice = "check `[cluster]`, and that NATS runs there with JetStream";
    let tested = larder_cluster::Cluster::probe(cluster).await.into_iter();
    tested
        .map(|(server, result)| OnlineCheck::new(format!("cluster.nats {server}"), result, advice))
        .collect()
}

#[cfg(not(feature = "cluster"))]
pub(super) async fn nats(_: &Config) -> Vec<OnlineCheck> {
    Vec::new()
}

/// Asks the registry of each component for its manifest. A server that is locked may not need a registry.
#[cfg(feature = "registry")]
pub(super) async fn registries(config: &Config) -> Vec<OnlineCheck> {
    let teams = config.teams.values();
    let tests = teams
        .filter(|team| !team.registry.is_locked)
        .map(registries_of);
    futures_util::future::join_all(tests).await.concat()
}

#[cfg(feature = "registry")]
async fn registries_of(team: &Team) -> Vec<OnlineCheck> {
    let advice =
        "check `component`, `[registries.permitted]`, and that this machine can reach the registry";
    let client = larder_registry::Client::new(team.registry.access.clone());
    let client = client.map_err(|error| error.to_string());
    let tests = team.registry.components.iter().map(|(name, component)| {
        let client = client.clone();
        async move {
            let reference = &component.reference;
            let found = match client {
                Ok(client) => manifest(&client, reference).await,
                Err(error) => Err(error),
            };
            let what = format!("component {reference} of {}", of_team(team, name.as_str()));
            OnlineCheck::new(what, found, advice)
        }
    });
    run_tests(tests.collect()).await
}

#[cfg(feature = "registry")]
async fn manifest(
    client: &larder_registry::Client,
    reference: &larder_registry::Reference,
) -> Result<String, String> {
    let found = async {
        let image = client.resolve(reference).await?;
        client.manifest(&image).await
    };
    match found.await {
        Ok((_, digest)) => Ok(format!("sha256:{}", digest.short())),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(not(feature = "registry"))]
pub(super) async fn registries(_: &Config) -> Vec<OnlineCheck> {
    Vec::new()
}

/// Connects to each host that the configuration grants. Hosts with a wildcard are no addresses.
pub(super) async fn granted_hosts(config: &Config) -> Vec<OnlineCheck> {
    let mut hosts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for team in config.teams.values() {
        for (name, provider) in &team.reconcile.providers {
            for address in addresses(&provider.grant) {
                let providers = hosts.entry(address).or_default();
                providers.insert(of_team(team, name.as_str()));
            }
        }
    }
    let tests = hosts.into_iter().map(|(address, providers)| async move {
        let advice = "check its name and port, the resolver, and the firewalls between this machine and the host";
        let providers = Vec::from_iter(providers).join(", ");
        let what = format!("host {address} of {providers}");
        OnlineCheck::new(what, connect(&address).await, advice)
    });
    run_tests(tests.collect()).await
}

/// Makes tests, several at a time.
async fn run_tests<T: Future<Output = OnlineCheck>>(tests: Vec<T>) -> Vec<OnlineCheck> {
    let tests = stream::iter(tests).buffered(CONCURRENT_TESTS);
    tests.collect().await
}

/// The addresses of a grant, as host and port.
fn addresses(grant: &Grant) -> Vec<String> {
    let http = grant.hosts.iter().map(|rule| {
        let is_plain = rule.scheme.as_deref() == Some("http");
        let default = if is_plain { 80 } else { 443 };
        format!("{}:{}", rule.host, rule.port.unwrap_or(default))
    });
    let tcp = grant.tcp.iter().map(ToString::to_string);
    let all = http.chain(tcp).filter(|address| !address.starts_with("*."));
    all.collect()
}

async fn connect(address: &str) -> Result<String, String> {
    match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Ok("it accepts connections".into()),
        Ok(Err(error)) => Err(format!("no connection: {error}")),
        Err(_) => Err(format!("no connection within {CONNECT_TIMEOUT:?}")),
    }
}

/// The name of a provider. If there are teams, the name of its team precedes it.
fn of_team(team: &Team, provider: &str) -> String {
    match team.reconcile.team.non_default() {
        Some(team) => format!("{team}/{provider}"),
        None => provider.to_owned(),
    }
}
