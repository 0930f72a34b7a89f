//! The history of a commit, the newest commits first. A page ends after a number of commits or after some time, and
//! then says where the history continues.

use std::collections::{BinaryHeap, HashSet};
use std::fmt::Write as _;
use std::time::Instant;

use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Kind};
use larder_provider::{Error, Result, cancelled, time_left};

use crate::address;
use crate::objects::Objects;
use crate::pages::time;
use crate::revision::{HASH, parents_of};

/// The number of hexadecimal digits of a short id.
const SHORT: usize = 10;

/// Which commits are in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// The number of commits that are skipped.
    pub(crate) skip: usize,
    /// The maximum number of commits.
    pub(crate) count: usize,
}

/// A commit. The greatest one is the newest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Commit {
    seconds: i64,
    id: ObjectId,
    author: String,
    pub(crate) message: String,
}

/// A commit and its ancestors. Each of them is read once.
pub(crate) struct History<'a> {
    objects: &'a Objects,
    queue: BinaryHeap<Commit>,
    seen: HashSet<ObjectId>,
}

impl<'a> History<'a> {
    pub(crate) fn new(objects: &'a Objects, start: &ObjectId) -> Result<Self> {
        let first = Commit::read(objects, start)?;
        Ok(Self {
            objects,
            queue: BinaryHeap::from([first]),
            seen: HashSet::from([*start]),
        })
    }

    /// The next commit; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Commit>> {
        let Some(commit) = self.queue.pop() else {
            return Ok(None);
        };
        for parent in parents_of(self.objects, &commit.id)? {
            if self.seen.insert(parent) {
                self.queue.push(Commit::read(self.objects, &parent)?);
            }
        }
        Ok(Some(commit))
    }
}

impl Commit {
    fn read(objects: &Objects, id: &ObjectId) -> Result<Self> {
        let data = objects.read_kind(id, Kind::Commit)?;
        let commit = || CommitRefIter::from_bytes(&data, HASH);
        Ok(Self {
            seconds: commit()
                .committer()
                .map(|who| who.seconds())
                .unwrap_or_default(),
            id: *id,
            author: commit()
                .author()
                .map(|author| author.name.to_string())
                .unwrap_or_default(),
            message: commit()
                .message()
                .map(ToString::to_string)
                .unwrap_or_default(),
        })
    }

    pub(crate) fn hex(&self) -> String {
        self.id.to_hex().to_string()
    }

    pub(crate) fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

/// The commits before and including this one.
pub(crate) fn page(
    objects: &Objects,
    repository: &str,
    start: &ObjectId,
    range: Range,
) -> Result<String> {
    let end = Instant::now() + time_left() * 3 / 4;
    let mut history = History::new(objects, start)?;
    let (mut page, mut passed, mut is_shallow) = (String::new(), 0, false);
    while let Some(commit) = history.next()? {
        if cancelled() {
            return Err(Error::Unavailable("the request was cancelled".to_owned()));
        }
        let is_late = !page.is_empty() && Instant::now() >= end;
        if is_late || passed == range.skip.saturating_add(range.count) {
            let uri = address::commit(repository, &start.to_hex().to_string());
            _ = writeln!(
                page,
                "… and older commits: {uri}?log={}&skip={passed}",
                range.count
            );
            return Ok(page);
        }
        if passed >= range.skip {
            let (hex, time) = (commit.hex(), time(commit.seconds));
            let uri = address::commit(repository, &hex);
            let (author, subject) = (&commit.author, commit.subject());
            _ = writeln!(
                page,
                "- [{}]({uri}) {time} {author}: {subject}",
                &hex[..SHORT]
            );
        }
        passed += 1;
        is_shallow |= objects.is_shallow(&commit.id)?;
    }
    if is_shallow {
        page.push_str("… older commits are not in this repository, which is a shallow clone\n");
    }
    Ok(page)
}
