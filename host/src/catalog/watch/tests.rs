//! Who hears of what, and how much may be watched.

use super::*;

fn watch(hub: &Hub) -> Watch {
    Watch::over([hub].into_iter())
}

fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap()
}

#[tokio::test]
async fn changes_that_wait_are_told_once() {
    let hub = Hub::new(8);
    let watch = watch(&hub);
    watch.list_changes(true);
    assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")));
    for _ in 0..1_000 {
        hub.updated(&uri("a:1"));
        hub.list_changed();
    }
    assert_eq!(watch.next().await, [Change::List, Change::Updated(uri("a:1"))]);
    assert!(watch.take().is_empty());
}

#[test]
fn nobody_hears_what_he_did_not_ask_for() {
    let hub = Hub::new(1);
    let (watch, other) = (watch(&hub), Hub::new(1));
    assert!(watch.add(uri("a:1")) && watch.add(uri("a:1")) && !watch.add(uri("a:2")));
    hub.list_changed();
    other.updated(&uri("a:1"));
    hub.updated(&uri("a:2"));
    assert!(watch.take().is_empty());
    hub.updated(&uri("a:1"));
    watch.remove("a:1");
    assert!(watch.take().is_empty());
}

#[tokio::test]
async fn in_doubt_everything_that_is_wanted_is_told_and_nothing_else() {
    let hub = Hub::new(8);
    let watch = watch(&hub);
    assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")));
    watch.remove("a:1");
    watch.in_doubt();
    assert_eq!(watch.next().await, [Change::Updated(uri("a:2"))]);
    watch.list_changes(true);
    watch.in_doubt();
    assert_eq!(watch.next().await, [Change::List, Change::Updated(uri("a:2"))]);
}

#[test]
fn a_dropped_watch_leaves_nothing_behind() {
    let hub = Hub::new(8);
    let watch = watch(&hub);
    watch.add(uri("a:1"));
    hub.said(&uri("a:1"));
    drop(watch);
    let watchers = lock(&hub.watchers);
    assert!(watchers.all.is_empty() && watchers.by_uri.is_empty());
    assert_eq!(watchers.news, News::default());
}

#[test]
fn what_all_watch_together_has_a_bound_and_is_free_again() {
    let (hub, other) = (Hub::new(2), Hub::new(2));
    let mut all: Vec<_> = (0..LISTENERS).map(|_| watch(&hub)).collect();
    for one in &all {
        assert!(one.add(uri("a:1")) && one.add(uri("a:2")) && one.add(uri("a:2")));
    }
    let late = Watch::over([&other, &hub].into_iter());
    assert!(!late.add(uri("a:1")));
    assert!(other.watched().is_empty(), "what was refused is watched nowhere");
    all.pop();
    assert!(late.add(uri("a:1")) && late.add(uri("a:2")));
    drop((all, late));
    let long = |n: usize| uri(&format!("a:{n:08}{}", "x".repeat(8_000)));
    let hub = Hub::new(10_000);
    let one = watch(&hub);
    let taken = (0..10_000).take_while(|n| one.add(long(*n))).count();
    assert_eq!(taken, BYTES / long(0).as_str().len());
    one.remove(long(0).as_str());
    assert!(one.add(long(10_000)) && !one.add(long(10_001)));
    drop(one);
    let left = lock(&hub.watchers).load;
    assert_eq!((left.uris, left.bytes), (0, 0));
}

#[tokio::test]
async fn news_are_what_begins_and_what_was_said() {
    let hub = Hub::new(8);
    let (one, other) = (watch(&hub), watch(&hub));
    let watched = |text| HashSet::from([uri(text)]);
    one.add(uri("a:1"));
    other.add(uri("a:1"));
    let begun = News { begun: watched("a:1"), ..News::default() };
    assert_eq!(hub.news().await, begun);
    hub.updated(&uri("a:1"));
    hub.said(&uri("a:2"));
    hub.said(&uri("a:1"));
    assert_eq!(hub.news().await, News { said: watched("a:1"), ..News::default() });
    drop(one);
    assert_eq!(hub.watched(), Vec::from_iter(watched("a:1")));
}

#[tokio::test]
async fn what_differs_in_several_catalogs_is_told_once() {
    let (one, other, third) = (Hub::new(2), Hub::new(2), Hub::new(2));
    let watch = Watch::over([&one, &other].into_iter());
    watch.list_changes(true);
    assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")) && !watch.add(uri("a:3")));
    for hub in [&one, &other, &third] {
        hub.list_changed();
        hub.updated(&uri("a:1"));
    }
    assert_eq!(watch.next().await, [Change::List, Change::Updated(uri("a:1"))]);
    third.updated(&uri("a:2"));
    assert!(watch.take().is_empty());
    watch.remove("a:1");
    assert_eq!((one.watched(), other.watched()), (vec![uri("a:2")], vec![uri("a:2")]));
    drop(watch);
    assert!(one.watched().is_empty() && other.watched().is_empty());
}
