//! Many providers are many small pieces of memory. In pages of 2 MiB each of them may hold a page that is empty but for it,
//! and the first byte that a guest writes clears one.

/// Small pages for everything that is taken from now on, also where the system gives large ones to all. What the
/// allocator has is in small ones anyway (its feature `no_thp`).
#[cfg(target_os = "linux")]
pub(super) fn keep_small() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "the system keeps to the size of its pages; memory may be in large ones");
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn keep_small() {}
