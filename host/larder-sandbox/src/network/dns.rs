//! DNS lookups of guests. The system's resolver blocks its thread until it returns: a name server that does not answer
//! blocks the thread for that time, also if no call waits for the result any more. So a lookup holds its permit until
//! the resolver returns, and a lookup that waits for a permit uses no thread.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use larder_runtime::shares::{Resource, TeamShares};

/// Maximum number of lookups at the same time, for one revision of a provider.
const MAX_PER_PROVIDER: usize = 8;
/// Does the lookups for one revision of a provider.
#[derive(Debug)]
pub(crate) struct DnsLookups {
    permits: Arc<Semaphore>,
    /// Limits the lookups of all providers. The runtime has far more threads for blocking work than lookups use.
    shares: TeamShares,
}

impl DnsLookups {
    pub(crate) fn new(shares: TeamShares) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(MAX_PER_PROVIDER)),
            shares,
        }
    }

    /// Resolves a host name. The port of the addresses is 0.
    pub(super) async fn addresses(&self, name: String) -> io::Result<Vec<SocketAddr>> {
        self.run(move || (name.as_str(), 0).to_socket_addrs().map(Iterator::collect))
            .await?
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let permit = self
            .permits
            .clone()
            .acquire_owned()
            .await
            .map_err(io::Error::other)?;
        let taken = self.shares.take(Resource::DnsLookups, 1).await;
        // This task is not spawned through the drain, because shutdown must not wait for a name server.
        let done = Handle::current().spawn_blocking(move || {
            let _permits = (permit, taken);
            work()
        });
        done.await.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use larder_model::name::TeamName;
    use larder_runtime::ledger::SeveralTeams;
    use larder_runtime::shares::{ShareLimits, Shares};

    fn lookups_of<const N: usize>(teams: [&str; N]) -> [DnsLookups; N] {
        let several_teams = SeveralTeams::default();
        several_teams.set_team_count(N);
        let shares = Shares::new(ShareLimits::default(), &several_teams);
        teams.map(|team| DnsLookups::new(shares.team(&TeamName::parse(team).unwrap())))
    }

    #[tokio::test]
    async fn resolves_a_name() {
        let [lookups] = lookups_of(["a"]);
        let found = lookups.addresses("localhost".into()).await.unwrap();
        assert!(
            found.iter().all(|address| address.ip().is_loopback()) && !found.is_empty(),
            "{found:?}"
        );
    }

    #[tokio::test]
    async fn a_cancelled_lookup_keeps_its_permit_until_the_resolver_returns() {
        let ([lookups], started) = (lookups_of(["a"]), Arc::new(Mutex::new(0)));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..3 * MAX_PER_PROVIDER {
            let started = started.clone();
            let held = held.clone();
            let cancelled = lookups.run(move || {
                *started.lock() += 1;
                // Blocks until the sender is dropped.
                _ = held.lock().recv();
            });
            assert!(
                tokio::time::timeout(Duration::from_millis(10), cancelled)
                    .await
                    .is_err()
            );
        }
        assert!(*started.lock() <= MAX_PER_PROVIDER);
        assert_eq!(
            lookups.permits.available_permits(),
            0,
            "cancelled lookups hold their permits"
        );
        drop(release);
        let again = tokio::time::timeout(Duration::from_secs(60), lookups.run(|| "found"));
        assert_eq!(again.await.unwrap().unwrap(), "found");
    }
    #[tokio::test]
    async fn blocked_lookups_of_a_team_leave_threads_to_others() {
        let [busy, quiet] = lookups_of(["busy", "quiet"]);
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        // Each revision of a provider has its own lookups.
        let revisions: Vec<_> = (0..16)
            .map(|_| DnsLookups::new(busy.shares.clone()))
            .collect();
        for lookups in revisions.iter().cycle().take(16 * MAX_PER_PROVIDER) {
            let held = held.clone();
            let blocked = lookups.run(move || _ = held.lock().recv());
            assert!(
                tokio::time::timeout(Duration::from_millis(1), blocked)
                    .await
                    .is_err()
            );
        }
        let found = tokio::time::timeout(Duration::from_secs(60), quiet.run(|| "found")).await;
        assert_eq!(
            found.expect("it waits for the other team").unwrap(),
            "found"
        );
        drop(release);
    }
}
