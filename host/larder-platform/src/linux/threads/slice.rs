//! The slice of a thread: how long it runs before another thread does. On Linux, a running thread finishes its slice of
//! about 3 ms before a woken thread runs, also if the woken thread has a higher priority. Since Linux 6.12, a thread
//! with a shorter slice does not wait. Older kernels keep their usual slice.

#![allow(
    unsafe_code,
    reason = "no maintained crate offers sched_setattr for threads of normal policy"
)]

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
