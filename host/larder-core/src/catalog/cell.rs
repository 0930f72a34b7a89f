//! The cell that holds the current catalog of a team, with its one writer and its readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch as watch_channel};

use super::notification_events::NotificationEvents;
use super::seen_lists::SeenLists;
use super::update_queue::{UpdateHints, UpdateQueue};
use super::updates::UpdateTimes;
use super::watch::{LastSeenLists, WatchHub};
use super::{Catalog, ContentState, Lists, LogicalTime, PendingApproval, Watch, WatchEvents};
use larder_model::name::{ProviderName, TeamName};
use larder_model::uri::Uri;
use larder_runtime::history::EventLog;
use larder_skills::{ProviderSkills, TeamSkills};

/// Creates the empty catalog of a team, which records notifications as events. Returns its writer and its reader.
pub fn catalog(team: TeamName, watched_uris: usize, events: EventLog) -> (Writer, Reader) {
    let cell = Arc::new(CatalogCell {
        team,
        now: ArcSwap::default(),
        updates: UpdateTimes::default(),
        update_queue: UpdateQueue::default(),
        skill_hints: UpdateQueue::default(),
        skills: ArcSwap::default(),
        pending_contents: ArcSwap::default(),
        pending_changed: Notify::new(),
        approvals_changed: Notify::new(),
        hub: WatchHub::new(watched_uris),
        notification_events: NotificationEvents(events),
        published: watch_channel::Sender::default(),
    });
    (Writer { cell: cell.clone() }, Reader { cell })
}

/// Creates a watch over several catalogs. It watches nothing yet.
pub fn watch<'a>(readers: impl IntoIterator<Item = &'a Reader>) -> Watch {
    let cells: Vec<_> = readers
        .into_iter()
        .map(|reader| reader.cell.clone())
        .collect();
    let mut watch = Watch::new(cells.iter().map(|cell| &cell.hub));
    // One catalog reports its changes exactly, so only several catalogs are compared.
    if cells.len() > 1 {
        watch.compare(LastSeenLists::new(move || {
            let catalogs: Vec<_> = cells.iter().map(|cell| cell.now.load_full()).collect();
            SeenLists::of(
                &catalogs
                    .iter()
                    .map(|catalog| &**catalog)
                    .collect::<Vec<_>>(),
            )
        }));
    }
    watch
}

#[derive(Debug)]
struct CatalogCell {
    team: TeamName,
    now: ArcSwap<Catalog>,
    updates: UpdateTimes,
    update_queue: UpdateQueue,
    /// The same hints for the snapshots of skills.
    skill_hints: UpdateQueue,
    skills: ArcSwap<TeamSkills>,
    /// The skills and pages that wait for approval.
    pending_contents: ArcSwap<BTreeMap<ProviderName, PendingApproval>>,
    pending_changed: Notify,
    approvals_changed: Notify,
    hub: WatchHub,
    notification_events: NotificationEvents,
    /// Increases with each new catalog.
    published: watch_channel::Sender<u64>,
}

impl CatalogCell {
    /// Records that the content of a URI is new.
    fn record_update(&self, uri: &Uri) {
        self.updates.record(uri);
        self.update_queue.uri(uri);
        self.skill_hints.uri(uri);
    }

    /// Notifies the watchers of changed lists.
    fn lists_changed(&self, lists: Lists) {
        let clients = self.hub.lists_changed(lists);
        self.notification_events
            .lists_changed(&self.team, lists, clients);
    }

    /// Records for operators how many watchers were notified of a URI.
    fn notified(&self, uri: &Uri, clients: usize) {
        let provider = || {
            self.now
                .load()
                .by_uri(uri.as_str())
                .map(|offer| offer.name().clone())
        };
        self.notification_events
            .updated(&self.team, uri, provider, clients);
    }
}

/// The only writer. It cannot be cloned.
#[derive(Debug)]
pub struct Writer {
    cell: Arc<CatalogCell>,
}

impl Writer {
    /// Returns the current catalog.
    pub fn current(&self) -> Arc<Catalog> {
        self.cell.now.load_full()
    }

    /// Replaces the catalog in one step, and notifies the watchers of the lists that differ.
    pub fn publish(&mut self, catalog: Catalog) {
        let old = self.cell.now.swap(Arc::new(catalog));
        self.cell.published.send_modify(|count| *count += 1);
        self.cell.lists_changed(self.current().changed_lists(&old));
    }

    /// Notifies the watchers of the list of resources that the list changed in a way that the catalog does not show.
    pub fn list_changed(&self) {
        self.cell.lists_changed(Lists::RESOURCES);
    }

    /// Notifies the watchers of this URI of an update that its provider reported.
    pub fn updated(&self, uri: &Uri) {
        self.cell.record_update(uri);
        self.cell.notified(uri, self.cell.hub.provider_updated(uri));
    }

    /// Records that any content of this provider may have changed, also if its list is the same as before.
    pub(crate) fn may_have_changed(&self, provider: &ProviderName) {
        self.cell.update_queue.provider(provider);
        self.cell.skill_hints.provider(provider);
    }

    /// Returns the skills and pages that wait for approval.
    pub(crate) fn pending_contents(&self) -> Arc<BTreeMap<ProviderName, PendingApproval>> {
        self.cell.pending_contents.load_full()
    }

    /// Waits until other skills or pages wait for approval. Cancel safe.
    pub(crate) async fn pending_contents_changed(&self) {
        self.cell.pending_changed.notified().await;
    }

    /// Reports that an operator may have approved or rejected something.
    pub(crate) fn approvals_changed(&self) {
        self.cell.approvals_changed.notify_one();
    }

    /// Returns the writer of the skills. A catalog has only one.
    pub fn skill_writer(&self) -> SkillWriter {
        self.cell.skill_hints.collect();
        SkillWriter {
            cell: self.cell.clone(),
        }
    }

    /// Returns the notifier for the change detector.
    pub fn notifier(&self) -> Notifier {
        Notifier {
            cell: self.cell.clone(),
        }
    }
}

/// Publishes the skills of providers. It cannot be cloned.
#[derive(Debug)]
pub struct SkillWriter {
    cell: Arc<CatalogCell>,
}

impl SkillWriter {
    /// Replaces the skills and pages of a provider in one step, and what of them waits for approval. If they differ,
    /// notifies the watchers of the list of resources and of the files: a client that read a file after its first
    /// notification got the old bytes.
    pub(crate) fn publish(
        &self,
        provider: &ProviderName,
        skills: Option<Arc<ProviderSkills>>,
        pending: Option<PendingApproval>,
    ) {
        self.set_pending(provider, pending);
        let before = self.cell.skills.load_full();
        let mut now = TeamSkills::clone(&before);
        now.set(provider, skills.clone());
        self.cell.skills.store(Arc::new(now));
        let nothing = Arc::default();
        let old = before.of(provider).unwrap_or(&nothing);
        let new = skills.as_ref().unwrap_or(&nothing);
        if new.has_same_skills(old) {
            return;
        }
        for uri in new.changed_files(old) {
            self.cell.updates.record(uri);
            self.cell.notified(uri, self.cell.hub.updated(uri));
        }
        self.cell.lists_changed(Lists::RESOURCES);
    }

    fn set_pending(&self, provider: &ProviderName, pending: Option<PendingApproval>) {
        let before = self.cell.pending_contents.load_full();
        let known = before.get(provider);
        let pending = pending.map(|pending| pending.keep_since(known));
        if pending.as_ref() == known {
            return;
        }
        let mut now = BTreeMap::clone(&before);
        match pending {
            Some(pending) => now.insert(provider.clone(), pending),
            None => now.remove(provider),
        };
        self.cell.pending_contents.store(Arc::new(now));
        self.cell.pending_changed.notify_one();
    }

    /// Waits for content that may have changed. For a single consumer. Cancel safe.
    pub(crate) async fn next_hints(&self) -> UpdateHints {
        self.cell.skill_hints.next().await
    }

    /// Waits until an operator may have approved or rejected something. Cancel safe.
    pub(crate) async fn approvals_changed(&self) {
        self.cell.approvals_changed.notified().await;
    }
}

/// Stores which URIs are watched, and notifies their watchers. It cannot publish.
#[derive(Debug, Clone)]
pub struct Notifier {
    cell: Arc<CatalogCell>,
}

impl Notifier {
    /// Notifies the watchers of this URI that its content changed.
    pub fn updated(&self, uri: &Uri) {
        // The update is recorded before the notification: a notified client reads again, and must not get a cached
        // response.
        self.cell.record_update(uri);
        self.cell.notified(uri, self.cell.hub.updated(uri));
    }

    /// Records that another replica found new content of this URI: cached responses are not used any more. The watchers
    /// are notified when a check on this replica finds the content.
    pub(crate) fn changed_elsewhere(&self, uri: &Uri) {
        self.cell.record_update(uri);
    }

    /// Records that any content may have changed.
    pub(crate) fn anything_may_have_changed(&self) {
        self.cell.updates.record_all();
        self.cell.update_queue.anything();
        self.cell.skill_hints.anything();
    }

    /// Records what a check of a URI found, if it found anything. With `notify`, also notifies the watchers.
    pub(crate) fn checked(&self, uri: &Uri, state: Option<ContentState>, notify: bool) {
        if notify {
            self.cell.record_update(uri);
        }
        self.cell
            .notified(uri, self.cell.hub.checked(uri, state, notify));
    }

    /// Records that the content of this URI is known now, so that later changes of the content are found. Returns
    /// whether a client was told before that it is subscribed.
    pub(crate) fn settle(&self, uri: &Uri) -> bool {
        // A client that reads after it subscribed must not get an older response from the cache: no later change would
        // correct that response.
        self.cell.updates.record(uri);
        self.cell.hub.settle(uri)
    }

    /// Returns each watched URI once.
    pub fn watched(&self) -> Vec<Uri> {
        self.cell.hub.watched()
    }

    /// Waits until a URI is newly watched or a provider reports an update, and returns all such URIs that are
    /// still watched. For a single consumer. Cancel safe.
    pub(crate) async fn next_events(&self) -> WatchEvents {
        self.cell.hub.next_events().await
    }
}

/// A reader. It can be cloned.
#[derive(Debug, Clone)]
pub struct Reader {
    cell: Arc<CatalogCell>,
}

impl Reader {
    /// Returns the team of the catalog.
    pub fn team(&self) -> &TeamName {
        &self.cell.team
    }

    /// Whether both readers read the same catalog.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell)
    }

    /// Returns the current catalog.
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.cell.now.load_full()
    }

    /// Returns the skills that are offered now.
    pub fn skills(&self) -> Arc<TeamSkills> {
        self.cell.skills.load_full()
    }

    /// Returns the current logical time, to compare with later updates.
    pub(crate) fn logical_time(&self) -> LogicalTime {
        self.cell.updates.now()
    }

    /// Returns whether the URI had no update since then. The result may be false although there was no update, but it
    /// is never true after an update.
    pub(crate) fn unchanged_since(&self, time: LogicalTime, uri: &Uri) -> bool {
        self.cell.updates.unchanged_since(time, uri)
    }

    /// Returns a receiver that changes with each new catalog.
    pub fn published(&self) -> watch_channel::Receiver<u64> {
        self.cell.published.subscribe()
    }

    /// Begins to collect what [`Self::next_hints`] returns.
    pub(crate) fn collect_hints(&self) {
        self.cell.update_queue.collect();
    }

    /// Waits for content that may have changed. For a single consumer. Cancel safe.
    pub(crate) async fn next_hints(&self) -> UpdateHints {
        self.cell.update_queue.next().await
    }

    /// Returns the number of watches and the number of watched URIs.
    pub fn watchers(&self) -> (usize, usize) {
        self.cell.hub.count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::super::{Change, RejectedComponent};
    use super::*;

    #[test]
    fn a_snapshot_is_not_changed_by_publish() {
        let (mut writer, reader) = catalog(TeamName::default_team(), 8, EventLog::default());
        let rejected = |file: &str| RejectedComponent {
            name: "a".into(),
            origin: file.into(),
            digest: None,
            reason: "empty".into(),
            stderr: String::new(),
            since: SystemTime::now(),
        };
        let before = reader.snapshot();
        writer.publish(Catalog::new(vec![], vec![rejected("a.wasm")], vec![]));
        assert_eq!(
            (before.rejected().len(), reader.snapshot().rejected().len()),
            (0, 1)
        );
    }

    #[tokio::test]
    async fn publishing_the_same_lists_notifies_nobody() {
        let (mut writer, reader) = catalog(TeamName::default_team(), 8, EventLog::default());
        let watch = watch([&reader]);
        watch.watch_list(true);
        let since = SystemTime::now();
        let rejected = RejectedComponent {
            name: "a".into(),
            origin: "a.wasm".into(),
            digest: None,
            reason: "empty".into(),
            stderr: String::new(),
            since,
        };
        writer.publish(Catalog::new(vec![], vec![rejected], vec![]));
        let uri = Uri::parse("x:y").unwrap();
        watch.add(uri.clone());
        writer.updated(&uri);
        assert_eq!(watch.next().await, [Change::Updated(uri)]);
    }
}
