//! What a fake provider serves, and how it behaves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{FakeCompleter, FakeLister, FakeRead, FakeReader, FakeSearcher};
use crate::{CallError, ListPage, ListQuery};
use larder_model::name::Digest;
use larder_model::resource::{
    Body, Call, Content, Details, Entry, Freshness, ReadResult, RenderCache, Scope, Template,
};
use larder_model::search::{Hits, SearchQuery};
use larder_model::tool::Tool;
use larder_model::uri::Uri;

/// How long the lists and contents of fake providers may be reused.
pub(super) const FRESHNESS: Freshness = Freshness {
    ttl: Duration::from_secs(60),
    scope: Scope::Everyone,
};

#[derive(Debug)]
pub(super) struct State {
    pub(super) title: Option<String>,
    pub(super) instructions: Option<String>,
    pub(super) texts: BTreeMap<String, String>,
    /// The attributes in lists, of resources whose attributes a test defines.
    pub(super) entries: BTreeMap<String, Entry>,
    /// The children of the folders that the provider lists itself.
    pub(super) directories: BTreeMap<String, Vec<String>>,
    pub(super) templates: Vec<Template>,
    pub(super) tools: Vec<Tool>,
    pub(super) reader: Option<FakeReader>,
    pub(super) lister: Option<FakeLister>,
    pub(super) searcher: Option<FakeSearcher>,
    pub(super) completer: Option<FakeCompleter>,
    pub(super) list_freshness: Freshness,
    /// How long lists for callers take.
    pub(super) list_delay: Duration,
    /// Whether the list has empty pages after its last entry, without an end.
    pub(super) is_endless: bool,
    /// Whether lists contain the versions of the texts.
    pub(super) is_versioned: bool,
    /// Whether each read returns another text.
    pub(super) is_unstable: bool,
    pub(super) failure: Option<CallError>,
    pub(super) calls: Vec<String>,
    pub(super) running: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            title: None,
            instructions: None,
            texts: BTreeMap::new(),
            entries: BTreeMap::new(),
            directories: BTreeMap::new(),
            templates: vec![],
            tools: vec![],
            reader: None,
            lister: None,
            searcher: None,
            completer: None,
            list_freshness: FRESHNESS,
            list_delay: Duration::ZERO,
            is_endless: false,
            is_versioned: false,
            is_unstable: false,
            failure: None,
            calls: vec![],
            running: 0,
        }
    }
}

impl State {
    pub(super) fn list(
        &self,
        query: &ListQuery,
        call: &Call,
    ) -> Result<ListPage<Entry>, CallError> {
        if let Some(lister) = self.lister {
            return lister(query, call);
        }
        let cursor = query.cursor.as_deref().unwrap_or_default();
        let from = cursor.parse().unwrap_or_default();
        Ok(self.entries(from, query.limit))
    }

    fn entries(&self, from: usize, limit: u32) -> ListPage<Entry> {
        let rest = self.texts.keys().skip(from);
        let rest = rest.take(limit as usize);
        let mut items: Vec<_> = rest.map(|uri| self.entry(uri)).collect();
        if self.is_versioned {
            for item in &mut items {
                item.version = self.texts.get(item.uri.as_str()).map(|text| version(text));
            }
        }
        let end = from + items.len().max(1);
        let has_next = end < self.texts.len() || self.is_endless;
        ListPage {
            next: has_next.then(|| end.to_string()),
            items,
            freshness: Some(self.list_freshness),
            ..ListPage::empty()
        }
    }

    /// Each page has two children.
    pub(super) fn directory(&self, uri: &str, from: usize) -> Result<ListPage<Entry>, CallError> {
        let children = self.directories.get(uri).ok_or(CallError::NotFound)?;
        let rest = children.iter().skip(from).take(2);
        Ok(ListPage {
            items: rest.map(|uri| self.entry(uri)).collect(),
            next: (from + 2 < children.len()).then(|| (from + 2).to_string()),
            freshness: Some(FRESHNESS),
            ..ListPage::empty()
        })
    }

    fn entry(&self, uri: &str) -> Entry {
        let defined = self.entries.get(uri).cloned();
        defined.unwrap_or_else(|| entry(uri))
    }

    pub(super) fn read(&self, read: &FakeRead<'_>) -> Result<ReadResult, CallError> {
        if let Some(reader) = self.reader {
            return reader(read);
        }
        let uri = read.uri;
        let text = self.texts.get(uri.as_str()).ok_or(CallError::NotFound)?;
        let text = if self.is_unstable {
            format!("{text}{}", self.calls.len())
        } else {
            text.clone()
        };
        let version = version(&text);
        if read.known_version == Some(&version) {
            return Err(CallError::NotModified);
        }
        let content = Content {
            uri: uri.clone(),
            mime_type: self.entry(uri.as_str()).mime_type,
            body: Body::Text(text),
            metadata: vec![],
        };
        Ok(ReadResult {
            contents: Arc::new([content].into_iter().collect()),
            version: Some(version),
            freshness: FRESHNESS,
            shared: false,
        })
    }

    pub(super) fn search(&self, query: &SearchQuery, call: &Call) -> Result<Hits, CallError> {
        let missing = || CallError::not_implemented("search-provider");
        let searcher = self.searcher.ok_or_else(missing)?;
        Ok(Hits {
            hits: searcher(query, call)?,
            freshness: FRESHNESS,
            is_complete: true,
        })
    }
}

fn version(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

/// An entry whose only attributes are its URI, its name and the type of plain text.
///
/// # Panics
///
/// If the URI is invalid.
pub fn entry(uri: &str) -> Entry {
    Entry {
        uri: Uri::parse(uri).expect("a URI"),
        name: uri.to_owned(),
        title: None,
        description: None,
        mime_type: Some("text/plain".into()),
        size: None,
        version: None,
        details: Details::default(),
        rendered: RenderCache::default(),
    }
}
