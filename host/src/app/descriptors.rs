//! Connections, granted folders and the files that guests open are descriptors of this one process, and many
//! systems let it have no more than 1,024 unless it asks.

/// Takes as many as the system lets it have.
#[cfg(unix)]
pub(super) fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, ?current, "cannot have more open files; under load some clients may be refused");
    }
}

#[cfg(not(unix))]
pub(super) fn raise() {}
