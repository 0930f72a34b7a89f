//! LRU store of responses, bounded in bytes and in entries.

use std::hash::RandomState;

use lru::LruCache;

use super::{CacheKey, CachedResponse, Config};
use larder_model::resource::{Body, Content};
use larder_runtime::memory_budget::{MemoryCharge, MemoryUse, TeamMemory};

/// Bytes of an entry beside its content: keys, times, and its nodes in the map and in the LRU list.
const OVERHEAD: usize = 512;
/// The memory budget is charged in steps of this size.
const CHARGE_STEP: u64 = 1 << 20;
/// One response may take at most 1/8 of all bytes, so that it does not evict all others.
const MAX_FRACTION: usize = 8;

#[derive(Debug)]
pub(super) struct ResponseStore {
    capacity: Config,
    bytes: usize,
    /// The charged memory, in steps.
    charge: MemoryCharge,
    entries: LruCache<CacheKey, StoredResponse, RandomState>,
}

#[derive(Debug)]
struct StoredResponse {
    response: CachedResponse,
    bytes: usize,
}

impl ResponseStore {
    pub(super) fn new(capacity: Config, memory: &TeamMemory) -> Self {
        // The hash is randomly keyed, because the URIs come from clients.
        Self {
            capacity,
            bytes: 0,
            charge: memory.begin(MemoryUse::Caches),
            entries: LruCache::unbounded_with_hasher(RandomState::new()),
        }
    }

    /// Returns the bytes and the number of responses.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.bytes as u64, self.entries.len() as u64)
    }

    pub(super) fn get(&mut self, key: &CacheKey) -> Option<&CachedResponse> {
        self.entries.get(key).map(|stored| &stored.response)
    }

    /// Replaces the response for this key. A response that is too large is not stored.
    pub(super) fn put(&mut self, key: CacheKey, response: CachedResponse) {
        self.remove(&key);
        let bytes = size(&key, &response);
        if self.capacity.entries == 0 || bytes > self.capacity.bytes / MAX_FRACTION {
            return;
        }
        self.make_room(bytes, 1);
        if !self.charge(bytes) {
            return;
        }
        self.bytes += bytes;
        self.entries.put(key, StoredResponse { response, bytes });
    }

    /// Charges a further response. When memory is short, responses are not stored, because providers can return them
    /// again; memory that is charged but not needed is released.
    fn charge(&mut self, bytes: usize) -> bool {
        let charge = &mut self.charge;
        let needed = (self.bytes + bytes) as u64;
        let charged = charge.bytes();
        if charged > needed + 2 * CHARGE_STEP {
            charge.shrink(charged - needed.next_multiple_of(CHARGE_STEP));
        }
        needed <= charged
            || charge.team().budget().has_plenty()
                && charge
                    .grow(None, needed.next_multiple_of(CHARGE_STEP) - charged)
                    .is_ok()
    }

    /// Changes the capacity, and removes responses that exceed it.
    pub(super) fn resize(&mut self, capacity: Config) {
        self.capacity = capacity;
        self.make_room(0, 0);
    }

    /// Removes the oldest responses until this number of bytes and entries fits.
    fn make_room(&mut self, bytes: usize, entries: usize) {
        while self.entries.len() + entries > self.capacity.entries
            || self.bytes + bytes > self.capacity.bytes
        {
            let Some((_, oldest)) = self.entries.pop_lru() else {
                break;
            };
            self.bytes -= oldest.bytes;
        }
    }

    pub(super) fn remove(&mut self, key: &CacheKey) {
        if let Some(stored) = self.entries.pop(key) {
            self.bytes -= stored.bytes;
        }
    }
}

fn size(key: &CacheKey, response: &CachedResponse) -> usize {
    let result = &response.result;
    let callers = response.caller.iter().map(|caller| {
        let subject = caller.subject.as_ref().map_or(0, String::len);
        // The caller is stored twice: in the key and in the response.
        2 * (subject
            + caller
                .scopes
                .iter()
                .map(|scope| scope.len() + size_of::<String>())
                .sum::<usize>())
    });
    let contents = result.contents.iter().map(content_size);
    OVERHEAD
        + key.uri.as_str().len()
        + result.version.as_ref().map_or(0, String::len)
        + callers.chain(contents).sum::<usize>()
}

fn content_size(content: &Content) -> usize {
    let body = match &content.body {
        // The second term is the rendered JSON: text with some escapes, blobs as base64.
        Body::Text(text) => text.capacity() + text.len() + 5 * escapes(text),
        Body::Blob(blob) => blob.capacity() + blob.len().div_ceil(3) * 4,
    };
    let metadata = content
        .metadata
        .iter()
        .map(|(key, json)| key.len() + json.get().len() + 64);
    let mime_type = content.mime_type.as_ref().map_or(0, String::len);
    size_of::<Content>() + content.uri.as_str().len() + mime_type + body + metadata.sum::<usize>()
}

/// Returns the number of characters that JSON escapes. An escape has up to six bytes.
fn escapes(text: &str) -> usize {
    text.bytes()
        .filter(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\'))
        .count()
}

#[cfg(test)]
impl ResponseStore {
    /// Returns the number of responses and their bytes, after checking the byte count.
    pub(super) fn recount(&self) -> (usize, usize) {
        assert_eq!(
            self.entries
                .iter()
                .map(|(_, stored)| stored.bytes)
                .sum::<usize>(),
            self.bytes
        );
        (self.entries.len(), self.bytes)
    }
}
