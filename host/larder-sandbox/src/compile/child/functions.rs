//! The compiled functions of earlier revisions. The compiler uses those functions that did not change. A function is
//! identified by a digest of everything that its code depends on, which Cranelift computes.
//!
//! Format: for each function its key (32 bytes), for how many compilations it was not used (one byte), the length of
//! its code (four bytes, little-endian), and its code.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use wasmtime::CacheStore;

/// What identifies a function.
type Key = [u8; KEY_SIZE];

const KEY_SIZE: usize = 32;
const HEADER_SIZE: usize = KEY_SIZE + size_of::<u8>() + size_of::<u32>();
/// An unused function is kept for this number of compilations. During this time, a compilation may look up another key
/// of the same function (see [`super::recompilation`]), or an author may undo a change.
const MAX_UNUSED: u8 = 6;

/// The functions of earlier revisions, and those that this process compiles.
#[derive(Debug, Default)]
pub(super) struct Functions {
    bytes: Vec<u8>,
    known: HashMap<Key, KnownFunction>,
    compiled: Mutex<HashMap<Key, Vec<u8>>>,
}

#[derive(Debug)]
struct KnownFunction {
    code: Range<usize>,
    unused_for: u8,
    is_used: AtomicBool,
}

impl KnownFunction {
    /// The number of compilations for which the function is unused after this one.
    fn unused_after(&self) -> u8 {
        if self.is_used.load(Ordering::Relaxed) {
            0
        } else {
            self.unused_for.saturating_add(1)
        }
    }
}

impl Functions {
    /// Reads the functions of earlier revisions. The invalid rest of the bytes is ignored.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let mut known = HashMap::new();
        let mut at = 0;
        while let Some((key, function)) = entry_at(&bytes, at) {
            at = function.code.end;
            known.insert(key, function);
        }
        Self {
            bytes,
            known,
            compiled: Mutex::default(),
        }
    }

    /// The same functions, as functions of an earlier revision.
    pub(super) fn as_known(&self) -> Self {
        // A growing vector would be copied each time, and would need up to three times the memory during the copy.
        let mut bytes = Vec::with_capacity(usize::try_from(self.size()).unwrap_or_default());
        // Writing to memory does not fail.
        let _ = self.write(&mut bytes);
        Self::new(bytes)
    }

    /// How many functions were taken from the earlier revision, and how many functions were compiled.
    pub(super) fn counts(&self) -> (u64, u64) {
        let used = self
            .known
            .values()
            .filter(|function| function.unused_after() == 0);
        (used.count() as u64, self.compiled().len() as u64)
    }

    /// The size of the output of [`Self::write`].
    pub(super) fn size(&self) -> u64 {
        let kept: usize = self
            .kept()
            .map(|(_, function)| HEADER_SIZE + function.code.len())
            .sum();
        let compiled: usize = self
            .compiled()
            .values()
            .map(|code| HEADER_SIZE + code.len())
            .sum();
        (kept + compiled) as u64
    }

    /// Writes the functions for the next revision. Functions that were not used for long are omitted.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for (key, function) in self.kept() {
            write_entry(
                out,
                key,
                function.unused_after(),
                &self.bytes[function.code.clone()],
            )?;
        }
        self.compiled()
            .iter()
            .try_for_each(|(key, code)| write_entry(out, key, 0, code))
    }

    fn kept(&self) -> impl Iterator<Item = (&Key, &KnownFunction)> {
        self.known
            .iter()
            .filter(|(_, function)| function.unused_after() <= MAX_UNUSED)
    }

    fn compiled(&self) -> parking_lot::MutexGuard<'_, HashMap<Key, Vec<u8>>> {
        self.compiled.lock()
    }
}

impl CacheStore for Functions {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let function = self.known.get(key)?;
        function.is_used.store(true, Ordering::Relaxed);
        Some(Cow::Borrowed(&self.bytes[function.code.clone()]))
    }

    fn insert(&self, key: &[u8], code: Vec<u8>) -> bool {
        let Ok(key) = Key::try_from(key) else {
            return false;
        };
        self.compiled().insert(key, code);
        true
    }
}

fn entry_at(bytes: &[u8], at: usize) -> Option<(Key, KnownFunction)> {
    let header = bytes.get(at..at.checked_add(HEADER_SIZE)?)?;
    let (key, rest) = header.split_at(KEY_SIZE);
    let (&unused_for, length) = rest.split_first()?;
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    let start = at + HEADER_SIZE;
    let end = start
        .checked_add(length)
        .filter(|end| *end <= bytes.len())?;
    let function = KnownFunction {
        code: start..end,
        unused_for,
        is_used: AtomicBool::new(false),
    };
    Some((key.try_into().ok()?, function))
}

/// A function of 4 GiB or more is omitted. No component has such a function.
fn write_entry(out: &mut impl Write, key: &Key, unused_for: u8, code: &[u8]) -> io::Result<()> {
    let Ok(length) = u32::try_from(code.len()) else {
        return Ok(());
    };
    out.write_all(key)?;
    out.write_all(&[unused_for])?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(functions: &Functions) -> Vec<u8> {
        let mut out = Vec::new();
        functions.write(&mut out).unwrap();
        assert_eq!(out.len() as u64, functions.size());
        out
    }

    /// The functions of the next revision.
    fn next(functions: &Functions) -> Functions {
        Functions::new(written(functions))
    }

    #[test]
    fn keeps_what_was_used_or_compiled() {
        let [first, second, third] = [[1; KEY_SIZE], [2; KEY_SIZE], [3; KEY_SIZE]];
        let functions = Functions::default();
        assert!(functions.get(&first).is_none());
        assert!(
            functions.insert(&first, b"one".into()) && functions.insert(&second, b"two".into())
        );
        assert!(!functions.insert(b"short", b"no".into()));
        assert_eq!(functions.counts(), (0, 2));

        let functions = next(&functions);
        assert_eq!(functions.get(&second).as_deref(), Some(b"two".as_slice()));
        functions.insert(&third, Vec::new());
        assert_eq!(functions.counts(), (1, 1));

        let functions = next(&functions);
        let found = [second, third].map(|key| functions.get(&key).map(Cow::into_owned));
        assert_eq!(found, [Some(b"two".to_vec()), Some(Vec::new())]);
    }

    #[test]
    fn keeps_what_is_not_used_for_some_compilations() {
        let functions = Functions::default();
        functions.insert(&[1; KEY_SIZE], b"one".into());
        let unused =
            |functions: Functions, times: u8| (0..times).fold(functions, |known, _| next(&known));
        let long_unused = unused(next(&functions), MAX_UNUSED);
        assert!(long_unused.get(&[1; KEY_SIZE]).is_some());
        let used_again = written(&long_unused);
        let used_again = || Functions::new(used_again.clone());
        assert!(
            unused(used_again(), MAX_UNUSED)
                .get(&[1; KEY_SIZE])
                .is_some()
        );
        assert!(
            unused(used_again(), MAX_UNUSED + 1)
                .get(&[1; KEY_SIZE])
                .is_none()
        );
    }

    #[test]
    fn a_copy_takes_only_the_memory_that_it_needs() {
        let functions = Functions::default();
        for number in 1_u8..=3 {
            functions.insert(&[number; KEY_SIZE], vec![0; 1_000]);
        }
        assert_eq!(
            functions.as_known().bytes.capacity() as u64,
            functions.size()
        );
    }

    #[test]
    fn invalid_bytes_are_no_functions() {
        for bytes in [vec![0; HEADER_SIZE - 1], vec![0xff; 100]] {
            assert_eq!(written(&Functions::new(bytes)), b"");
        }
        let functions = Functions::default();
        functions.insert(&[1; KEY_SIZE], b"code".into());
        let bytes = written(&functions);
        assert!(
            Functions::new(bytes[..bytes.len() - 1].to_vec())
                .get(&[1; KEY_SIZE])
                .is_none()
        );
    }
}
