//! The objects of a repository: loose objects, and objects in packs.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use gix_hash::ObjectId;
use gix_object::Kind;
use larder_provider::{Error, Result};

use crate::cache::{BlockFile, Caches};
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
    caches: Rc<Caches>,
    /// The commits of a shallow clone whose parents are not in the clone.
    shallow: OnceCell<HashSet<ObjectId>>,
    max_bytes: u64,
}

impl Objects {
    pub(crate) fn new(git_dir: GitDir, max_bytes: u64) -> Self {
        Self {
            git_dir,
            packs: OnceCell::new(),
            caches: Rc::default(),
            shallow: OnceCell::new(),
            max_bytes,
        }
    }

    /// Whether this is a commit of a shallow clone whose parents are not in the clone.
    pub(crate) fn is_shallow(&self, commit: &ObjectId) -> Result<bool> {
        if let Some(shallow) = self.shallow.get() {
            return Ok(shallow.contains(commit));
        }
        let text = self.git_dir.small(&["shallow"])?.unwrap_or_default();
        let ids = text
            .lines()
            .filter_map(|line| ObjectId::from_hex(line.trim().as_bytes()).ok());
        Ok(self.shallow.get_or_init(|| ids.collect()).contains(commit))
    }

    /// Reads an object. If the repository refers to an object and does not have it, that is an error.
    pub(crate) fn read(&self, id: &ObjectId) -> Result<Rc<Object>> {
        self.find(id)?.ok_or_else(|| {
            Error::Failed(format!(
                "the object {id} is missing: repositories with alternates and partial clones are not supported"
            ))
        })
    }

    /// Reads an object of this kind.
    pub(crate) fn read_kind(&self, id: &ObjectId, kind: Kind) -> Result<Vec<u8>> {
        let object = self.read(id)?;
        if object.kind != kind {
            return Err(corrupt("another kind than expected"));
        }
        Ok(Rc::try_unwrap(object).map_or_else(|kept| kept.data.clone(), |object| object.data))
    }

    /// Reads an object if it exists.
    pub(crate) fn find(&self, id: &ObjectId) -> Result<Option<Rc<Object>>> {
        self.find_within(id, MAX_DEPTH)
    }

    fn find_within(&self, id: &ObjectId, depth: usize) -> Result<Option<Rc<Object>>> {
        for pack in self.packs()? {
            let Some(offset) = pack.index.find(id)? else {
                continue;
            };
            let elsewhere = |base: &ObjectId| {
                let depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| corrupt("too many bases in other packs"))?;
                self.find_within(base, depth)?
                    .ok_or_else(|| corrupt("a base that is missing"))
            };
            return pack.read(offset, self.max_bytes, elsewhere).map(Some);
        }
        match self.read_loose(id) {
            Err(Error::NotFound) => Ok(None),
            found => found.map(|object| Some(Rc::new(object))),
        }
    }

    fn read_loose(&self, id: &ObjectId) -> Result<Object> {
        let hex = id.to_hex().to_string();
        let file = self.git_dir.file(&["objects", &hex[..2], &hex[2..]])?;
        let header = Stream::new(&file, 0).at_most(MAX_HEADER, MAX_HEADER as u64)?;
        let (kind, size, start) = gix_object::decode::loose_header(&header)
            .map_err(|_| corrupt("a header that is not valid"))?;
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
        let first =
            ObjectId::from_hex(format!("{prefix:0<40}").as_bytes()).map_err(|_| Error::NotFound)?;
        for pack in self.packs()? {
            let is_found = |id: &ObjectId| id.to_hex().to_string().starts_with(prefix);
            pack.index
                .add_from(first.as_slice(), &mut found, is_found)?;
        }
        found.truncate(2);
        Ok(found)
    }

    fn packs(&self) -> Result<&[Pack]> {
        if self.packs.get().is_none() {
            let names = self.git_dir.names(&["objects", "pack"])?.into_iter();
            let indexes: Vec<String> = names
                .map(|(name, _)| name)
                .filter(|name| name.ends_with(".idx"))
                .collect();
            if indexes.len() > MAX_PACKS {
                return Err(Error::Failed(format!(
                    "the repository has more than {MAX_PACKS} packs: run `git gc`"
                )));
            }
            let mut packs = Vec::new();
            for (number, name) in indexes.iter().enumerate() {
                match self.open_pack(name, 2 * number) {
                    Ok(pack) => packs.push(pack),
                    // `git gc` has just removed the pack, and its objects are in another pack.
                    Err(Error::NotFound) => {}
                    Err(error) => return Err(error),
                }
            }
            // No other call can have set the packs in between.
            _ = self.packs.set(packs);
        }
        Ok(self.packs.get().map(Vec::as_slice).unwrap_or_default())
    }

    /// Opens a pack and its index, as the file with this number and the one with the next number.
    fn open_pack(&self, index: &str, number: usize) -> Result<Pack> {
        let file = |path: &[&str], number| -> Result<BlockFile> {
            let file = self.git_dir.file(path)?;
            Ok(BlockFile {
                file,
                number,
                caches: self.caches.clone(),
            })
        };
        let path = ["objects", "pack", index];
        let pack = format!("{}.pack", index.trim_end_matches(".idx"));
        let size = self.git_dir.size(&path)?;
        let index = Index::open(file(&path, number + 1)?, size)?;
        Ok(Pack {
            index,
            file: file(&["objects", "pack", &pack], number)?,
        })
    }
}
