//! Data from packs that are needed again, up to a size: blocks of the files, and objects. Without this cache, each
//! object takes several calls of the host, and each change to a base reads this base again.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::rc::Rc;

use larder_provider::Result;
use provider_support::disk::File;

use crate::objects::Object;

/// The number of bytes that are read at once.
const BLOCK: u64 = 32 << 10;
/// The maximum size of all blocks, and of all objects.
const MAX_BLOCKS: usize = 4 << 20;
const MAX_OBJECTS: usize = 8 << 20;

/// The caches of one repository.
#[derive(Debug)]
pub(crate) struct Caches {
    /// By the number of the file and the number of the block.
    blocks: RefCell<Cache<(usize, u64), Vec<u8>>>,
    /// The key is the number of the pack and the position in the pack.
    pub(crate) objects: RefCell<Cache<(usize, u64), Object>>,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            blocks: Cache::new(MAX_BLOCKS).into(),
            objects: Cache::new(MAX_OBJECTS).into(),
        }
    }
}

/// A cache with a maximum total size. If the cache is full, the values that were added first are removed.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    values: HashMap<K, (Rc<V>, usize)>,
    oldest_first: VecDeque<K>,
    size: usize,
    max: usize,
}

impl<K: Copy + Eq + Hash, V> Cache<K, V> {
    fn new(max: usize) -> Self {
        Self {
            values: HashMap::new(),
            oldest_first: VecDeque::new(),
            size: 0,
            max,
        }
    }

    pub(crate) fn get(&self, key: K) -> Option<Rc<V>> {
        self.values.get(&key).map(|(value, _)| value.clone())
    }

    /// Adds a value that is not in the cache. A value is not added if it is so large that most other values would be
    /// removed.
    pub(crate) fn add(&mut self, key: K, value: &Rc<V>, size: usize) {
        if size > self.max / 8 || self.values.contains_key(&key) {
            return;
        }
        self.values.insert(key, (value.clone(), size));
        self.oldest_first.push_back(key);
        self.size += size;
        while self.size > self.max {
            let Some(oldest) = self.oldest_first.pop_front() else {
                return;
            };
            self.size -= self.values.remove(&oldest).map_or(0, |(_, size)| size);
        }
    }
}

/// A source that can be read at any position.
pub(crate) trait ReadAt {
    /// Reads at most this number of bytes, and less only at the end.
    fn read_at(&self, offset: u64, length: u64) -> Result<Vec<u8>>;
}

impl ReadAt for File {
    fn read_at(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        self.read_at(offset, length)
    }
}

/// A file that is read in blocks.
#[derive(Debug)]
pub(crate) struct BlockFile {
    pub(crate) file: File,
    /// The number, which differs from the numbers of all other files with these caches.
    pub(crate) number: usize,
    pub(crate) caches: Rc<Caches>,
}

impl BlockFile {
    fn block(&self, block: u64) -> Result<Rc<Vec<u8>>> {
        let key = (self.number, block);
        if let Some(found) = self.caches.blocks.borrow().get(key) {
            return Ok(found);
        }
        let bytes = Rc::new(self.file.read_at(block * BLOCK, BLOCK)?);
        self.caches
            .blocks
            .borrow_mut()
            .add(key, &bytes, bytes.len());
        Ok(bytes)
    }
}

impl ReadAt for BlockFile {
    fn read_at(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let end = offset.saturating_add(length);
        let (mut bytes, mut at) = (Vec::new(), offset);
        while at < end {
            let block = self.block(at / BLOCK)?;
            let from = usize::try_from(at % BLOCK).unwrap_or_default();
            let to = usize::try_from((end - at / BLOCK * BLOCK).min(block.len() as u64))
                .unwrap_or_default();
            let Some(part) = block.get(from..to).filter(|part| !part.is_empty()) else {
                break;
            };
            bytes.extend_from_slice(part);
            at += part.len() as u64;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest_values() {
        let mut cache = Cache::new(80);
        for key in 0..20 {
            cache.add(key, &Rc::new(key), 10);
            cache.add(key, &Rc::new(key), 10);
        }
        cache.add(99, &Rc::new(99), 11);
        let kept: Vec<i32> = (0..100).filter(|key| cache.get(*key).is_some()).collect();
        assert_eq!(kept, (12..20).collect::<Vec<_>>());
        assert_eq!((cache.size, cache.oldest_first.len()), (80, 8));
    }

    #[test]
    fn reads_across_blocks() {
        let root = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..100_000_u32)
            .map(|number| (number % 251) as u8)
            .collect();
        std::fs::write(root.path().join("file"), &content).unwrap();
        let disk = provider_support::disk::Disk(root.path().to_owned());
        let file = disk.file(&["file".to_owned()]).unwrap();
        let file = BlockFile {
            file,
            number: 0,
            caches: Rc::default(),
        };
        for (offset, length) in [
            (0, 10),
            (32_760, 20),
            (0, 100_000),
            (99_990, 50),
            (65_536, 1),
            (200_000, 5),
        ] {
            let end = content.len().min(offset + length);
            let expected = content.get(offset..end).unwrap_or_default();
            assert_eq!(
                file.read_at(offset as u64, length as u64).unwrap(),
                expected,
                "{offset} {length}"
            );
        }
    }
}
