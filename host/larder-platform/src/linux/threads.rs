//! Priorities and slices of threads.

mod slice;

use std::io;

/// The priority of threads for long work, as for the command `nice`. If a thread of normal priority runs too, such a
/// thread gets about a quarter of a processor, so neither kind of work waits forever.
const NICE: i32 = 5;
/// The shortest slice that Linux accepts, in nanoseconds.
const SLICE: u64 = 100_000;

/// Lowers the priority of this thread, and not of the process.
pub fn lower_priority() -> io::Result<()> {
    Ok(rustix::process::setpriority_process(None, NICE)?)
}

/// Shortens the slice of this thread. Threads and processes that this thread starts have the usual slice.
pub fn request_short_slice() -> io::Result<()> {
    slice::set_slice(SLICE)
}

/// Returns the minor page faults of this thread so far.
pub fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    // The name of the thread is in parentheses and can contain spaces.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields
        .split_whitespace()
        .nth(7)
        .and_then(|faults| faults.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::slice::attributes;
    use super::*;

    /// The slice and the priority of this thread. The slice is zero if the kernel does not report it.
    fn slice_and_nice() -> (u64, i32) {
        let attributes = attributes().unwrap();
        (attributes.sched_runtime, attributes.sched_nice)
    }

    #[test]
    fn only_the_thread_itself_gets_a_short_slice() {
        let (usual, nice) = slice_and_nice();
        let own = thread::spawn(move || {
            request_short_slice().unwrap();
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
    fn only_the_thread_itself_gets_a_lower_priority() {
        let usual = slice_and_nice().1;
        let own = thread::spawn(|| {
            lower_priority().unwrap();
            slice_and_nice().1
        });
        assert_eq!(own.join().unwrap(), usual.max(NICE));
        assert_eq!(slice_and_nice().1, usual);
    }

    #[test]
    fn a_short_slice_keeps_the_priority() {
        let thread = thread::spawn(|| {
            lower_priority().unwrap();
            let before = slice_and_nice().1;
            request_short_slice().unwrap();
            (before, slice_and_nice().1)
        });
        let (before, after) = thread.join().unwrap();
        assert_eq!(before, after);
    }
}
