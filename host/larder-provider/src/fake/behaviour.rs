//! What a test can define for a fake provider besides its texts and tools: what it says about itself, its templates, and
//! functions that answer its calls.

use std::time::Duration;

use super::FakeContent;
use super::state::State;
use crate::{CallError, ListPage, ListQuery};
use larder_model::resource::{
    Call, Completion, CompletionRequest, Entry, Freshness, Match, ReadResult, Template,
};
use larder_model::search::{Hit, SearchQuery};
use larder_model::uri::Uri;

/// A read of a fake provider.
#[derive(Debug)]
pub struct FakeRead<'a> {
    /// The URI to read.
    pub uri: &'a Uri,
    /// The template that the URI matched.
    pub matched: Option<&'a Match>,
    /// The version that the caller has.
    pub known_version: Option<&'a str>,
    /// The request of the caller.
    pub call: &'a Call,
}

/// Answers reads.
pub type FakeReader = fn(&FakeRead<'_>) -> Result<ReadResult, CallError>;
/// Answers lists.
pub type FakeLister = fn(&ListQuery, &Call) -> Result<ListPage<Entry>, CallError>;
/// Answers searches.
pub type FakeSearcher = fn(&SearchQuery, &Call) -> Result<Vec<Hit>, CallError>;
/// Completes variables.
pub type FakeCompleter = fn(CompletionRequest) -> Result<Completion, CallError>;

impl FakeContent {
    /// Sets the display name of the provider and its instructions for models.
    pub fn with_description(self, title: &str, instructions: &str) -> Self {
        self.change(|state| {
            state.title = Some(title.to_owned());
            state.instructions = Some(instructions.to_owned());
        })
    }

    /// Adds a resource without a text, which the list shows with these attributes.
    pub fn with_entry(self, entry: Entry) -> Self {
        let uri = entry.uri.to_string();
        self.change(|state| {
            state.entries.insert(uri.clone(), entry);
        })
        .with_text(&uri, "")
    }

    /// Adds a template.
    pub fn with_template(self, template: Template) -> Self {
        self.change(|state| state.templates.push(template))
    }

    /// From now on, this function answers all reads.
    pub fn with_reader(self, reader: FakeReader) -> Self {
        self.change(|state| state.reader = Some(reader))
    }

    /// From now on, this function answers all lists, also those of probes.
    pub fn with_lister(self, lister: FakeLister) -> Self {
        self.change(|state| state.lister = Some(lister))
    }

    /// From now on, this function answers searches. Without it, the provider cannot search.
    pub fn with_searcher(self, searcher: FakeSearcher) -> Self {
        self.change(|state| state.searcher = Some(searcher))
    }

    /// From now on, this function completes variables.
    pub fn with_completer(self, completer: FakeCompleter) -> Self {
        self.change(|state| state.completer = Some(completer))
    }

    /// Sets how long the lists may be reused, and by whom.
    pub fn with_list_freshness(self, freshness: Freshness) -> Self {
        self.change(|state| state.list_freshness = freshness)
    }

    /// From now on, lists for callers take this long.
    pub fn with_list_delay(self, delay: Duration) -> Self {
        self.change(|state| state.list_delay = delay)
    }

    /// Adds a folder that the provider lists itself, with the URIs of its children. The URI ends with a slash.
    pub fn with_directory(self, uri: &str, children: &[&str]) -> Self {
        let children = children.iter().map(ToString::to_string).collect();
        self.change(|state| {
            state.directories.insert(uri.to_owned(), children);
        })
    }

    /// Removes a folder that the provider lists itself.
    pub fn without_directory(self, uri: &str) -> Self {
        self.change(|state| {
            state.directories.remove(uri);
        })
    }

    /// From now on, the list never ends. The pages after the last entry are empty.
    pub fn with_endless_list(self) -> Self {
        self.change(|state| state.is_endless = true)
    }

    fn change(self, change: impl FnOnce(&mut State)) -> Self {
        change(&mut self.0.state.lock());
        self
    }
}
