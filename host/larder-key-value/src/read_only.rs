//! A file that cannot be written, as the storage of a database. What the database writes when it is opened, such as a
//! repair, stays in memory.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Bound;

use parking_lot::Mutex;
use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

/// The bytes of a block that is kept in memory.
const BLOCK: u64 = 4096;

/// The content of a file, with changes that are never written to it.
#[derive(Debug)]
pub(crate) struct ReadOnlyFile {
    file: FileBackend,
    /// The length of the file.
    file_length: u64,
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Changes {
    length: u64,
    /// The blocks that differ from the file, by their numbers.
    blocks: HashMap<u64, Box<[u8]>>,
}

/// A part of a block.
struct Part {
    block: u64,
    /// Where the part begins in its block.
    start: usize,
    length: usize,
}

impl ReadOnlyFile {
    pub(crate) fn new(file: File) -> Result<Self, DatabaseError> {
        let file = FileBackend::new(file)?;
        let length = file.len().map_err(redb::StorageError::from)?;
        let changes = Changes {
            length,
            blocks: HashMap::new(),
        };
        Ok(Self {
            file,
            file_length: length,
            changes: Mutex::new(changes),
        })
    }

    /// Reads from the file. Behind its end there are zeros.
    fn read_file(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let available = self.file_length.saturating_sub(offset);
        let available = usize::try_from(available).unwrap_or(usize::MAX);
        let (in_file, behind) = out.split_at_mut(available.min(out.len()));
        behind.fill(0);
        if in_file.is_empty() {
            return Ok(());
        }
        self.file.read(offset, in_file)
    }
}

/// Divides a range of bytes into parts of blocks.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = Part> {
    let mut at = offset;
    let mut left = length;
    std::iter::from_fn(move || {
        let start = usize::try_from(at % BLOCK).unwrap_or_default();
        let length = (BLOCK as usize - start).min(left);
        let part = Part {
            block: at / BLOCK,
            start,
            length,
        };
        at += length as u64;
        left -= length;
        (length > 0).then_some(part)
    })
}

impl StorageBackend for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changes.lock().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_file(offset, out)?;
        let changes = self.changes.lock();
        let mut rest = out;
        for part in parts(offset, rest.len()) {
            let (here, behind) = rest.split_at_mut(part.length);
            if let Some(block) = changes.blocks.get(&part.block) {
                here.copy_from_slice(&block[part.start..][..part.length]);
            }
            rest = behind;
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.changes.lock().length = length;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changes = self.changes.lock();
        let mut rest = data;
        for part in parts(offset, data.len()) {
            let (here, behind) = rest.split_at(part.length);
            let block = match changes.blocks.remove(&part.block) {
                Some(block) => block,
                None => {
                    let mut block = vec![0; BLOCK as usize].into_boxed_slice();
                    self.read_file(part.block * BLOCK, &mut block)?;
                    block
                }
            };
            let block = changes
                .blocks
                .entry(part.block)
                .insert_entry(block)
                .into_mut();
            block[part.start..][..part.length].copy_from_slice(here);
            rest = behind;
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    /// Other processes may read the file too.
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use redb::{Builder, ReadableDatabase as _, TableDefinition};

    use super::*;

    const TABLE: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

    #[test]
    fn changes_stay_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [1; 5_000]).unwrap();
        let file = ReadOnlyFile::new(File::open(&path).unwrap()).unwrap();
        file.write(4_090, &[2; 10]).unwrap();
        file.set_len(10_000).unwrap();
        file.write(9_000, &[3; 2]).unwrap();
        let mut bytes = vec![9; 10_000];
        file.read(0, &mut bytes).unwrap();
        let mut expected = [vec![1; 5_000], vec![0; 5_000]].concat();
        expected[4_090..4_100].fill(2);
        expected[9_000..9_002].fill(3);
        assert!(bytes == expected && file.len().unwrap() == 10_000);
        let mut part = [0; 4];
        file.read(4_088, &mut part).unwrap();
        assert_eq!(part, [1, 1, 2, 2]);
        assert_eq!(std::fs::read(&path).unwrap(), [1; 5_000]);
    }

    /// A copy of a database that was not closed needs a repair, which writes.
    #[test]
    fn a_database_that_was_not_closed_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        let database = Builder::new().create(&path).unwrap();
        let change = database.begin_write().unwrap();
        change.open_table(TABLE).unwrap().insert("a", 1).unwrap();
        change.commit().unwrap();
        let copy = folder.path().join("copy");
        std::fs::copy(&path, &copy).unwrap();
        let before = std::fs::read(&copy).unwrap();
        let file = ReadOnlyFile::new(File::open(&copy).unwrap()).unwrap();
        let opened = Builder::new().create_with_backend(file).unwrap();
        let table = opened.begin_read().unwrap().open_table(TABLE).unwrap();
        assert_eq!(table.get("a").unwrap().unwrap().value(), 1);
        drop((table, opened));
        assert!(std::fs::read(&copy).unwrap() == before);
    }
}
