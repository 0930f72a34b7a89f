//! The objects of a repository: loose ones, and those in packs.

use std::cell::OnceCell;

use gix_hash::ObjectId;
use gix_object::Kind;
use larder_provider::{Error, Result};

use crate::git_dir::GitDir;
use crate::index::Index;
use crate::inflate::{Stream, corrupt};
use crate::pack::{Pack, checked_size};

/// The maximum size of `type size` before the content of a loose object.
const MAX_HEADER: usize = 32;
/// The maximum number of packs.
const MAX_PACKS: usize = 1000;
/// How many objects may be read to complete another one that is not in the same pack.
const MAX_DEPTH: usize = 4;

/// An object in memory.
#[derive(Debug, PartialEq)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) data: Vec<u8>,
}

/// Finds and reads objects.
pub(crate) struct Objects {
    pub(crate) git_dir: GitDir,
    packs: OnceCell<Vec<Pack>>,
    max_bytes: u64,
}

impl Objects {
    pub(crate) fn new(git_dir: GitDir, max_bytes: u64) -> Self {
        Self { git_dir, packs: OnceCell::new(), max_bytes }
    }

    /// Reads an object. One that a repository refers to and does not have is an error.
    pub(crate) fn read(&self, id: &ObjectId) -> Result<Object> {
        self.find(id)?.ok_or_else(|| {
            Error::Failed(format!(
                "the object {id} is missing: repositories with alternates and partial clones are not supported"
            ))
        })
    }

    /// Reads an object of this kind.
    pub(crate) fn read_kind(&self, id: &ObjectId, kind: Kind) -> Result<Vec<u8>> {
        let object = self.read(id)?;
        if object.kind == kind { Ok(object.data) } else { Err(corrupt("another kind than expected")) }
    }

    /// Reads an object if it exists.
    pub(crate) fn find(&self, id: &ObjectId) -> Result<Option<Object>> {
        self.find_within(id, MAX_DEPTH)
    }

    fn find_within(&self, id: &ObjectId, depth: usize) -> Result<Option<Object>> {
        match self.read_loose(id) {
            Err(Error::NotFound) => {}
            found => return found.map(Some),
        }
        for pack in self.packs()? {
            let Some(offset) = pack.index.find(id)? else { continue };
            let elsewhere = |base: &ObjectId| {
                let depth = depth.checked_sub(1).ok_or_else(|| corrupt("too many bases in other packs"))?;
                self.find_within(base, depth)?.ok_or_else(|| corrupt("a base that is missing"))
            };
            return pack.read(offset, self.max_bytes, elsewhere).map(Some);
        }
        Ok(None)
    }

    fn read_loose(&self, id: &ObjectId) -> Result<Object> {
        let hex = id.to_hex().to_string();
        let file = self.git_dir.file(&["objects", &hex[..2], &hex[2..]])?;
        let header = Stream::new(&file, 0).at_most(MAX_HEADER, MAX_HEADER as u64)?;
        let (kind, size, start) =
            gix_object::decode::loose_header(&header).map_err(|_| corrupt("a header that is not valid"))?;
        let size = checked_size(size, self.max_bytes)?;
        let mut data = Stream::exactly(&file, 0, start + size)?;
        data.drain(..start);
        Ok(Object { kind, data })
    }

    /// The ids that begin with these hexadecimal digits, of which there are at least four; at most two.
    pub(crate) fn with_prefix(&self, prefix: &str) -> Result<Vec<ObjectId>> {
        let mut found = Vec::new();
        for (name, _) in self.git_dir.names(&["objects", &prefix[..2]])? {
            let id = ObjectId::from_hex(format!("{}{name}", &prefix[..2]).as_bytes()).ok();
            found.extend(id.filter(|id| id.to_hex().to_string().starts_with(prefix)));
        }
        let first = ObjectId::from_hex(format!("{prefix:0<40}").as_bytes()).map_err(|_| Error::NotFound)?;
        for pack in self.packs()? {
            let is_found = |id: &ObjectId| id.to_hex().to_string().starts_with(prefix);
            pack.index.add_from(first.as_slice(), &mut found, is_found)?;
        }
        found.truncate(2);
        Ok(found)
    }

    fn packs(&self) -> Result<&[Pack]> {
        if self.packs.get().is_none() {
            let names = self.git_dir.names(&["objects", "pack"])?.into_iter();
            let indexes: Vec<String> =
                names.map(|(name, _)| name).filter(|name| name.ends_with(".idx")).collect();
            if indexes.len() > MAX_PACKS {
                return Err(Error::Failed(format!(
                    "the repository has more than {MAX_PACKS} packs: run `git gc`"
                )));
            }
            let mut packs = Vec::new();
            for name in &indexes {
                match self.open_pack(name) {
                    Ok(pack) => packs.push(pack),
                    // `git gc` has just removed it, and its objects are in another one.
                    Err(Error::NotFound) => {}
                    Err(error) => return Err(error),
                }
            }
            // No other call can have set it in between.
            _ = self.packs.set(packs);
        }
        Ok(self.packs.get().map(Vec::as_slice).unwrap_or_default())
    }

    fn open_pack(&self, index: &str) -> Result<Pack> {
        let path = ["objects", "pack", index];
        let pack = format!("{}.pack", index.trim_end_matches(".idx"));
        let size = self.git_dir.size(&path)?;
        let index = Index::open(self.git_dir.file(&path)?, size)?;
        Ok(Pack { index, file: self.git_dir.file(&["objects", "pack", &pack])? })
    }
}
