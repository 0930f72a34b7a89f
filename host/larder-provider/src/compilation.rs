//! What an engine compiles, and how long that takes.

use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use bytes::Bytes;

use larder_model::name::{Digest, ProviderName, TeamName};

/// What is compiled, and for which team and provider.
#[derive(Debug, Clone, Copy)]
pub struct CompileJob<'a> {
    /// The team, which has its own entries in the cache.
    pub team: &'a TeamName,
    /// The provider. Functions of its previous revision are not compiled again. Without a provider, all functions are
    /// compiled.
    pub provider: Option<&'a ProviderName>,
    /// How urgent the result is.
    pub priority: Priority,
}

/// How urgent a compilation is. One component of each priority is compiled at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Somebody waits for the first revision.
    Awaited,
    /// The previous revision is served in the meantime. Serving requests takes precedence.
    Replacement,
    /// The same revision is served in the meantime, with code that is not optimised.
    Optimisation,
}

/// The bytes of a component, and their digest.
#[derive(Debug, Clone)]
pub struct HashedComponent {
    bytes: Bytes,
    digest: Digest,
}

impl HashedComponent {
    /// Computes the digest. Blocks the calling thread.
    pub fn new(bytes: Bytes) -> Self {
        Self {
            digest: Digest::of(&bytes),
            bytes,
        }
    }

    /// The digest of the bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// How long each phase of a compilation took. All phases are zero if the code was in the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompilePhases {
    /// The component waited for other compilations.
    pub queue: Duration,
    /// The process started and ended.
    pub start: Duration,
    /// The process read the component.
    pub read: Duration,
    /// The process compiled.
    pub compile: Duration,
    /// The process wrote the code.
    pub write: Duration,
    /// The code was sealed and put into the cache.
    pub seal: Duration,
    /// The code was verified and mapped.
    pub map: Duration,
}

/// Adds the phases of another process, which may have run at the same time.
impl AddAssign for CompilePhases {
    fn add_assign(&mut self, other: Self) {
        let Self {
            queue,
            start,
            read,
            compile,
            write,
            seal,
            map,
        } = other;
        self.queue += queue;
        self.start += start;
        self.read = self.read.saturating_add(read);
        self.compile = self.compile.saturating_add(compile);
        self.write = self.write.saturating_add(write);
        self.seal += seal;
        self.map += map;
    }
}

impl fmt::Display for CompilePhases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            queue,
            start,
            read,
            compile,
            write,
            seal,
            map,
        } = self;
        write!(
            f,
            "queue {queue:.1?}, process {start:.1?}, input {read:.1?}, compile {compile:.1?}, \
             output {write:.1?}, seal {seal:.1?}, map {map:.1?}"
        )
    }
}
