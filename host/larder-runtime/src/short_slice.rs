//! Threads that run as soon as they are woken.

use larder_platform::threads;

/// Shortens the slice of this thread, if the system has slices of threads. Threads and processes that this thread starts
/// have the usual slice.
pub fn request_short_slice() {
    if let Err(error) = threads::request_short_slice() {
        tracing::debug!(%error, "cannot shorten the slice of a thread");
    }
}
