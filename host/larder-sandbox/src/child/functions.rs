//! The compiled functions of an earlier revision, from which the compiler takes those that did not change. A function
//! is identified by a digest of everything that its code depends on, which Cranelift computes.
//!
//! Format: for each function its key (32 bytes), the length of its code (four bytes, little-endian), and its code.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use wasmtime::CacheStore;

/// What identifies a function.
type Key = [u8; KEY_SIZE];

const KEY_SIZE: usize = 32;
const HEADER_SIZE: usize = KEY_SIZE + size_of::<u32>();

/// The functions of an earlier revision, and those that this process compiles.
#[derive(Debug, Default)]
pub(super) struct Functions {
    bytes: Vec<u8>,
    known: HashMap<Key, KnownFunction>,
    compiled: Mutex<HashMap<Key, Vec<u8>>>,
}

#[derive(Debug)]
struct KnownFunction {
    code: Range<usize>,
    is_used: AtomicBool,
}

impl Functions {
    /// Reads the functions of an earlier revision. The rest of invalid bytes is ignored.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let (mut known, mut at) = (HashMap::new(), 0);
        while let Some((key, code)) = entry_at(&bytes, at) {
            at = code.end;
            known.insert(key, KnownFunction { code, is_used: AtomicBool::new(false) });
        }
        Self { bytes, known, compiled: Mutex::default() }
    }

    /// How many functions were taken from the earlier revision, and how many were compiled.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.used().count() as u64, self.compiled().len() as u64)
    }

    /// The size of what [`Self::write`] writes.
    pub(super) fn size(&self) -> u64 {
        let used: usize = self.used().map(|(_, code)| HEADER_SIZE + code.len()).sum();
        let compiled: usize = self.compiled().values().map(|code| HEADER_SIZE + code.len()).sum();
        (used + compiled) as u64
    }

    /// Writes the functions of the revision that was compiled. Those that it does not have are left out.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for (key, code) in self.used() {
            write_entry(out, key, code)?;
        }
        self.compiled().iter().try_for_each(|(key, code)| write_entry(out, key, code))
    }

    fn used(&self) -> impl Iterator<Item = (&Key, &[u8])> {
        let used = self.known.iter().filter(|(_, function)| function.is_used.load(Ordering::Relaxed));
        used.map(|(key, function)| (key, &self.bytes[function.code.clone()]))
    }

    fn compiled(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Vec<u8>>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheStore for Functions {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let function = self.known.get(key)?;
        function.is_used.store(true, Ordering::Relaxed);
        Some(Cow::Borrowed(&self.bytes[function.code.clone()]))
    }

    fn insert(&self, key: &[u8], code: Vec<u8>) -> bool {
        let Ok(key) = Key::try_from(key) else { return false };
        self.compiled().insert(key, code);
        true
    }
}

fn entry_at(bytes: &[u8], at: usize) -> Option<(Key, Range<usize>)> {
    let header = bytes.get(at..at.checked_add(HEADER_SIZE)?)?;
    let (key, length) = header.split_at(KEY_SIZE);
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    let start = at + HEADER_SIZE;
    let end = start.checked_add(length).filter(|end| *end <= bytes.len())?;
    Some((key.try_into().ok()?, start..end))
}

/// A function of 4 GiB or more, which no component has, is left out.
fn write_entry(out: &mut impl Write, key: &Key, code: &[u8]) -> io::Result<()> {
    let Ok(length) = u32::try_from(code.len()) else { return Ok(()) };
    out.write_all(key)?;
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

    #[test]
    fn keeps_what_was_used_or_compiled() {
        let [first, second, third] = [[1; KEY_SIZE], [2; KEY_SIZE], [3; KEY_SIZE]];
        let functions = Functions::default();
        assert!(functions.get(&first).is_none());
        assert!(functions.insert(&first, b"one".into()) && functions.insert(&second, b"two".into()));
        assert!(!functions.insert(b"short", b"no".into()));
        assert_eq!(functions.counts(), (0, 2));

        let functions = Functions::new(written(&functions));
        assert_eq!(functions.get(&second).as_deref(), Some(b"two".as_slice()));
        functions.insert(&third, Vec::new());
        assert_eq!(functions.counts(), (1, 1));

        let functions = Functions::new(written(&functions));
        let found = [first, second, third].map(|key| functions.get(&key).map(Cow::into_owned));
        assert_eq!(found, [None, Some(b"two".to_vec()), Some(Vec::new())]);
    }

    #[test]
    fn invalid_bytes_are_no_functions() {
        for bytes in [vec![0; HEADER_SIZE - 1], vec![0xff; 100]] {
            assert_eq!(written(&Functions::new(bytes)), b"");
        }
        let functions = Functions::default();
        functions.insert(&[1; KEY_SIZE], b"code".into());
        let bytes = written(&functions);
        assert!(Functions::new(bytes[..bytes.len() - 1].to_vec()).get(&[1; KEY_SIZE]).is_none());
    }
}
