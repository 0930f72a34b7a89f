//! Work of the store on threads that may block.

/// Runs work on a thread that may block, and returns its result.
pub(crate) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // This is not spawned through the drain, because shutdown must not wait for a disk. The work may be dropped at any
    // time, and leaves no damaged files.
    match tokio::runtime::Handle::current().spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
