//! Threads that run as soon as they are woken. On Linux, a running thread finishes its slice of about 3 ms before a
//! woken thread runs, also if the woken thread has a higher priority. Since Linux 6.12, a thread with a shorter slice
//! does not wait. Older kernels and other systems keep their usual slice.

#![allow(
    unsafe_code,
    reason = "no maintained crate offers sched_setattr for threads of normal policy"
)]

/// The shortest slice that Linux accepts, in nanoseconds.
#[cfg(target_os = "linux")]
const SLICE: u64 = 100_000;

/// Shortens the slice of this thread. Threads and processes that this thread starts have the usual slice.
pub fn request_short_slice() {
    #[cfg(target_os = "linux")]
    if let Err(error) = linux::set_slice(SLICE) {
        tracing::debug!(%error, "cannot shorten the slice of a thread");
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{Error, Result};
    use std::mem::{size_of, zeroed};

    use libc::{
        SCHED_FLAG_RESET_ON_FORK, SYS_sched_getattr, SYS_sched_setattr, c_long, sched_attr, syscall,
    };

    /// The kernel has no flags for these calls yet.
    const NO_FLAGS: u32 = 0;
    const THIS_THREAD: libc::pid_t = 0;

    /// Changes the slice, and keeps the policy and the priority.
    pub(super) fn set_slice(slice: u64) -> Result<()> {
        let mut attributes = attributes()?;
        if i32::try_from(attributes.sched_policy) != Ok(libc::SCHED_OTHER) {
            return Ok(());
        }
        attributes.sched_flags = SCHED_FLAG_RESET_ON_FORK as u64;
        attributes.sched_runtime = slice;
        // SAFETY: the kernel reads the number of bytes in the field `size`, which is the size of the structure.
        check(unsafe {
            syscall(
                SYS_sched_setattr,
                THIS_THREAD,
                &raw const attributes,
                NO_FLAGS,
            )
        })
    }

    pub(super) fn attributes() -> Result<sched_attr> {
        // SAFETY: all fields of the structure are integers, and zero is a valid value for each of them.
        let mut attributes: sched_attr = unsafe { zeroed() };
        let size = size_of::<sched_attr>();
        // SAFETY: the kernel writes at most `size` bytes, and any bytes are valid values for the integers of the
        // structure.
        check(unsafe {
            syscall(
                SYS_sched_getattr,
                THIS_THREAD,
                &raw mut attributes,
                size,
                NO_FLAGS,
            )
        })?;
        Ok(attributes)
    }

    fn check(result: c_long) -> Result<()> {
        if result == 0 {
            Ok(())
        } else {
            Err(Error::last_os_error())
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::thread;

    use super::linux::attributes;
    use super::*;
    use crate::low_priority_threads::lower_priority;

    /// The slice and the priority of this thread. The slice is zero if the kernel does not report it.
    fn slice_and_nice() -> (u64, i32) {
        let attributes = attributes().unwrap();
        (attributes.sched_runtime, attributes.sched_nice)
    }

    #[test]
    fn only_the_thread_itself_gets_a_short_slice() {
        let (usual, nice) = slice_and_nice();
        let own = thread::spawn(move || {
            request_short_slice();
            let started = thread::spawn(slice_and_nice).join().unwrap();
            assert_eq!(
                started,
                (usual, nice),
                "a thread that it starts has the usual slice"
            );
            slice_and_nice()
        });
        let expected = if usual == 0 { 0 } else { SLICE };
        assert_eq!(own.join().unwrap(), (expected, nice));
    }

    #[test]
    fn the_priority_is_kept() {
        let thread = thread::spawn(|| {
            lower_priority();
            let before = slice_and_nice().1;
            request_short_slice();
            (before, slice_and_nice().1)
        });
        let (before, after) = thread.join().unwrap();
        assert_eq!(before, after);
    }
}
