//! The memory of the machine and of this process, which POSIX does not report.

use std::io;

/// Returns the memory of this machine in bytes, if the system reports it.
pub fn physical_memory() -> Option<u64> {
    None
}

/// Returns the smallest memory limit of the control groups of this process. This system has none.
pub fn memory_of_group() -> Option<u64> {
    None
}

/// Returns the resident memory of this process in bytes, if the system reports it.
pub fn resident_memory() -> Option<u64> {
    None
}

/// Disables huge pages, which this system does not use by itself.
pub fn disable_huge_pages() -> io::Result<()> {
    Ok(())
}
