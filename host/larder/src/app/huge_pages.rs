//! Transparent huge pages are disabled. Providers use many small memory areas. Each area could occupy a page of 2 MiB
//! that is otherwise empty, and the first write of a guest would clear the whole page.

/// Disables huge pages for all memory that is allocated from now on, even if the system enables them for all processes.
/// The allocator does not use huge pages in any case (its feature `no_thp`).
pub(super) fn disable() {
    if let Err(error) = larder_platform::memory::disable_huge_pages() {
        tracing::debug!(%error, "cannot disable huge pages; memory use may be higher");
    }
}
