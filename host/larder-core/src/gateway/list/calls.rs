//! The calls of providers for one page of a list. They have one common deadline, so that a client does not wait long
//! for a page, also if many providers are slow. While the first call waits, the next providers are called as well.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::super::filter::CompiledFilter;
use super::page::{Continuation, Room};
use crate::catalog::Offer;
use larder_model::policy::TimeLimit;
use larder_model::resource::{Call, Entry, Freshness};
use larder_provider::{CallError, ListQuery};

/// How long one page waits for providers, unless the page begins within the list of a provider.
const PAGE_TIME: Duration = Duration::from_secs(1);
/// With less time left, a provider is not called: the page ends before it, and the next page begins with it.
const MIN_CALL_TIME: Duration = Duration::from_millis(500);
/// Maximum number of providers that are called at the same time.
const MAX_CONCURRENT: usize = 16;

/// The time and the space that the calls of one page share.
pub(super) struct PageCalls<'a> {
    call: &'a Arc<Call>,
    filter: &'a CompiledFilter,
    /// Set by the first call.
    deadline: OnceLock<Instant>,
    /// The free space of the page.
    room: Mutex<Room>,
}

/// The result of a call.
pub(super) struct ListCallOutcome {
    pub(super) result: Result<FetchedPage, CallError>,
    /// The free space of the page when the call began.
    pub(super) room: Room,
}

/// A page of one provider.
pub(super) struct FetchedPage {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) next: Option<String>,
    pub(super) freshness: Freshness,
}

impl<'a> PageCalls<'a> {
    pub(super) fn new(call: &'a Arc<Call>, filter: &'a CompiledFilter) -> Self {
        Self {
            call,
            filter,
            deadline: OnceLock::new(),
            room: Mutex::new(Room { items: 0, bytes: 0 }),
        }
    }

    /// Sets the free space of the page.
    pub(super) fn set_room(&self, room: Room) {
        *self.room.lock() = room;
    }

    fn room(&self) -> Room {
        *self.room.lock()
    }

    /// Fetches the part of a list that the catalog does not hold and that this caller may see. Returns `None` without a
    /// call if there is too little time left. A call that `has_own_time` takes as long as a read may take.
    pub(super) async fn fetch(
        &self,
        offer: &Offer,
        from: &Continuation,
        has_own_time: bool,
    ) -> Option<ListCallOutcome> {
        let room = self.room();
        let max = room.items.min(offer.count_within(room.bytes));
        if !has_own_time {
            return self.fetch_at_most(offer, from, max).await;
        }
        let result = self.fetch_within(None, offer, from, max).await;
        Some(ListCallOutcome { result, room })
    }

    /// Like [`Self::fetch`], with this maximum of entries instead of the number that fits into the page.
    pub(super) async fn fetch_at_most(
        &self,
        offer: &Offer,
        from: &Continuation,
        max: usize,
    ) -> Option<ListCallOutcome> {
        let limit = self.time_limit()?;
        let room = self.room();
        let result = self.fetch_within(Some(limit), offer, from, max).await;
        Some(ListCallOutcome { result, room })
    }

    fn time_limit(&self) -> Option<TimeLimit> {
        let now = Instant::now();
        let until = *self.deadline.get_or_init(|| now + PAGE_TIME);
        (until >= now + MIN_CALL_TIME).then_some(TimeLimit {
            until: until.into_std(),
            total: PAGE_TIME,
        })
    }

    async fn fetch_within(
        &self,
        limit: Option<TimeLimit>,
        offer: &Offer,
        from: &Continuation,
        max_entries: usize,
    ) -> Result<FetchedPage, CallError> {
        let Ok(permit) = offer.permit(self.call) else {
            return Err(CallError::NotFound);
        };
        let max = offer.grant().limits.page_entries;
        let limit_entries = u32::try_from(max_entries).unwrap_or(max).min(max);
        let query = ListQuery {
            cursor: from.cursor.clone(),
            limit: limit_entries,
            ..ListQuery::default()
        };
        let query = if from.with_hints {
            self.filter.add_hints(query)
        } else {
            query
        };
        let listed = offer
            .provider
            .list_for_caller(permit.within(limit), query)
            .await?;
        offer.provider.log_omitted(&listed.omitted);
        Ok(FetchedPage {
            entries: listed.items.into_iter().map(Arc::new).collect(),
            next: listed.next,
            freshness: listed.freshness.unwrap_or(Freshness::UNKNOWN),
        })
    }
}

/// The first calls of several providers, in the order of the list. Each call begins when the calls before it wait.
pub(super) struct FirstCalls<'a> {
    calls: BoxStream<'a, (&'a Arc<Offer>, Option<ListCallOutcome>)>,
    ended: VecDeque<(&'a Arc<Offer>, Option<ListCallOutcome>)>,
}

impl<'a> FirstCalls<'a> {
    /// Starts the calls of a provider and of the following providers, as far as they may be needed to fill the page.
    /// `has_own_time` applies to the first call.
    pub(super) fn new(
        page: &'a PageCalls<'a>,
        first: (&'a Arc<Offer>, Continuation),
        has_own_time: bool,
        following: impl Iterator<Item = &'a Arc<Offer>> + Send + 'a,
    ) -> Self {
        let mut room = page.room().items;
        let following = following.map_while(move |offer| {
            let from = Continuation::first_of(offer, page.filter);
            // The filter may skip all entries of the catalog.
            if page.filter.is_empty() && from.as_ref().is_none_or(|from| from.cursor.is_some()) {
                room = room.saturating_sub(offer.entries.len());
            }
            (room > 0).then_some(from.map(|from| (offer, from)))
        });
        let calls = std::iter::once(first)
            .chain(following.flatten())
            .take(MAX_CONCURRENT);
        let calls = calls
            .enumerate()
            .map(move |(number, (offer, from))| -> BoxFuture<'a, _> {
                let has_own_time = has_own_time && number == 0;
                Box::pin(async move { (offer, page.fetch(offer, &from, has_own_time).await) })
            });
        Self {
            calls: stream::iter(calls).buffered(MAX_CONCURRENT).boxed(),
            ended: VecDeque::new(),
        }
    }

    /// Returns the result of the call of this provider; `None` if this provider is not the next one of these calls.
    pub(super) async fn next_of(&mut self, offer: &Arc<Offer>) -> Option<Option<ListCallOutcome>> {
        let (of, fetched) = match self.ended.pop_front() {
            Some(ended) => ended,
            None => self.calls.next().await?,
        };
        Arc::ptr_eq(of, offer).then_some(fetched)
    }

    /// Awaits another call while these calls continue.
    pub(super) async fn along_with<T>(&mut self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        poll_fn(|context| {
            if let Poll::Ready(output) = call.as_mut().poll(context) {
                return Poll::Ready(output);
            }
            while let Poll::Ready(Some(ended)) = self.calls.poll_next_unpin(context) {
                self.ended.push_back(ended);
            }
            Poll::Pending
        })
        .await
    }
}
