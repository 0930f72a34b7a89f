use super::entry::EARLY_HINT_WINDOW;
use super::provider_queue::{BATCH_SIZE, MAX_PAUSE};
use super::*;
use crate::catalog::ContentFingerprint;
use larder_model::policy::Grant;
use larder_model::uri::Uri;
use larder_provider::fake::FakeContent;

fn watched(n: usize) -> Uri {
    Uri::parse(&format!("x:{n}")).unwrap()
}

fn version(text: &str) -> Answer {
    Answer::Present(ContentFingerprint::of_version(text.into()))
}

/// Answers everything that is due. Returns the number of checks and of notifications.
fn run_batches(table: &mut WatchTable, answer: &Answer) -> (usize, usize) {
    let batches = table.take_batches();
    let checks: Vec<Check> = batches.into_iter().flat_map(|batch| batch.checks).collect();
    let notified = checks
        .iter()
        .filter(|check| table.record_answer(check, answer.clone()))
        .count();
    table.finish_batch(None, &uris(&checks), Duration::ZERO, Instant::now());
    (checks.len(), notified)
}

fn uris(checks: &[Check]) -> Vec<Uri> {
    checks.iter().map(|check| check.uri.clone()).collect()
}

#[test]
fn new_uris_are_checked_once_in_batches() {
    let mut table = WatchTable::default();
    let catalog = Catalog::default();
    for n in (0..BATCH_SIZE + 1).chain(0..BATCH_SIZE) {
        table.add(watched(n), &catalog);
    }
    let counts: Vec<_> = (0..3)
        .map(|_| run_batches(&mut table, &Answer::Missing))
        .collect();
    assert_eq!(counts, [(BATCH_SIZE, 0), (1, 0), (0, 0)]);
    assert_eq!(table.known_count(), BATCH_SIZE + 1);
    table.retain(&HashSet::from([watched(0)]));
    assert_eq!((table.known_count(), table.entries.len()), (1, 1));
}

#[test]
fn a_hint_of_an_earlier_change_notifies_unless_the_content_is_known_to_be_older() {
    /// Returns whether the watchers are notified if the version "2" is found after a hint that was observed this long
    /// after the content became known.
    fn is_notified(observed: Duration, announced_early: bool, listed: Option<&str>) -> bool {
        let mut table = WatchTable::default();
        table.add(watched(0), &Catalog::default());
        let began = Instant::now();
        table.settle(&watched(0), announced_early);
        let entry = table.entries.get_mut(&watched(0)).unwrap();
        entry.listed_version = listed.map(ToOwned::to_owned);
        entry.known_since = Some(began + Duration::from_secs(1));
        // The first answer may contain the change already; the hint of the change arrives later.
        assert_eq!(run_batches(&mut table, &version("2")), (1, 0));
        hint(&mut table, began + observed);
        let (checks, notified) = run_batches(&mut table, &version("2"));
        hint(&mut table, began + Duration::from_secs(60));
        assert_eq!(
            (checks, run_batches(&mut table, &version("2"))),
            (1, (1, 0))
        );
        notified == 1
    }
    let before = Duration::from_millis(900);
    let after = Duration::from_millis(1_100);
    assert!(is_notified(before, false, None) && is_notified(before, false, Some("1")));
    assert!(is_notified(after, false, Some("1")), "the hint may be late");
    for observed in [before, after] {
        assert!(
            !is_notified(observed, false, Some("2")),
            "the content is older than the subscription"
        );
    }
    assert!(
        !is_notified(after, false, None),
        "a change after the subscription is found by comparing"
    );
    // The client was told that it is subscribed before the content was known.
    assert!(is_notified(before, true, Some("2")) && is_notified(after, true, Some("2")));
    assert!(!is_notified(after + EARLY_HINT_WINDOW, true, None));
}

#[test]
fn a_hint_before_the_first_answer_notifies() {
    let mut table = WatchTable::default();
    table.add(watched(0), &Catalog::default());
    hint(&mut table, Instant::now());
    assert_eq!(run_batches(&mut table, &version("2")), (1, 1));
}

/// Sends a hint that was observed at this time.
fn hint(table: &mut WatchTable, since: Instant) {
    let provider = ProviderName::parse("p").unwrap();
    let gone = FakeContent::default().provider("p", Grant::default());
    let entry = table.entries.get_mut(&watched(0)).unwrap();
    entry.owners = vec![OwningRevision {
        name: provider.clone(),
        provider: Arc::downgrade(&gone),
    }];
    drop(gone);
    table.hint(&provider, since);
    table.entries.get_mut(&watched(0)).unwrap().owners = vec![];
    table.queue(None).due.insert(watched(0));
}

#[test]
fn a_hint_after_a_provider_update_counts_as_another_change() {
    let mut table = WatchTable::default();
    table.add(watched(0), &Catalog::default());
    assert_eq!(run_batches(&mut table, &version("1")), (1, 0));
    table.provider_updated(&watched(0), true);
    hint(&mut table, Instant::now());
    assert_eq!(run_batches(&mut table, &version("3")), (1, 1));
    // The same test, while a check that follows the provider's update is unanswered.
    table.provider_updated(&watched(0), true);
    let checks = table.take_batches().remove(0).checks;
    hint(&mut table, Instant::now());
    assert!(table.record_answer(&checks[0], version("5")));
    table.finish_batch(None, &uris(&checks), Duration::ZERO, Instant::now());
    // A hint alone causes a check, and no notification.
    assert_eq!(run_batches(&mut table, &version("5")), (1, 0));
    hint(&mut table, Instant::now());
    assert_eq!(run_batches(&mut table, &version("5")), (1, 0));
}

#[test]
fn a_provider_update_does_not_cover_a_late_answer() {
    let mut table = WatchTable::default();
    table.add(watched(0), &Catalog::default());
    assert_eq!(run_batches(&mut table, &version("1")), (1, 0));
    table.provider_updated(&watched(0), true);
    let entry = table.entries.get_mut(&watched(0)).unwrap();
    entry.provider_updated = Instant::now().checked_sub(2 * SIGNAL_COVERAGE);
    assert_eq!(run_batches(&mut table, &version("3")), (1, 1));
}

#[test]
fn a_provider_update_is_not_reported_twice() {
    let mut table = WatchTable::default();
    table.add(watched(0), &Catalog::default());
    assert_eq!(run_batches(&mut table, &version("1")), (1, 0));
    table.provider_updated(&watched(0), true);
    assert_eq!(run_batches(&mut table, &version("2")), (1, 0));
    table.queue(None).due.insert(watched(0));
    assert_eq!(run_batches(&mut table, &version("3")), (1, 1));
    // A provider's update also covers a check that was running at that time.
    table.queue(None).due.insert(watched(0));
    let checks = table.take_batches().remove(0).checks;
    table.provider_updated(&watched(0), true);
    assert!(!table.record_answer(&checks[0], version("4")));
    table.finish_batch(None, &uris(&checks), Duration::ZERO, Instant::now());
    assert_eq!(run_batches(&mut table, &version("4")), (1, 0));
}

#[test]
fn a_batch_that_is_too_large_is_split() {
    let mut table = WatchTable::default();
    let catalog = Catalog::default();
    (0..BATCH_SIZE).for_each(|n| table.add(watched(n), &catalog));
    let counts: Vec<_> = (0..2)
        .map(|_| run_batches(&mut table, &Answer::BatchTooLarge).0)
        .collect();
    assert_eq!(counts, [BATCH_SIZE, BATCH_SIZE / 4]);
    let counts: Vec<_> = (0..4)
        .map(|_| run_batches(&mut table, &version("1")))
        .collect();
    assert_eq!(
        counts,
        [
            (BATCH_SIZE / 16, 0),
            (BATCH_SIZE / 4, 0),
            (BATCH_SIZE - BATCH_SIZE / 16 - BATCH_SIZE / 4, 0),
            (0, 0)
        ]
    );
    assert_eq!(table.known_count(), BATCH_SIZE);
}

#[test]
fn failing_providers_are_paused_with_backoff() {
    let mut table = WatchTable::default();
    table.add(watched(0), &Catalog::default());
    let now = Instant::now();
    let pause = |table: &mut WatchTable, answer: &Answer| {
        table.queue(None).due.insert(watched(0));
        let checks = table.take_batches().remove(0).checks;
        table.record_answer(&checks[0], answer.clone());
        table.finish_batch(None, &uris(&checks), Duration::from_millis(10), now);
        table.queue(None).paused_until.unwrap() - now
    };
    assert_eq!(pause(&mut table, &Answer::Failed), Duration::from_secs(2));
    assert_eq!(pause(&mut table, &Answer::Failed), Duration::from_secs(4));
    assert_eq!(
        pause(&mut table, &Answer::Missing),
        Duration::from_millis(30)
    );
    let long = (0..20).map(|_| pause(&mut table, &Answer::Failed)).last();
    assert_eq!(long, Some(MAX_PAUSE));
}

#[test]
fn unanswered_checks_are_retried_without_a_tick() {
    let mut table = WatchTable::default();
    (0..3).for_each(|n| table.add(watched(n), &Catalog::default()));
    table.provider_updated(&watched(1), true);
    let checks = table.take_batches().remove(0).checks;
    let now = Instant::now();
    // One check failed, one check was skipped because other checks failed before it, and one check succeeded.
    let of = |n| checks.iter().find(|check| check.uri == watched(n)).unwrap();
    assert!(
        !table.record_answer(of(0), Answer::Failed) && !table.record_answer(of(2), version("1"))
    );
    table.finish_batch(None, &uris(&checks), Duration::ZERO, now);
    assert!(table.take_batches().is_empty());
    let at = table.next_retry().unwrap();
    assert_eq!(at, now + Duration::from_secs(1));
    table.retry(at);
    let checks = table.take_batches().remove(0).checks;
    assert_eq!(
        HashSet::<Uri>::from_iter(uris(&checks)),
        HashSet::from([watched(0), watched(1)])
    );
    // The watchers have not received any change after the one that the provider reported.
    assert!(
        checks
            .iter()
            .all(|check| check.already_notified == (check.uri == watched(1)))
    );
    table.finish_batch(None, &uris(&checks), Duration::ZERO, at);
    assert_eq!(
        table.next_retry(),
        Some(at + Duration::from_secs(2)),
        "the delay doubles"
    );
    table.retry(at + Duration::from_secs(2));
    assert_eq!(run_batches(&mut table, &version("1")).0, 2);
    assert_eq!(table.next_retry(), None);
}

#[test]
fn a_resumed_uri_is_compared_with_what_its_watcher_knew() {
    let resume = |known: &str| {
        let mut table = WatchTable::default();
        let catalog = Catalog::default();
        table.add(watched(0), &catalog);
        let last = ContentState::Present(ContentFingerprint::of_version(known.into()));
        assert!(!table.resume(&watched(0), last.clone()));
        assert_eq!(
            (table.state(&watched(0)), table.known_count()),
            (Some(last.clone()), 1)
        );
        (
            run_batches(&mut table, &version("2")),
            table.resume(&watched(0), last),
        )
    };
    assert_eq!(resume("2"), ((1, 0), false));
    // The second watcher knew the same old version. That version is compared at once.
    assert_eq!(resume("1"), ((1, 1), true));
    assert!(
        !WatchTable::default().resume(&watched(0), ContentState::Missing),
        "it is not watched any more"
    );
}
