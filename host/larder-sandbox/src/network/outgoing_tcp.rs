//! What all guests of one revision of a provider share for TCP connections: the granted hosts, the limit for open
//! connections, and the lookup of names.

mod pinned;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) use self::pinned::PinnedAddresses;
use super::dns::DnsLookups;
use larder_model::policy::{Grant, QuotaUsage, TcpRule};

/// Opens the connections of one revision of a provider. Nothing is shared with other providers.
pub(crate) struct OutgoingTcp {
    rules: Arc<[TcpRule]>,
    lookups: Arc<DnsLookups>,
    /// One permit for each connection. Connections of idle guests have permits too.
    permits: Arc<Semaphore>,
    limit: u32,
    /// Drops the idle guests of the revision, with their connections.
    drop_idle_guests: Box<dyn Fn() + Send + Sync>,
}

/// The permits of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionPermits {
    _provider: OwnedSemaphorePermit,
    /// None if no teams are configured.
    _team: Option<OwnedSemaphorePermit>,
}

impl OutgoingTcp {
    /// Returns `None` if the grant has no rules for TCP.
    pub(crate) fn new(
        grant: &Grant,
        lookups: Arc<DnsLookups>,
        drop_idle_guests: impl Fn() + Send + Sync + 'static,
    ) -> Option<Arc<Self>> {
        let limit = grant.limits.connections;
        (!grant.tcp.is_empty()).then(|| {
            Arc::new(Self {
                rules: grant.tcp.clone().into(),
                lookups,
                permits: Arc::new(Semaphore::new(limit as usize)),
                limit,
                drop_idle_guests: Box::new(drop_idle_guests),
            })
        })
    }

    pub(crate) fn rules(&self) -> &Arc<[TcpRule]> {
        &self.rules
    }

    pub(crate) fn has_rule_for_address(&self, address: IpAddr) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.address() == Some(address))
    }

    pub(crate) fn has_rule_for_name(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| rule.matches_name(name))
    }

    /// Resolves a name. The port of the addresses is 0.
    pub(crate) async fn resolve(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        let found = self.lookups.addresses(name.to_owned()).await?;
        Ok(found
            .into_iter()
            .map(|found| SocketAddr::new(found.ip().to_canonical(), 0))
            .collect())
    }

    /// Takes the permits for another connection, or returns why no permits are available. If all permits are in use,
    /// the idle guests are dropped, which closes their connections.
    pub(crate) fn acquire(
        &self,
        quota_usage: Option<&QuotaUsage>,
    ) -> Result<ConnectionPermits, String> {
        self.try_acquire(quota_usage).or_else(|_| {
            (self.drop_idle_guests)();
            self.try_acquire(quota_usage)
        })
    }

    fn try_acquire(&self, quota_usage: Option<&QuotaUsage>) -> Result<ConnectionPermits, String> {
        let provider = self.permits.clone().try_acquire_owned().map_err(|_| {
            format!(
                "the provider has {} TCP connections already (`limits.connections`)",
                self.limit
            )
        })?;
        let team = quota_usage.map(QuotaUsage::connection_permit).transpose();
        let team = team.map_err(|exceeded| format!("{exceeded} (`quota.connections`)"))?;
        Ok(ConnectionPermits {
            _provider: provider,
            _team: team,
        })
    }
}
