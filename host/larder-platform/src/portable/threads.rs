//! Priorities of threads, which POSIX does not have: a priority belongs to a whole process.

use std::io;

/// Does nothing: this system has no priorities of threads.
pub fn lower_priority() -> io::Result<()> {
    Ok(())
}

/// Does nothing: this system has no slices of threads.
pub fn request_short_slice() -> io::Result<()> {
    Ok(())
}

/// Returns the minor page faults of this thread so far. This system does not report them.
pub fn page_faults() -> u64 {
    0
}
