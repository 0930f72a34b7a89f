//! Answers up to a number of bytes and a number of answers; what was not used for longest goes first.

use std::hash::RandomState;

use lru::LruCache;

use super::{Answer, Config, Key};
use crate::resource::{Body, Content};

/// What an answer takes beside its content: keys, times, and its places in the map and in the order.
const OVERHEAD: usize = 512;
/// An answer may take this part of all bytes, so that one does not drive out all others.
const PART: usize = 8;

#[derive(Debug)]
pub(super) struct Kept {
    most: Config,
    bytes: usize,
    answers: LruCache<Key, Slot, RandomState>,
}

#[derive(Debug)]
struct Slot {
    answer: Answer,
    bytes: usize,
}

impl Kept {
    pub(super) fn new(most: Config) -> Self {
        // Keyed by chance, as what is asked for comes from outside.
        Self { most, bytes: 0, answers: LruCache::unbounded_with_hasher(RandomState::new()) }
    }

    /// Bytes and answers.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.bytes as u64, self.answers.len() as u64)
    }

    pub(super) fn get(&mut self, key: &Key) -> Option<&Answer> {
        self.answers.get(key).map(|slot| &slot.answer)
    }

    /// Keeps an answer in the place of the one before, if it is small enough.
    pub(super) fn put(&mut self, key: Key, answer: Answer) {
        self.remove(&key);
        let bytes = size(&key, &answer);
        if self.most.entries == 0 || bytes > self.most.bytes / PART {
            return;
        }
        while self.answers.len() >= self.most.entries || self.bytes + bytes > self.most.bytes {
            let Some((_, oldest)) = self.answers.pop_lru() else { break };
            self.bytes -= oldest.bytes;
        }
        self.bytes += bytes;
        self.answers.put(key, Slot { answer, bytes });
    }

    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(slot) = self.answers.pop(key) {
            self.bytes -= slot.bytes;
        }
    }
}

fn size(key: &Key, answer: &Answer) -> usize {
    let reading = &answer.reading;
    let callers = answer.only.iter().map(|caller| {
        let subject = caller.subject.as_ref().map_or(0, String::len);
        // It stands in the key and in the answer.
        2 * (subject + caller.scopes.iter().map(|scope| scope.len() + size_of::<String>()).sum::<usize>())
    });
    let contents = reading.contents.iter().map(content_size);
    OVERHEAD
        + key.uri.as_str().len()
        + reading.version.as_ref().map_or(0, String::len)
        + callers.chain(contents).sum::<usize>()
}

fn content_size(content: &Content) -> usize {
    let body = match &content.body {
        // Once more as it is written, with some escapes, and as base64.
        Body::Text(text) => text.capacity() + text.len() + text.len() / 8,
        Body::Blob(blob) => blob.capacity() + blob.len().div_ceil(3) * 4,
    };
    let metadata = content.metadata.iter().map(|(key, json)| key.len() + json.get().len() + 64);
    let mime_type = content.mime_type.as_ref().map_or(0, String::len);
    size_of::<Content>() + content.uri.as_str().len() + mime_type + body + metadata.sum::<usize>()
}

#[cfg(test)]
impl Kept {
    /// What is held, counted anew.
    pub(super) fn counted(&self) -> (usize, usize) {
        assert_eq!(self.answers.iter().map(|(_, slot)| slot.bytes).sum::<usize>(), self.bytes);
        (self.answers.len(), self.bytes)
    }
}
