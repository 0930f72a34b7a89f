//! Raises the limit of open files. Connections, granted folders and files of guests all need file descriptors
//! of this process, and the default limit of many systems is 1,024.

/// Raises the soft limit to the hard limit.
pub(super) fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    ) {
        tracing::warn!(%error, ?current, "cannot raise the limit of open files; some clients may be refused under load");
    }
}
