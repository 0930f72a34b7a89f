//! The calls of providers for a search: providers that can search, and providers whose list depends on the caller. The
//! calls run at the same time and have one common deadline, so that a client does not wait long, also if many providers
//! are slow.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;

use super::candidate::Candidate;
use crate::catalog::Offer;
use crate::gateway::MAX_PAGE_BYTES;
use crate::gateway::view::{TeamCatalog, View};
use larder_model::name::TeamName;
use larder_model::policy::{Permit, TimeLimit};
use larder_model::resource::{Call, Entry};
use larder_model::search::SearchQuery;
use larder_model::uri::Uri;
use larder_provider::{CallError, ListPage, ListQuery};
use larder_runtime::memory_budget::{MemoryBudget, MemoryCharge, MemoryUse};

/// Maximum number of providers that are called at the same time.
const MAX_CONCURRENT: usize = 16;
/// Maximum number of pages of one list.
const MAX_LIST_PAGES: u32 = 16;
/// Maximum number of entries of one list that depends on the caller.
const MAX_LIST_ENTRIES: u32 = 1_000;

/// The calls for one search.
pub(super) struct SearchCalls<'a> {
    call: &'a Arc<Call>,
    query: &'a SearchQuery,
    memory: &'a MemoryBudget,
    limit: TimeLimit,
}

/// What the providers answered.
pub(super) struct Answers {
    /// The results of each provider that can search, best result first.
    pub(super) hits: Vec<Vec<Candidate>>,
    /// The revisions that returned these results.
    searched: HashSet<u64>,
    /// The lists that depend on the caller, by revision.
    own_lists: HashMap<u64, Vec<Arc<Entry>>>,
    incomplete: Vec<String>,
    /// The memory that is charged for the answers as long as they are kept.
    memory: Vec<MemoryCharge>,
}

/// What one provider answered, and the memory that is charged for it.
struct Answer {
    hits: Option<Vec<Candidate>>,
    own_list: Option<Vec<Arc<Entry>>>,
    is_complete: bool,
    memory: Option<MemoryCharge>,
}

impl<'a> SearchCalls<'a> {
    pub(super) fn new(
        call: &'a Arc<Call>,
        query: &'a SearchQuery,
        memory: &'a MemoryBudget,
        time: Duration,
    ) -> Self {
        let limit = TimeLimit {
            until: Instant::now() + time,
            total: time,
        };
        Self {
            call,
            query,
            memory,
            limit,
        }
    }

    /// Calls all providers that have to be called for a search.
    pub(super) async fn run(&self, view: &View) -> Answers {
        let called = view.offers().filter(|offer| is_called(offer));
        // This is a vector because the compiler cannot prove that a stream over an iterator with closures is `Send`.
        let calls: Vec<_> = called.map(|offer| self.call(view, offer)).collect();
        let mut calls = stream::iter(calls).buffered(MAX_CONCURRENT);
        let mut answers = Answers {
            hits: Vec::new(),
            searched: HashSet::new(),
            own_lists: HashMap::new(),
            incomplete: Vec::new(),
            memory: Vec::new(),
        };
        while let Some((offer, answer)) = calls.next().await {
            answers.add(offer, answer);
        }
        answers
    }

    fn call<'s, 'v: 's>(
        &'s self,
        view: &'v View,
        offer: &'v Arc<Offer>,
    ) -> BoxFuture<'s, (&'v Arc<Offer>, Result<Answer, CallError>)> {
        Box::pin(async move { (offer, self.ask(view, offer).await) })
    }

    async fn ask(&self, view: &View, offer: &Arc<Offer>) -> Result<Answer, CallError> {
        // A provider that could not be called in time did not fail.
        if Instant::now() >= self.limit.until {
            return Err(CallError::Busy);
        }
        offer.provider.check_byte_quota()?;
        if offer.provider.interfaces().search {
            self.search(view, offer).await
        } else {
            self.own_list(offer).await
        }
    }

    async fn search(&self, view: &View, offer: &Arc<Offer>) -> Result<Answer, CallError> {
        let found = offer
            .provider
            .search_for_caller(self.permit(offer)?, self.query)
            .await?;
        let mut candidates = Vec::new();
        let mut bytes = 0;
        for hit in found.hits {
            let candidate = Candidate {
                entry: Arc::new(hit.entry),
                excerpt: hit.excerpt,
                offer: offer.clone(),
            };
            bytes += candidate.wire_size();
            if bytes > MAX_PAGE_BYTES {
                break;
            }
            if view.owns(offer, &candidate.entry.uri, &mut 0) {
                candidates.push(candidate);
            }
        }
        let memory = self.charge(offer, bytes.min(MAX_PAGE_BYTES))?;
        Ok(Answer {
            hits: Some(candidates),
            own_list: None,
            is_complete: found.is_complete,
            memory: Some(memory),
        })
    }

    /// Fetches a list that depends on the caller. Entries that were fetched before an error are used.
    async fn own_list(&self, offer: &Arc<Offer>) -> Result<Answer, CallError> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        let mut cursor = None;
        let mut is_complete = false;
        for _ in 0..MAX_LIST_PAGES {
            let page = match self.list_page(offer, cursor.take()).await {
                Ok(page) => page,
                Err(error) if entries.is_empty() => return Err(error),
                Err(_) => break,
            };
            for entry in page.items {
                bytes += entry.wire_size();
                entries.push(Arc::new(entry));
            }
            is_complete = page.next.is_none();
            cursor = page.next;
            if is_complete || entries.len() >= MAX_LIST_ENTRIES as usize || bytes > MAX_PAGE_BYTES {
                break;
            }
        }
        let memory = self.charge(offer, bytes)?;
        Ok(Answer {
            hits: None,
            own_list: Some(entries),
            is_complete,
            memory: Some(memory),
        })
    }

    async fn list_page(
        &self,
        offer: &Offer,
        cursor: Option<String>,
    ) -> Result<ListPage<Entry>, CallError> {
        let SearchQuery {
            uri_prefix, kind, ..
        } = self.query.clone();
        let limit = offer
            .provider
            .grant()
            .limits
            .page_entries
            .min(MAX_LIST_ENTRIES);
        offer
            .provider
            .list_for_caller(
                self.permit(offer)?,
                ListQuery {
                    cursor,
                    limit,
                    uri_prefix,
                    kind,
                },
            )
            .await
    }

    fn permit(&self, offer: &Offer) -> Result<Permit, CallError> {
        let permit = offer.permit(self.call).map_err(|_| CallError::NotFound)?;
        Ok(permit.within(Some(self.limit)))
    }

    fn charge(&self, offer: &Offer, bytes: usize) -> Result<MemoryCharge, CallError> {
        let team = self.memory.team(offer.team());
        let charged = team.charge(MemoryUse::Answers, self.call.caller.as_ref(), bytes as u64);
        charged.map_err(|_| CallError::NoMemory)
    }
}

/// Whether a provider is called for a search. The lists of all other providers are in the catalog.
fn is_called(offer: &Offer) -> bool {
    offer.provider.interfaces().search || offer.is_personal()
}

impl Answers {
    fn add(&mut self, offer: &Offer, answer: Result<Answer, CallError>) {
        let revision = offer.provider.revision();
        match answer {
            Ok(answer) => {
                if let Some(hits) = answer.hits {
                    self.searched.insert(revision);
                    self.hits.push(hits);
                }
                self.own_lists
                    .extend(answer.own_list.map(|list| (revision, list)));
                self.memory.extend(answer.memory);
                if !answer.is_complete {
                    self.omit(offer);
                }
            }
            // The provider answered that there is nothing for this caller.
            Err(CallError::NotFound | CallError::Denied(_)) => {
                self.searched.insert(revision);
            }
            Err(error) => {
                offer.provider.log_failed_call(&error, "search");
                self.omit(offer);
            }
        }
    }

    /// Records that results of a provider may be missing.
    pub(super) fn omit(&mut self, offer: &Offer) {
        self.incomplete.push(offer.full_name());
    }

    /// Notes that matches of the full-text index of a team may be missing.
    pub(super) fn omit_index(&mut self, team: &TeamName) {
        self.incomplete.push(format!("full-text index of {team}"));
    }

    /// Records the providers whose text only an index can find that does not contain all of it yet.
    pub(super) fn omit_incomplete_indexes(&mut self, team: &TeamCatalog) {
        for offer in team.offers() {
            let needs_index =
                offer.grant().index && !offer.provider.interfaces().search && !offer.is_personal();
            if needs_index && !team.state.index.is_complete(offer.name()) {
                self.omit(offer);
            }
        }
    }

    /// Returns the entries of a provider that the server ranks. A provider that searched itself has none.
    pub(super) fn entries_to_rank<'e>(&'e self, offer: &'e Offer) -> &'e [Arc<Entry>] {
        if self.searched.contains(&offer.provider.revision()) {
            &[]
        } else {
            self.list_of(offer)
        }
    }

    /// Returns the list of a provider, as far as it was fetched. If the list depends on the caller, returns the list of
    /// this caller.
    fn list_of<'e>(&'e self, offer: &'e Offer) -> &'e [Arc<Entry>] {
        if offer.is_personal() {
            self.own_lists
                .get(&offer.provider.revision())
                .map_or(&[], Vec::as_slice)
        } else {
            &offer.entries
        }
    }

    /// Returns the entry of a URI in the list of a provider.
    pub(super) fn listed_entry<'e>(
        &'e self,
        offer: &'e Offer,
        uri: &Uri,
    ) -> Option<&'e Arc<Entry>> {
        if offer.is_personal() {
            self.list_of(offer).iter().find(|entry| entry.uri == *uri)
        } else {
            offer.listed_entry(uri)
        }
    }

    /// Returns what may be missing, without duplicates.
    pub(super) fn into_incomplete(mut self) -> Vec<String> {
        self.incomplete.sort();
        self.incomplete.dedup();
        self.incomplete
    }
}
