//! DNS lookups of guests. The system's resolver blocks its thread until it returns: a name server that does
//! not answer holds the thread for that long, even if no call waits for the result any more. So a lookup
//! holds its permit until the resolver returns, and a lookup that waits for a permit uses no thread.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Maximum number of lookups at the same time, of one revision of a provider.
const MAX_PER_PROVIDER: usize = 8;
/// Maximum number of lookups at the same time, in total. The runtime has far more threads for blocking work.
const MAX_TOTAL: usize = 64;

static TOTAL_PERMITS: Semaphore = Semaphore::const_new(MAX_TOTAL);

/// Makes the lookups of one revision of a provider.
#[derive(Debug)]
pub(super) struct DnsLookups(Arc<Semaphore>);

impl DnsLookups {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_PER_PROVIDER)))
    }

    /// Resolves a host name. The port of the addresses is 0.
    pub(super) async fn addresses(&self, name: String) -> io::Result<Vec<SocketAddr>> {
        self.run(move || (name.as_str(), 0).to_socket_addrs().map(Iterator::collect)).await?
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let provider_permit = self.0.clone().acquire_owned().await.map_err(io::Error::other)?;
        let total_permit = TOTAL_PERMITS.acquire().await.map_err(io::Error::other)?;
        // Not spawned through the drain: shutdown must not wait for a name server.
        let done = Handle::current().spawn_blocking(move || {
            let _permits = (provider_permit, total_permit);
            work()
        });
        done.await.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn resolves_a_name() {
        let found = DnsLookups::new().addresses("localhost".into()).await.unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback()) && !found.is_empty(), "{found:?}");
    }

    #[tokio::test]
    async fn a_cancelled_lookup_keeps_its_permit_until_the_resolver_returns() {
        let (lookups, started) = (DnsLookups::new(), Arc::new(Mutex::new(0)));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..3 * MAX_PER_PROVIDER {
            let (started, held) = (started.clone(), held.clone());
            let cancelled = lookups.run(move || {
                *started.lock().unwrap() += 1;
                // Blocks until the sender is dropped.
                _ = held.lock().unwrap().recv();
            });
            assert!(tokio::time::timeout(Duration::from_millis(10), cancelled).await.is_err());
        }
        assert!(*started.lock().unwrap() <= MAX_PER_PROVIDER);
        assert_eq!(lookups.0.available_permits(), 0, "cancelled lookups hold their permits");
        drop(release);
        let again = tokio::time::timeout(Duration::from_secs(60), lookups.run(|| "found"));
        assert_eq!(again.await.unwrap().unwrap(), "found");
    }
}
