//! Search in the keys of objects. A search has little time, so the hits so far are returned when the time is over. In a
//! large bucket, folders are searched in turn, so that a large folder does not use up the time of the others.

use std::collections::VecDeque;
use std::time::Instant;

use larder_provider::{Hit, Hits, Result, SearchQuery, cancelled};
use rusty_s3::actions::list_objects_v2::ListObjectsContent;

use crate::Store;
use crate::entries;
use crate::store::{Keys, MAX_KEYS};

/// The number of pages that are searched before folders take turns, each of which needs a request.
const FIRST_PAGES: usize = 3;
/// A character after all others, so that all keys of a folder sort before the folder with this character.
const LAST: char = char::MAX;

struct Search<'a> {
    store: &'a Store,
    /// In lower case.
    words: Vec<String>,
    /// The objects, each with its rank.
    found: Vec<(usize, ListObjectsContent)>,
}

/// Keys that have not been searched yet: keys that begin with `prefix` and come after the key `after`.
struct KeyRange {
    prefix: String,
    after: Option<String>,
}

impl Store {
    /// The objects whose keys contain all words. Objects with the most words in their names come first.
    pub(crate) fn hits(&self, query: &SearchQuery) -> Result<Hits> {
        let words: Vec<String> = query
            .text
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        if words.is_empty() {
            return Ok(Hits::default());
        }
        let mut search = Search {
            store: self,
            words,
            found: Vec::new(),
        };
        let missing = match search.run(query.end()) {
            Ok(true) => None,
            Ok(false) => Some("the time was over before all keys were read".to_owned()),
            Err(error) if search.found.is_empty() => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        search
            .found
            .sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.key.cmp(&b.key)));
        let hits = query.take(
            search
                .found
                .into_iter()
                .map(|(_, object)| Hit::new(self.entry(object))),
        );
        match missing {
            Some(why) => hits.incomplete(&why),
            None => Ok(hits),
        }
    }
}

impl Search<'_> {
    /// Returns whether all keys were searched.
    fn run(&mut self, end: Instant) -> Result<bool> {
        let mut rest = KeyRange {
            prefix: self.store.settings.prefix.clone(),
            after: None,
        };
        let is_over = || cancelled() || Instant::now() >= end;
        for _ in 0..FIRST_PAGES {
            match self.next_page(rest)? {
                Some(next) => rest = next,
                None => return Ok(true),
            }
            if is_over() {
                return Ok(false);
            }
        }
        let mut parts = self.folders(&rest)?;
        while let Some(part) = parts.pop_front() {
            if is_over() {
                return Ok(false);
            }
            parts.extend(self.next_page(part)?);
        }
        Ok(true)
    }

    /// Searches the next keys of a part. Returns the rest of the part.
    fn next_page(&mut self, part: KeyRange) -> Result<Option<KeyRange>> {
        let KeyRange { prefix, after } = part;
        let keys = Keys {
            prefix: &prefix,
            after: after.as_deref(),
            limit: MAX_KEYS,
            ..Keys::default()
        };
        let listed = self.store.settings.list(&keys)?;
        let last = listed.contents.last().map(|object| object.key.clone());
        let last = last.filter(|_| listed.next_continuation_token.is_some());
        self.add(listed.contents);
        Ok(last.map(|after| KeyRange {
            prefix,
            after: Some(after),
        }))
    }

    /// Searches the objects directly in a part. Returns a part for each folder in it.
    fn folders(&mut self, part: &KeyRange) -> Result<VecDeque<KeyRange>> {
        let KeyRange { prefix, after } = part;
        let keys = Keys {
            prefix,
            after: after.as_deref(),
            by_folder: true,
            limit: MAX_KEYS,
        };
        let listed = self.store.settings.list(&keys)?;
        let folders = || listed.common_prefixes.iter().map(|folder| &folder.prefix);
        let begun = |folder: &String| after.clone().filter(|after| after.starts_with(folder));
        let mut parts: VecDeque<KeyRange> = folders()
            .map(|folder| KeyRange {
                prefix: folder.clone(),
                after: begun(folder),
            })
            .collect();
        if listed.next_continuation_token.is_some() {
            let last_folder = folders().map(|folder| format!("{folder}{LAST}")).max();
            let last_object = listed
                .contents
                .iter()
                .map(|object| object.key.clone())
                .max();
            parts.push_back(KeyRange {
                prefix: prefix.clone(),
                after: last_folder.max(last_object),
            });
        }
        self.add(listed.contents);
        Ok(parts)
    }

    fn add(&mut self, objects: Vec<ListObjectsContent>) {
        for object in objects {
            if let Some(rank) = entries::rank(&object.key, &self.words) {
                self.found.push((rank, object));
            }
        }
    }
}
