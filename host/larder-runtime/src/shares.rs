//! Resources with a fixed number, such as places for guests, and the share of each team. Teams share a resource by the
//! rule of [`crate::ledger`]. A team that cannot get its share waits, or is refused. Other teams do not wait behind it:
//! whenever a part is returned, the waiting team with the lowest use that can take it comes first.

mod waiting;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use parking_lot::Mutex;

use self::waiting::{Waiter, WaitingList};
use crate::ledger::{Ledger, SeveralTeams};
use crate::metrics::{ComputedFamily, Metrics, Samples};
use larder_model::name::TeamName;

macro_rules! resources {
    ($($name:ident $label:literal $about:literal,)*) => {
        /// The resources that all teams share and that are counted. Code that adds a resource defines how many units
        /// there are, and each team has a share of it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Resource { $(#[doc = $about] $name,)* }

        impl Resource {
            /// All resources.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name in metrics, in the log and in events.
            pub fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

resources! {
    Guests "guests" "Places for guests: their stacks, instances, memories and tables.",
    Code "code" "Bytes of compiled code that is in use.",
    IdleGuests "idle-guests" "Places for guests that are kept for another call.",
    DnsLookups "dns-lookups" "Threads that wait for the resolver of the system.",
    FolderThreads "folder-threads" "Threads for file system calls of guests.",
    AuditLines "audit-lines" "Places in the queue of the audit log.",
    LogBytes "log-bytes" "Bytes of the lines of providers in the log within a second.",
    Streams "streams" "Open notification streams.",
    Spans "spans" "Places in the queue of spans for the collector.",
}

/// The values that the operator configures. A process that does not use these resources needs none.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShareLimits {
    /// Places for guests.
    pub guests: u32,
    /// Bytes of compiled code.
    pub code: u64,
    /// Bytes in the log within a second.
    pub log: u64,
    /// Notification streams.
    pub streams: usize,
}

/// Places in the queue of the audit log.
pub const AUDIT_LINES: usize = 1_024;
/// Places in the queue of spans.
pub const SPANS: usize = 4_096;

impl Resource {
    const COUNT: usize = Self::ALL.len();

    /// The limit of the resource, if the operator configured it.
    pub fn limit(self, configured: ShareLimits) -> u64 {
        let ShareLimits {
            guests,
            code,
            log,
            streams,
        } = configured;
        match self {
            Self::Guests => guests.into(),
            Self::Code => code,
            Self::IdleGuests => (guests / 4).into(),
            // The rest is a reserve for warnings of the host.
            Self::LogBytes => log - log / 4,
            Self::Streams => streams as u64,
            Self::DnsLookups => 64,
            // This is less than the number of threads that systemd permits a service by default, which is 4,915.
            Self::FolderThreads => 4_096,
            Self::AuditLines => AUDIT_LINES as u64,
            Self::Spans => SPANS as u64,
        }
    }
}

/// The resources with a fixed number. Clones share the same resources.
#[derive(Debug, Clone)]
pub struct Shares(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    resources: [Shared; Resource::COUNT],
    teams: Mutex<BTreeMap<TeamName, Arc<Account>>>,
}

#[derive(Debug)]
struct Shared {
    ledger: Ledger,
    waiting: WaitingList,
    refused: AtomicU64,
}

/// The use of one team of each resource.
type Account = [AtomicU64; Resource::COUNT];

/// The shares of one team. Clones share the same values.
#[derive(Debug, Clone)]
pub struct TeamShares(Arc<TeamInner>);

#[derive(Debug)]
struct TeamInner {
    shares: Shares,
    account: Arc<Account>,
}

/// A part of a resource, which is returned on drop.
#[derive(Debug)]
pub struct SharePermit {
    team: TeamShares,
    resource: Resource,
    amount: u64,
}

impl Shares {
    /// Creates the resources.
    pub fn new(configured: ShareLimits, several_teams: &SeveralTeams) -> Self {
        let shared = |at: usize| Shared {
            ledger: Ledger::new(Resource::ALL[at].limit(configured), several_teams.clone()),
            waiting: WaitingList::default(),
            refused: AtomicU64::new(0),
        };
        Self(Arc::new(Inner {
            resources: std::array::from_fn(shared),
            teams: Mutex::default(),
        }))
    }

    /// Returns the shares of a team.
    pub fn team(&self, name: &TeamName) -> TeamShares {
        let mut teams = self.0.teams.lock();
        let account = match teams.get(name) {
            Some(account) => account.clone(),
            None => teams.entry(name.clone()).or_default().clone(),
        };
        self.of(account)
    }

    fn of(&self, account: Arc<Account>) -> TeamShares {
        TeamShares(Arc::new(TeamInner {
            shares: self.clone(),
            account,
        }))
    }

    /// Returns the shares of these teams.
    pub fn teams<'a>(
        &self,
        names: impl IntoIterator<Item = &'a TeamName>,
    ) -> BTreeMap<TeamName, TeamShares> {
        names
            .into_iter()
            .map(|name| (name.clone(), self.team(name)))
            .collect()
    }

    /// Registers the limit of each resource, its use, and how often a team was refused.
    pub fn register_metrics(&self, metrics: &Metrics) {
        let limits = self.samples(
            |shared| shared.ledger.limit(),
            |samples, labels, limit| samples.gauge(labels, limit),
        );
        let help = "What all teams share, by resource";
        metrics.register("larder_shared_limit", help, ComputedFamily::gauges(limits));
        let used = self.samples(
            |shared| shared.ledger.used(),
            |samples, labels, used| samples.gauge(labels, used),
        );
        let help = "What is used of what all teams share, by resource";
        metrics.register("larder_shared_used", help, ComputedFamily::gauges(used));
        let refused = self.samples(
            |shared| shared.refused.load(SeqCst),
            |samples, labels, count| samples.counter(labels, count),
        );
        let refused = ComputedFamily::counters(refused);
        let help = "How often a team did not get what all teams share, by resource";
        metrics.register("larder_shared_refused", help, refused);
    }

    /// Returns a function that writes a value of each resource that there is.
    fn samples(
        &self,
        value: fn(&Shared) -> u64,
        write: fn(&mut Samples<'_>, &[(&str, &str)], u64) -> fmt::Result,
    ) -> impl Fn(&mut Samples<'_>) -> fmt::Result + use<> {
        let shares = self.clone();
        move |samples| {
            Resource::ALL.iter().try_for_each(|resource| {
                let shared = shares.shared(*resource);
                if shared.ledger.limit() == 0 {
                    return Ok(());
                }
                write(samples, &[("resource", resource.label())], value(shared))
            })
        }
    }

    /// The use of a resource by all teams.
    pub fn used(&self, resource: Resource) -> u64 {
        self.shared(resource).ledger.used()
    }

    fn shared(&self, resource: Resource) -> &Shared {
        &self.0.resources[resource as usize]
    }

    /// Gives the free part of a resource to the requests that wait for it.
    fn serve(&self, resource: Resource) {
        let shared = self.shared(resource);
        shared.waiting.serve(
            |Waiter {
                 account, amount, ..
             }| {
                shared
                    .ledger
                    .add(&account[resource as usize], *amount)
                    .map(|_| SharePermit {
                        team: self.of(account.clone()),
                        resource,
                        amount: *amount,
                    })
            },
            |account| account[resource as usize].load(SeqCst),
        );
    }
}

impl TeamShares {
    /// The use of a resource by the team.
    pub fn used(&self, resource: Resource) -> u64 {
        self.account(resource).load(SeqCst)
    }

    /// The limit of a resource for all teams.
    pub fn limit(&self, resource: Resource) -> u64 {
        self.shared(resource).ledger.limit()
    }

    /// Whether a part of a resource is reserved for other teams.
    pub fn is_divided(&self, resource: Resource) -> bool {
        let ledger = &self.shared(resource).ledger;
        ledger.largest_share() < ledger.limit()
    }

    /// Takes this much of a resource if it is in the share of the team now. More than the largest share is never taken.
    pub fn try_take(&self, resource: Resource, amount: u64) -> Option<SharePermit> {
        self.try_take_all(resource, self.possible(resource, amount)?)
    }

    /// Takes this much of a resource, and nothing less, if it is in the share of the team now.
    pub fn try_take_all(&self, resource: Resource, amount: u64) -> Option<SharePermit> {
        if self
            .shared(resource)
            .ledger
            .add(self.account(resource), amount)
            .is_some()
        {
            return Some(SharePermit {
                team: self.clone(),
                resource,
                amount,
            });
        }
        // While this request was counted, another request may have found too little.
        self.serve_waiting(resource);
        None
    }

    /// Takes this much of a resource, and waits for it behind other requests of the team. More than the largest share
    /// is never taken.
    pub async fn take(&self, resource: Resource, amount: u64) -> Option<SharePermit> {
        // A task whose calls never wait yields to other tasks from time to time.
        tokio::task::coop::consume_budget().await;
        let waiting = &self.shared(resource).waiting;
        if waiting.is_empty()
            && let Some(taken) = self.try_take(resource, amount)
        {
            return Some(taken);
        }
        let taken = waiting.join(self.0.account.clone(), self.possible(resource, amount)?);
        self.0.shares.serve(resource);
        // A waiting request is not removed without its part.
        taken.await.ok()
    }

    /// Counts units that exist already, independently of the share of the team.
    pub fn count(&self, resource: Resource, amount: u64) -> SharePermit {
        self.shared(resource)
            .ledger
            .count(self.account(resource), amount);
        SharePermit {
            team: self.clone(),
            resource,
            amount,
        }
    }

    /// Counts that the team did not get the units that it needs.
    pub fn count_refusal(&self, resource: Resource) {
        self.shared(resource).refused.fetch_add(1, SeqCst);
    }

    /// This amount, or the largest share. None if the resource has no units.
    fn possible(&self, resource: Resource, amount: u64) -> Option<u64> {
        Some(amount.min(self.shared(resource).ledger.largest_share())).filter(|amount| *amount > 0)
    }

    fn serve_waiting(&self, resource: Resource) {
        if !self.shared(resource).waiting.is_empty() {
            self.0.shares.serve(resource);
        }
    }

    fn shared(&self, resource: Resource) -> &Shared {
        self.0.shares.shared(resource)
    }

    fn account(&self, resource: Resource) -> &AtomicU64 {
        &self.0.account[resource as usize]
    }
}

impl Drop for SharePermit {
    fn drop(&mut self) {
        let team = &self.team;
        team.shared(self.resource)
            .ledger
            .remove(team.account(self.resource), self.amount);
        team.serve_waiting(self.resource);
    }
}

#[cfg(test)]
mod tests;
