//! A pack: reads one object, which may consist of a base and changes to this base. Apart from the cache, at most the
//! base, one change and the result are in memory.

use std::io::Cursor;
use std::rc::Rc;

use gix_hash::ObjectId;
use gix_object::Kind;
use gix_pack::data::Entry;
use gix_pack::data::entry::Header;
use larder_provider::{Error, Result};

use crate::cache::{BlockFile, ReadAt as _};
use crate::index::Index;
use crate::inflate::{Stream, corrupt};
use crate::objects::Object;

/// The maximum number of changes to a base. `git` writes at most 4095.
const MAX_CHAIN: usize = 4095;
/// The maximum size of the header of an entry.
const MAX_HEADER: u64 = 64;

/// A pack and its index.
pub(crate) struct Pack {
    pub(crate) index: Index,
    pub(crate) file: BlockFile,
}

/// An entry and its position.
struct LocatedEntry {
    offset: u64,
    entry: Entry,
}

/// The base at which the chain of an object ends.
enum Base {
    Here(Kind, LocatedEntry),
    /// In another pack, or a loose object.
    Elsewhere(ObjectId),
    Kept(Rc<Object>),
}

impl Pack {
    /// Reads the object at a position. `elsewhere` reads objects that are not in this pack.
    pub(crate) fn read(
        &self,
        offset: u64,
        max: u64,
        elsewhere: impl FnOnce(&ObjectId) -> Result<Rc<Object>>,
    ) -> Result<Rc<Object>> {
        let (base, changes) = self.chain(offset)?;
        let mut object = match base {
            Base::Here(kind, base) => self.kept(
                base.offset,
                Object {
                    kind,
                    data: self.inflate(&base.entry, max)?,
                },
            ),
            Base::Elsewhere(id) => elsewhere(&id)?,
            Base::Kept(object) => object,
        };
        for change in changes.iter().rev() {
            let data = apply(&object.data, &self.inflate(&change.entry, max)?, max)?;
            object = self.kept(
                change.offset,
                Object {
                    kind: object.kind,
                    data,
                },
            );
        }
        Ok(object)
    }

    /// Stores an object in the cache, because it may be the base of other objects.
    fn kept(&self, offset: u64, object: Object) -> Rc<Object> {
        let object = Rc::new(object);
        let key = (self.file.number, offset);
        self.file
            .caches
            .objects
            .borrow_mut()
            .add(key, &object, object.data.len());
        object
    }

    /// Follows an object to its base. Returns the changes, the last one first.
    fn chain(&self, mut offset: u64) -> Result<(Base, Vec<LocatedEntry>)> {
        let mut changes = Vec::new();
        loop {
            if let Some(object) = self
                .file
                .caches
                .objects
                .borrow()
                .get((self.file.number, offset))
            {
                return Ok((Base::Kept(object), changes));
            }
            let entry = self.entry(offset)?;
            if let Some(kind) = entry.header.as_kind() {
                return Ok((Base::Here(kind, LocatedEntry { offset, entry }), changes));
            }
            let base = match entry.header {
                Header::OfsDelta { base_distance } => {
                    Header::verified_base_pack_offset(offset, base_distance)
                }
                Header::RefDelta { base_id } => match self.index.find(&base_id)? {
                    None => {
                        changes.push(LocatedEntry { offset, entry });
                        return Ok((Base::Elsewhere(base_id), changes));
                    }
                    found => found,
                },
                _ => None,
            };
            changes.push(LocatedEntry { offset, entry });
            offset = base.ok_or_else(|| corrupt("a base outside of its pack"))?;
            if changes.len() > MAX_CHAIN {
                return Err(corrupt("more than 4095 changes to its base"));
            }
        }
    }

    fn entry(&self, offset: u64) -> Result<Entry> {
        let header = self.file.read_at(offset, MAX_HEADER)?;
        Entry::from_read(&mut Cursor::new(header), offset, 20)
            .map_err(|_| corrupt("a header that is not valid"))
    }

    fn inflate(&self, entry: &Entry, max: u64) -> Result<Vec<u8>> {
        let size = checked_size(entry.decompressed_size, max)?;
        Stream::exactly(&self.file, entry.data_offset, size)
    }
}

/// Checks a size before memory of this size is allocated.
pub(crate) fn checked_size(size: u64, max: u64) -> Result<usize> {
    let too_large = || Error::too_large("the object", max, "setting `max_bytes`");
    usize::try_from(size)
        .ok()
        .filter(|_| size <= max)
        .ok_or_else(too_large)
}

/// Applies a change to its base.
fn apply(base: &[u8], change: &[u8], max: u64) -> Result<Vec<u8>> {
    let mut change = Bytes(change);
    if change.size()? != base.len() as u64 {
        return Err(corrupt("a change to another base"));
    }
    let size = checked_size(change.size()?, max)?;
    let mut result = Vec::with_capacity(size);
    while let Some(command) = change.next() {
        let part = if command & 0x80 == 0 {
            change.take(usize::from(command))?
        } else {
            let offset = change.number(command, 4)?;
            let length = match change.number(command >> 4, 3)? {
                0 => 0x10000,
                length => length,
            };
            base.get(offset..)
                .and_then(|rest| rest.get(..length))
                .ok_or_else(wrong_change)?
        };
        if part.is_empty() || result.len() + part.len() > size {
            return Err(wrong_change());
        }
        result.extend_from_slice(part);
    }
    if result.len() == size {
        Ok(result)
    } else {
        Err(wrong_change())
    }
}

fn wrong_change() -> Error {
    corrupt("a change that is not valid")
}

/// The rest of a change.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(length).ok_or_else(wrong_change)?;
        self.0 = rest;
        Ok(part)
    }

    /// A number with seven bits in each byte.
    fn size(&mut self) -> Result<u64> {
        let mut size = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = self.next().ok_or_else(wrong_change)?;
            size |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(size);
            }
        }
        Err(wrong_change())
    }

    /// A number of which only the bytes exist whose bit is set.
    fn number(&mut self, present: u8, bytes: u8) -> Result<usize> {
        let mut number = 0;
        for byte in (0..bytes).filter(|byte| present & (1 << byte) != 0) {
            number |= usize::from(self.next().ok_or_else(wrong_change)?) << (8 * byte);
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_changes() {
        let check = |change: &[u8], expected: Option<&[u8]>| {
            assert_eq!(
                apply(b"abcdef", change, 100).ok().as_deref(),
                expected,
                "{change:?}"
            );
        };
        check(b"\x06\x05\x91\x01\x03\x02xy", Some(b"bcdxy"));
        check(b"\x06\x03\x90\x03", Some(b"abc"));
        // These are invalid: another base, a copy beyond the end, too many bytes, too few bytes, no length, and a
        // result that is too large.
        check(b"\x05\x03\x90\x03", None);
        check(b"\x06\x03\x91\x05\x03", None);
        check(b"\x06\x02\x90\x03", None);
        check(b"\x06\x04\x90\x03", None);
        check(b"\x06\x01\x00", None);
        check(b"\x06\xff\x7f\x90\x03", None);
        check(b"\x06\x03\x91", None);
        check(b"\x06", None);
        check(&[0xff; 20], None);
    }
}
