//! Names of hosts are looked up on threads, and one that was asked about a name comes back when the system does: a
//! server of names that does not answer holds it for as long as that takes, whether or not anybody still waits. So a
//! lookup takes its place with it onto the thread, and those who wait beyond the places take no thread.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Lookups at the same time, of one revision of a provider.
const OWN: usize = 8;
/// And of all: far fewer than the runtime has threads for what waits.
const ALL: usize = 64;

static PLACES: Semaphore = Semaphore::const_new(ALL);

/// The lookups of one revision of a provider.
#[derive(Debug)]
pub(super) struct Lookups(Arc<Semaphore>);

impl Lookups {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(OWN)))
    }

    /// What a name stands for.
    pub(super) async fn addresses(&self, name: String) -> io::Result<Vec<SocketAddr>> {
        self.run(move || (name.as_str(), 0).to_socket_addrs().map(Iterator::collect)).await?
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let own = self.0.clone().acquire_owned().await.map_err(io::Error::other)?;
        let place = PLACES.acquire().await.map_err(io::Error::other)?;
        // Not through the drain: the end waits for nobody's server of names.
        let done = Handle::current().spawn_blocking(move || {
            let _held = (own, place);
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
    async fn a_name_is_looked_up() {
        let found = Lookups::new().addresses("localhost".into()).await.unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback()) && !found.is_empty(), "{found:?}");
    }

    #[tokio::test]
    async fn who_gives_up_frees_no_thread_and_takes_no_other() {
        let (lookups, begun) = (Lookups::new(), Arc::new(Mutex::new(0)));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..3 * OWN {
            let (begun, held) = (begun.clone(), held.clone());
            let lost = lookups.run(move || {
                *begun.lock().unwrap() += 1;
                // Until the other end is dropped.
                _ = held.lock().unwrap().recv();
            });
            assert!(tokio::time::timeout(Duration::from_millis(10), lost).await.is_err());
        }
        assert!(*begun.lock().unwrap() <= OWN);
        assert_eq!(lookups.0.available_permits(), 0, "who gave up holds his place");
        drop(release);
        let again = tokio::time::timeout(Duration::from_secs(60), lookups.run(|| "found"));
        assert_eq!(again.await.unwrap().unwrap(), "found");
    }
}
