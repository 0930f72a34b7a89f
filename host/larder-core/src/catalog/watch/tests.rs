//! Tests of notifications and limits.

use super::*;

fn watch(hub: &WatchHub) -> Watch {
    Watch::new([hub].into_iter())
}

fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap()
}

#[tokio::test]
async fn repeated_changes_are_reported_once() {
    let hub = WatchHub::new(8);
    let watch = watch(&hub);
    watch.watch_list(true);
    assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")));
    for _ in 0..1_000 {
        hub.updated(&uri("a:1"));
        hub.lists_changed(Lists::ALL);
    }
    assert_eq!(
        watch.next().await,
        [Change::List, Change::Updated(uri("a:1"))]
    );
    assert!(watch.take().is_empty());
}

#[test]
fn a_listener_gets_only_the_changes_it_watches() {
    let hub = WatchHub::new(1);
    let watch = watch(&hub);
    let other = WatchHub::new(1);
    assert!(watch.add(uri("a:1")) && watch.add(uri("a:1")) && !watch.add(uri("a:2")));
    hub.lists_changed(Lists::ALL);
    other.updated(&uri("a:1"));
    hub.updated(&uri("a:2"));
    assert!(watch.take().is_empty());
    hub.updated(&uri("a:1"));
    watch.remove("a:1");
    assert!(watch.take().is_empty());
}

#[tokio::test]
async fn mark_all_changed_reports_everything_watched() {
    let hub = WatchHub::new(8);
    let watch = watch(&hub);
    assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")));
    watch.remove("a:1");
    watch.mark_all_changed();
    assert_eq!(watch.next().await, [Change::Updated(uri("a:2"))]);
    watch.watch_list(true);
    watch.mark_all_changed();
    assert_eq!(
        watch.next().await,
        [Change::List, Change::Updated(uri("a:2"))]
    );
}

#[test]
fn dropping_a_watch_removes_its_state() {
    let hub = WatchHub::new(8);
    let watch = watch(&hub);
    watch.add(uri("a:1"));
    hub.provider_updated(&uri("a:1"));
    drop(watch);
    let state = hub.state.lock();
    assert!(state.listeners.is_empty() && state.by_uri.is_empty());
    assert_eq!(state.events, WatchEvents::default());
}

#[test]
fn the_total_of_watched_uris_is_bounded_and_released() {
    let hub = WatchHub::new(2);
    let other = WatchHub::new(2);
    let mut all: Vec<_> = (0..LISTENERS_AT_LIMIT).map(|_| watch(&hub)).collect();
    for one in &all {
        assert!(one.add(uri("a:1")) && one.add(uri("a:2")) && one.add(uri("a:2")));
    }
    let late = Watch::new([&other, &hub].into_iter());
    assert!(!late.add(uri("a:1")));
    assert!(
        other.watched().is_empty(),
        "a refused URI is watched nowhere"
    );
    all.pop();
    assert!(late.add(uri("a:1")) && late.add(uri("a:2")));
    drop((all, late));
    let long = |n: usize| uri(&format!("a:{n:08}{}", "x".repeat(8_000)));
    let hub = WatchHub::new(10_000);
    let one = watch(&hub);
    let taken = (0..10_000).take_while(|n| one.add(long(*n))).count();
    assert_eq!(taken, MAX_URI_BYTES / long(0).as_str().len());
    one.remove(long(0).as_str());
    assert!(one.add(long(10_000)) && !one.add(long(10_001)));
    drop(one);
    let left = hub.state.lock().usage;
    assert_eq!((left.uris, left.bytes), (0, 0));
}

#[tokio::test]
async fn events_report_added_uris_and_provider_updates() {
    let hub = WatchHub::new(8);
    let one = watch(&hub);
    let other = watch(&hub);
    let watched = |text| HashSet::from([uri(text)]);
    one.add(uri("a:1"));
    other.add(uri("a:1"));
    let added = WatchEvents {
        added: watched("a:1"),
        ..WatchEvents::default()
    };
    assert_eq!(hub.next_events().await, added);
    hub.updated(&uri("a:1"));
    hub.provider_updated(&uri("a:2"));
    hub.provider_updated(&uri("a:1"));
    assert_eq!(
        hub.next_events().await,
        WatchEvents {
            provider_updates: watched("a:1"),
            ..WatchEvents::default()
        }
    );
    drop(one);
    assert_eq!(hub.watched(), Vec::from_iter(watched("a:1")));
}

#[tokio::test]
async fn a_change_in_several_catalogs_is_reported_once() {
    let one = WatchHub::new(2);
    let other = WatchHub::new(2);
    let third = WatchHub::new(2);
    let watch = Watch::new([&one, &other].into_iter());
    watch.watch_list(true);
    assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")) && !watch.add(uri("a:3")));
    for hub in [&one, &other, &third] {
        hub.lists_changed(Lists::ALL);
        hub.updated(&uri("a:1"));
    }
    assert_eq!(
        watch.next().await,
        [Change::List, Change::Updated(uri("a:1"))]
    );
    third.updated(&uri("a:2"));
    assert!(watch.take().is_empty());
    watch.remove("a:1");
    assert_eq!(
        (one.watched(), other.watched()),
        (vec![uri("a:2")], vec![uri("a:2")])
    );
    drop(watch);
    assert!(one.watched().is_empty() && other.watched().is_empty());
}
