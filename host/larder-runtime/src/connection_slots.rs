//! Slots for the connections of one listener. A connection is unproven until its client has sent a valid request. When
//! all slots are taken, a new connection replaces an unproven connection: the oldest one of the address with the most
//! unproven connections. So a client that opens many connections first loses its own connections, and cannot prevent
//! other clients from connecting.
//!
//! The rule also holds behind a proxy, where all connections have the same address: proven connections are never
//! replaced, and an unproven connection is replaced only after as many newer connections have arrived as there are
//! unproven ones.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use prometheus_client::metrics::counter::Counter;
use tokio::task::AbortHandle;

use crate::drain::Drain;

/// The slots of a listener. Clones share the same slots.
#[derive(Debug, Clone)]
pub struct ConnectionSlots(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    capacity: usize,
    /// Counts the connections that were replaced.
    replaced: Counter,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    taken: usize,
    /// The tasks of the unproven connections, in the order of their arrival.
    unproven: HashMap<Source, BTreeMap<u64, Option<AbortHandle>>>,
}

/// The origin of a connection: an IPv4 address, an IPv6 network, or this machine through a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source(Option<IpAddr>);

impl Source {
    /// A process on this machine.
    pub const UNIX_SOCKET: Self = Self(None);
}

impl From<IpAddr> for Source {
    /// A host has a whole IPv6 network of 64 bits, so only the network counts.
    fn from(address: IpAddr) -> Self {
        Self(Some(match address.to_canonical() {
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
            }
            address => address,
        }))
    }
}

/// The slot of one connection. It is released on drop.
#[derive(Debug)]
pub struct ConnectionSlot {
    slots: ConnectionSlots,
    source: Source,
    id: u64,
    is_proven: AtomicBool,
}

impl ConnectionSlots {
    /// Creates this number of slots. `replaced` counts the connections that are closed to make room for new ones.
    pub fn new(capacity: usize, replaced: Counter) -> Self {
        Self(Arc::new(Inner {
            capacity,
            replaced,
            state: Mutex::default(),
        }))
    }

    /// Takes a slot. If necessary, takes the slot of an unproven connection. `None` if proven connections have all
    /// slots.
    pub fn take(&self, source: Source) -> Option<ConnectionSlot> {
        let mut state = self.lock();
        if state.taken < self.0.capacity {
            state.taken += 1
        } else {
            let replaced = state.remove_oldest()?;
            if let Some(task) = replaced {
                task.abort();
            }
            self.0.replaced.inc();
        }
        state.next_id += 1;
        let id = state.next_id;
        state.unproven.entry(source).or_default().insert(id, None);
        Some(ConnectionSlot {
            slots: self.clone(),
            source,
            id,
            is_proven: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

impl State {
    /// Removes the oldest unproven connection of the source with the most unproven connections.
    fn remove_oldest(&mut self) -> Option<Option<AbortHandle>> {
        let (&source, all) = self.unproven.iter().max_by_key(|(_, all)| all.len())?;
        let &oldest = all.keys().next()?;
        self.remove(source, oldest)
    }

    /// Removes a connection from the unproven connections. `None` if the connection was proven or replaced.
    fn remove(&mut self, source: Source, id: u64) -> Option<Option<AbortHandle>> {
        let all = self.unproven.get_mut(&source)?;
        let removed = all.remove(&id);
        if all.is_empty() {
            self.unproven.remove(&source);
        }
        removed
    }
}

impl ConnectionSlot {
    /// Serves the connection in a task of its own, which is aborted if the connection is replaced. Must be
    /// called before the next slot is taken.
    pub fn serve<F>(self, drain: &Drain, serve: impl FnOnce(Self) -> F)
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let slots = self.slots.clone();
        let source = self.source;
        let id = self.id;
        let task = drain.spawn(serve(self)).abort_handle();
        if let Some(handle) = slots
            .lock()
            .unproven
            .get_mut(&source)
            .and_then(|all| all.get_mut(&id))
        {
            *handle = Some(task);
        }
    }

    /// Whether the client has sent a valid request.
    pub fn is_proven(&self) -> bool {
        self.is_proven.load(Ordering::Relaxed)
    }

    /// Records that the client has sent a valid request. From now on the connection is not replaced.
    pub fn prove(&self) {
        if !self.is_proven() && self.slots.lock().remove(self.source, self.id).is_some() {
            self.is_proven.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = self.slots.lock();
        // The slot of a replaced connection belongs to another connection.
        if self.is_proven() || state.remove(self.source, self.id).is_some() {
            state.taken -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(last: u8) -> Source {
        IpAddr::from([192, 0, 2, last]).into()
    }

    fn taken(slots: &ConnectionSlots) -> (usize, u64) {
        (slots.lock().taken, slots.0.replaced.get())
    }

    #[test]
    fn a_new_connection_replaces_the_oldest_of_the_address_with_the_most() {
        let slots = ConnectionSlots::new(4, Counter::default());
        let many: Vec<_> = (0..3).map(|_| slots.take(source(1)).unwrap()).collect();
        let one = slots.take(source(2)).unwrap();
        many[1].prove();
        let newer = slots.take(source(3)).unwrap();
        assert_eq!(taken(&slots), (4, 1));
        // The connection was replaced, so it cannot be proven, and its slot is not released.
        many[0].prove();
        assert!(!many[0].is_proven() && many[1].is_proven());
        drop(many);
        assert_eq!(taken(&slots), (2, 1));
        drop((one, newer));
        assert_eq!(taken(&slots), (0, 1));
        assert!(slots.lock().unproven.is_empty());
    }

    #[test]
    fn a_proven_connection_is_not_replaced() {
        let slots = ConnectionSlots::new(2, Counter::default());
        let all = [
            slots.take(source(1)).unwrap(),
            slots.take(source(1)).unwrap(),
        ];
        all.iter().for_each(ConnectionSlot::prove);
        assert!(slots.take(source(2)).is_none());
        drop(all);
        assert!(slots.take(source(2)).is_some());
    }

    #[test]
    fn the_addresses_of_an_ipv6_network_are_one_source() {
        let source = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(source("2001:db8::1"), source("2001:db8::2:3"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }

    #[tokio::test]
    async fn the_task_of_a_replaced_connection_ends() {
        let slots = ConnectionSlots::new(1, Counter::default());
        let drain = Drain::new();
        let (alive, mut ended) = tokio::sync::mpsc::channel::<()>(1);
        let wait = |slot: ConnectionSlot| async move {
            let _held = (slot, alive);
            std::future::pending::<()>().await;
        };
        slots.take(source(1)).unwrap().serve(&drain, wait);
        slots
            .take(source(2))
            .unwrap()
            .serve(&drain, |slot| async move { slot.prove() });
        assert_eq!(ended.recv().await, None);
        assert_eq!(taken(&slots).1, 1);
    }
}
