//! What differs reaches those who watch, wherever it comes from; what does not differ reaches nobody.

use std::path::Path;
use std::time::Duration;

use larder_core::catalog::{Change, Watch};
use larder_core::change_detector::Config;
use larder_model::policy::{Access, Dir};
use larder_model::uri::Uri;
use tempfile::TempDir;

use crate::house::{House, Plan, component, someone};

const NEVER: Duration = Duration::from_secs(3_600);

/// Only what this test is about: each way of finding out is quick or does not happen.
fn by_version() -> Config {
    Config { version_interval: Duration::from_millis(20), read_interval: None }
}

fn by_reading() -> Config {
    Config { version_interval: NEVER, read_interval: Some(Duration::from_millis(20)) }
}

pub(crate) fn by_events() -> Config {
    Config { version_interval: NEVER, read_interval: None }
}

fn granted(plan: Plan, provider: &str, folder: &TempDir, access: Access) -> Plan {
    let dir = Dir { host: folder.path().into(), guest: "/data".into(), access, is_canonical: false };
    plan.terms(provider, |grant, _| grant.dirs.push(dir))
}

/// Somebody who watches these URIs, once it is known what all watched ones hold.
async fn watching(house: &House, config: Config, uris: &[&str]) -> Watch {
    let watch = house.gateway.watch(someone().caller.as_ref().unwrap());
    for uri in uris {
        assert!(house.gateway.is_readable(&someone(), uri).await, "{uri}");
        assert!(watch.add(Uri::parse(uri).unwrap()));
    }
    let mut known = house.look_out(config);
    within(known.wait_for(|known| *known == uris.len())).await.unwrap();
    watch
}

/// A minute is for ever; what comes too late has not come.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("not within a minute")
}

/// What is told next.
async fn told(watch: &Watch) -> Vec<String> {
    let show = |change: &Change| match change {
        Change::List => "the list".to_owned(),
        Change::Updated(uri) => uri.to_string(),
    };
    within(watch.next()).await.iter().map(show).collect()
}

async fn nothing_waits(watch: &Watch) {
    let next = tokio::time::timeout(Duration::ZERO, watch.next()).await;
    assert!(next.is_err(), "{next:?}");
}

/// How often the guest `ledger` was asked for versions.
fn asked(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("asked")).unwrap_or_default().lines().count()
}

/// Waits until it was asked anew, from a question that began after now.
async fn asked_anew(folder: &Path) {
    let before = asked(folder);
    within(async {
        while asked(folder) < before + 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Waits until it was asked about this URI.
async fn asked_about(folder: &Path, uri: &str) {
    within(async {
        while !std::fs::read_to_string(folder.join("asked")).unwrap_or_default().contains(uri) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_newer_version_is_told_once_and_what_vanished_too() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    std::fs::write(folder.path().join("b"), "1").unwrap();
    let house = granted(Plan::of("ledger"), "ledger", &folder, Access::Write).open().await;
    let uris = ["ledger:line/a", "ledger:line/b", "ledger:edition"];
    let watch = watching(&house, by_version(), &uris).await;

    std::fs::write(folder.path().join("a"), "2").unwrap();
    assert_eq!(told(&watch).await, ["ledger:line/a"]);
    std::fs::remove_file(folder.path().join("b")).unwrap();
    assert_eq!(told(&watch).await, ["ledger:line/b"]);
    std::fs::write(folder.path().join("b"), "1").unwrap();
    assert_eq!(told(&watch).await, ["ledger:line/b"]);
    asked_anew(folder.path()).await;
    nothing_waits(&watch).await;

    // One question for all that is watched.
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    let mut together: Vec<&str> = asked.lines().last().unwrap().split(' ').collect();
    together.sort_unstable();
    assert_eq!(together, ["ledger:edition", "ledger:line/a", "ledger:line/b"]);
    house.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn what_has_no_version_is_read_before_it_counts_as_gone() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let house = granted(Plan::of("ledger"), "ledger", &folder, Access::Write).open().await;
    let watch = watching(&house, by_version(), &["ledger:draft/a"]).await;

    std::fs::write(folder.path().join("a"), "2").unwrap();
    assert_eq!(told(&watch).await, ["ledger:draft/a"]);
    asked_anew(folder.path()).await;
    nothing_waits(&watch).await;
    std::fs::remove_file(folder.path().join("a")).unwrap();
    assert_eq!(told(&watch).await, ["ledger:draft/a"]);
    std::fs::write(folder.path().join("a"), "3").unwrap();
    assert_eq!(told(&watch).await, ["ledger:draft/a"]);
    house.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn nobody_is_asked_about_what_nobody_watches() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let house = granted(Plan::of("ledger dirs"), "ledger", &folder, Access::Write).open().await;
    let watch = watching(&house, by_version(), &["ledger:line/a"]).await;
    asked_anew(folder.path()).await;
    let all = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    assert!(all.lines().all(|line| line == "ledger:line/a"), "{all}");
    drop(watch);
    // It stops as soon as it is noticed that nobody watches any more: the count stands still.
    within(async {
        loop {
            let before = asked(folder.path());
            tokio::time::sleep(Duration::from_millis(500)).await;
            if asked(folder.path()) == before {
                return;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_provider_said_itself_is_not_told_again() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let mut house = granted(Plan::of("ledger"), "ledger", &folder, Access::Write).open().await;
    house.run();
    let watch = watching(&house, by_events(), &["ledger:line/a"]).await;
    let before = asked(folder.path());
    assert_eq!(house.text("ledger:write/a/2").await, "written");
    assert_eq!(told(&watch).await, ["ledger:line/a"]);
    // It was asked once more for what it holds now, and that is no news.
    within(async {
        while asked(folder.path()) == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    // Somebody else begins to watch: once that is known, so is the answer from before.
    assert!(watch.add(Uri::parse("ledger:line/b").unwrap()));
    asked_about(folder.path(), "ledger:line/b").await;
    nothing_waits(&watch).await;
    house.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn what_has_no_versions_is_read_again() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    std::fs::write(folder.path().join("b"), "1").unwrap();
    let house = granted(Plan::of("dirs"), "dirs", &folder, Access::Write).open().await;
    // A URI that only a template matches, and two of them.
    let uris = ["dirs://read?path=%2Fdata%2Fa", "dirs://read?path=%2Fdata%2Fb"];
    let watch = watching(&house, by_reading(), &uris).await;
    std::fs::write(folder.path().join("b"), "1").unwrap();
    std::fs::write(folder.path().join("a"), "2").unwrap();
    assert_eq!(told(&watch).await, [uris[0]]);
    std::fs::remove_file(folder.path().join("b")).unwrap();
    assert_eq!(told(&watch).await, [uris[1]]);
    nothing_waits(&watch).await;
    house.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_broken_provider_delays_nobody() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let plan = granted(Plan::of("ledger spin"), "ledger", &folder, Access::Write);
    let plan = plan.terms("spin", |grant, _| grant.limits.cpu_time = Duration::from_secs(30));
    let house = plan.terms("spin", |grant, _| grant.limits.timeout = Duration::from_secs(30)).open().await;
    let stuck = house.gateway.watch(someone().caller.as_ref().unwrap());
    assert!(stuck.add(Uri::parse("spin://forever").unwrap()));
    let watch = house.gateway.watch(someone().caller.as_ref().unwrap());
    assert!(watch.add(Uri::parse("ledger:line/a").unwrap()));
    let mut known = house.look_out(by_version());
    // One of the two is known while the other one still spins.
    within(known.wait_for(|known| *known == 1)).await.unwrap();
    std::fs::write(folder.path().join("a"), "2").unwrap();
    assert_eq!(told(&watch).await, ["ledger:line/a"]);
    assert_eq!(*known.borrow(), 1);
    nothing_waits(&stuck).await;
    house.drain.finish(Duration::from_millis(10)).await;
}

/// Another edition of a component: other bytes, which may say something else.
fn edition(house: &House, name: &str, old: &str, new: &str) {
    let mut bytes = std::fs::read(component("ledger")).unwrap();
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(old.as_bytes())).collect();
    assert!(!places.is_empty() && old.len() == new.len());
    for at in places {
        bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
    }
    // A custom section, so that the digest differs in any case.
    bytes.extend([0, 2, 1, b'x']);
    let path = house.folder.path();
    std::fs::write(path.join("new"), bytes).unwrap();
    std::fs::rename(path.join("new"), path.join(format!("{name}.wasm"))).unwrap();
}

#[tokio::test]
async fn a_reload_is_told_only_if_it_changed_the_answer() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let mut house = granted(Plan::of("ledger"), "ledger", &folder, Access::Write).open().await;
    let watch = watching(&house, by_events(), &["ledger:line/a", "ledger:edition"]).await;

    let before = asked(folder.path());
    edition(&house, "ledger", "edition one", "edition one");
    assert_eq!(house.reconcile().run_pass().await.replaced.len(), 1);
    within(async {
        while asked(folder.path()) == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;

    edition(&house, "ledger", "edition one", "edition two");
    assert_eq!(house.reconcile().run_pass().await.replaced.len(), 1);
    assert_eq!(told(&watch).await, ["ledger:edition"]);

    // Gone with its provider, told once, and told again when it is back.
    let file = house.folder.path().join("ledger.wasm");
    let away = house.folder.path().join("away");
    std::fs::rename(&file, &away).unwrap();
    house.reconcile().run_pass().await;
    assert_eq!(told_all(&watch, 2).await, ["ledger:edition", "ledger:line/a"]);
    house.reconcile().run_pass().await;
    std::fs::rename(&away, &file).unwrap();
    house.reconcile().run_pass().await;
    assert_eq!(told_all(&watch, 2).await, ["ledger:edition", "ledger:line/a"]);
    nothing_waits(&watch).await;
    house.drain.finish(Duration::from_secs(10)).await;
}

/// So many URIs, however they come.
async fn told_all(watch: &Watch, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    while all.len() < count {
        all.extend(told(watch).await);
    }
    all.sort();
    all
}

/// Passes over what else is told until this is.
async fn until_told(watch: &Watch, what: &str) {
    while !told(watch).await.iter().any(|told| told == what) {}
}

#[tokio::test]
async fn the_files_of_a_granted_folder_are_live() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    std::fs::write(folder.path().join("deep/a.txt"), "one").unwrap();
    let mut house = granted(Plan::of("files"), "files", &folder, Access::Read).open().await;
    house.run();
    let lists = house.gateway.watch(someone().caller.as_ref().unwrap());
    lists.watch_list(true);
    let watch = watching(&house, by_events(), &["file:///data/deep/a.txt", "file:///data/b.txt"]).await;

    // Soon after the watching began, more may be told than differs.
    // Before the folder is watched, a change may only be found by what is asked once it is.
    std::fs::write(folder.path().join("deep/a.txt"), "another text").unwrap();
    until_told(&watch, "file:///data/deep/a.txt").await;
    std::fs::write(folder.path().join("b.txt"), "new").unwrap();
    until_told(&watch, "file:///data/b.txt").await;
    within(async {
        while !house.uris().await.contains(&"file:///data/b.txt".to_owned()) {
            until_told(&lists, "the list").await;
        }
    })
    .await;
    std::fs::remove_file(folder.path().join("deep/a.txt")).unwrap();
    until_told(&watch, "file:///data/deep/a.txt").await;
    within(async {
        while house.uris().await.contains(&"file:///data/deep/a.txt".to_owned()) {
            until_told(&lists, "the list").await;
        }
    })
    .await;
    house.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_granted_folder_that_was_replaced_is_followed() {
    let parent = TempDir::new().unwrap();
    let inside = parent.path().join("inside");
    let make = |text: &str| {
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("a.txt"), text).unwrap();
    };
    make("one");
    let dir = Dir { host: inside.clone(), guest: "/data".into(), access: Access::Read, is_canonical: false };
    let house = Plan::of("files").terms("files", |grant, _| grant.dirs.push(dir)).open().await;
    let config = Config { version_interval: Duration::from_millis(20), read_interval: None };
    let watch = watching(&house, config, &["file:///data/a.txt"]).await;
    for text in ["a second one", "and a third one"] {
        std::fs::rename(&inside, parent.path().join(text)).unwrap();
        make(text);
        until_told(&watch, "file:///data/a.txt").await;
        within(async {
            while house.text("file:///data/a.txt").await != text {
                until_told(&watch, "file:///data/a.txt").await;
            }
        })
        .await;
    }
    house.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn ten_thousand_watched_uris_are_looked_after() {
    let folder = TempDir::new().unwrap();
    let house = granted(Plan::of("ledger"), "ledger", &folder, Access::Write).open().await;
    let watches: Vec<_> = (0..100).map(|_| house.gateway.watch(someone().caller.as_ref().unwrap())).collect();
    for n in 0..10_000 {
        assert!(watches[n % 100].add(Uri::parse(&format!("ledger:page/{n}")).unwrap()));
    }
    let mut known = house.look_out(by_version());
    within(known.wait_for(|known| *known == 10_000)).await.unwrap();
    std::fs::write(folder.path().join("page"), "7777").unwrap();
    assert_eq!(told(&watches[77]).await, ["ledger:page/7777"]);
    for watch in &watches {
        nothing_waits(watch).await;
    }
    house.drain.finish(Duration::from_secs(10)).await;
}
