//! The index of a pack: finds the position of an object without reading the whole file.

use std::cmp::Ordering;

use gix_hash::ObjectId;
use larder_provider::{Error, Result};

use crate::cache::{BlockFile, ReadAt as _};

const MAGIC: &[u8] = b"\xfftOc\0\0\0\x02";
const ID: u64 = 20;
const IDS_START: u64 = 8 + 256 * 4;
/// Below this number of ids, they are read at once.
const SCAN: u64 = 512;

/// An index in version 2.
pub(crate) struct Index {
    file: BlockFile,
    count: u64,
}

impl Index {
    pub(crate) fn open(file: BlockFile, size: u64) -> Result<Self> {
        if file.read_at(0, MAGIC.len() as u64)? != MAGIC {
            return Err(Error::Failed(
                "a pack has an index that is not in version 2: run `git gc`".to_owned(),
            ));
        }
        let mut index = Self { file, count: 0 };
        index.count = index.number(8 + 255 * 4)?;
        if IDS_START + index.count * (ID + 4 + 4) > size {
            return Err(damaged());
        }
        Ok(index)
    }

    /// The position of an object in the pack.
    pub(crate) fn find(&self, id: &ObjectId) -> Result<Option<u64>> {
        let at = self.lower_bound(id.as_slice())?;
        if at >= self.count || self.id(at)? != *id {
            return Ok(None);
        }
        let offsets = IDS_START + self.count * (ID + 4);
        let offset = self.number(offsets + at * 4)?;
        if offset & 0x8000_0000 == 0 {
            return Ok(Some(offset));
        }
        // Positions beyond 2 GiB are in a table of their own.
        let at = offsets + self.count * 4 + (offset & 0x7fff_ffff) * 8;
        Ok(Some((self.number(at)? << 32) | self.number(at + 4)?))
    }

    /// Adds the ids from this id on, while they satisfy a condition.
    pub(crate) fn add_from(
        &self,
        first: &[u8],
        found: &mut Vec<ObjectId>,
        is_found: impl Fn(&ObjectId) -> bool,
    ) -> Result<()> {
        for at in self.lower_bound(first)?..self.count {
            let id = self.id(at)?;
            if !is_found(&id) || found.len() > 1 {
                break;
            }
            if !found.contains(&id) {
                found.push(id);
            }
        }
        Ok(())
    }

    /// The number of ids that are less than this one.
    fn lower_bound(&self, id: &[u8]) -> Result<u64> {
        let first = u64::from(id[0]);
        let low = if first == 0 {
            0
        } else {
            self.number(8 + (first - 1) * 4)?
        };
        let (mut low, mut high) = (low, self.number(8 + first * 4)?);
        if low > high || high > self.count {
            return Err(damaged());
        }
        while high - low > SCAN {
            let middle = low + (high - low) / 2;
            match self.id(middle)?.as_slice().cmp(id) {
                Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        let ids = self.file.read_at(IDS_START + low * ID, (high - low) * ID)?;
        Ok(low + ids.chunks(20).take_while(|other| *other < id).count() as u64)
    }

    fn id(&self, at: u64) -> Result<ObjectId> {
        ObjectId::try_from(self.file.read_at(IDS_START + at * ID, ID)?.as_slice())
            .map_err(|_| damaged())
    }

    fn number(&self, at: u64) -> Result<u64> {
        let bytes: [u8; 4] = self
            .file
            .read_at(at, 4)?
            .try_into()
            .map_err(|_| damaged())?;
        Ok(u32::from_be_bytes(bytes).into())
    }
}

fn damaged() -> Error {
    Error::Failed("the repository is damaged: the index of a pack is not valid".to_owned())
}
