//! Changed content is reported to watchers, by each way of detecting changes. Unchanged content is not reported.

use std::path::Path;
use std::time::Duration;

use larder_core::catalog::{Change, Watch};
use larder_core::change_detector::Config;
use larder_model::policy::{Access, Dir};
use larder_model::uri::Uri;
use tempfile::TempDir;

use crate::support::harness::{
    TestServer, TestServerBuilder, anonymous_call, component_path, eventually,
};

const NEVER: Duration = Duration::from_secs(3_600);

/// Each configuration enables one way to detect changes, with a short interval, and disables the others.
fn versions_only() -> Config {
    Config {
        version_interval: Duration::from_millis(20),
        read_interval: None,
    }
}

pub(crate) fn reads_only() -> Config {
    Config {
        version_interval: NEVER,
        read_interval: Some(Duration::from_millis(20)),
    }
}

pub(crate) fn signals_only() -> Config {
    Config {
        version_interval: NEVER,
        read_interval: None,
    }
}

fn granted(
    plan: TestServerBuilder,
    provider: &str,
    folder: &TempDir,
    access: Access,
) -> TestServerBuilder {
    let dir = Dir {
        host: folder.path().into(),
        guest: "/data".into(),
        access,
        is_canonical: false,
    };
    plan.provider(provider, |grant, _| grant.dirs.push(dir))
}

/// Watches these URIs, and waits until the change detector knows the content of all of them.
pub(crate) async fn watch_uris(server: &TestServer, config: Config, uris: &[&str]) -> Watch {
    let watch = server
        .gateway
        .watch(anonymous_call().caller.as_ref().unwrap());
    for uri in uris {
        let uri = Uri::parse(uri).unwrap();
        assert!(
            server.gateway.is_readable(&anonymous_call(), &uri).await,
            "{uri}"
        );
        assert!(watch.add(uri));
    }
    let mut known = server.start_change_detector(config);
    within(known.wait_for(|known| *known == uris.len()))
        .await
        .unwrap();
    watch
}

/// Waits for a future, and fails after a minute.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("not within a minute")
}

/// Waits for the next changes.
pub(crate) async fn next_changes(watch: &Watch) -> Vec<String> {
    let show = |change: &Change| match change {
        Change::List => "the list".to_owned(),
        Change::Tools | Change::Prompts => panic!("nothing offers tools or prompts"),
        Change::Updated(uri) => uri.to_string(),
    };
    within(watch.next()).await.iter().map(show).collect()
}

async fn no_pending_changes(watch: &Watch) {
    let next = tokio::time::timeout(Duration::ZERO, watch.next()).await;
    assert!(next.is_err(), "{next:?}");
}

/// The number of calls of the guest `versioned_files` for versions. The guest logs each call to a file.
fn version_calls(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("asked"))
        .unwrap_or_default()
        .lines()
        .count()
}

/// Waits for a call for versions that started after this one.
async fn wait_for_version_calls(folder: &Path) {
    // The first of the two calls may have started already.
    let before = version_calls(folder);
    eventually("two more calls for versions", async || {
        version_calls(folder) >= before + 2
    })
    .await;
}

/// Waits for a call for the version of this URI.
async fn wait_for_version_call_about(folder: &Path, uri: &str) {
    let log = || std::fs::read_to_string(folder.join("asked")).unwrap_or_default();
    eventually(&format!("a call for the version of {uri}"), async || {
        log().contains(uri)
    })
    .await;
}

#[tokio::test]
async fn reports_a_changed_or_removed_version_once() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    std::fs::write(folder.path().join("b"), "1").unwrap();
    let server = granted(
        TestServer::builder("versioned_files"),
        "versioned_files",
        &folder,
        Access::Write,
    )
    .start()
    .await;
    let uris = [
        "versioned-files:line/a",
        "versioned-files:line/b",
        "versioned-files:edition",
    ];
    let watch = watch_uris(&server, versions_only(), &uris).await;

    std::fs::write(folder.path().join("a"), "2").unwrap();
    assert_eq!(next_changes(&watch).await, ["versioned-files:line/a"]);
    std::fs::remove_file(folder.path().join("b")).unwrap();
    assert_eq!(next_changes(&watch).await, ["versioned-files:line/b"]);
    std::fs::write(folder.path().join("b"), "1").unwrap();
    assert_eq!(next_changes(&watch).await, ["versioned-files:line/b"]);
    wait_for_version_calls(folder.path()).await;
    no_pending_changes(&watch).await;

    // One call requests the versions of all watched URIs.
    let log = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    let mut together: Vec<&str> = log.lines().last().unwrap().split(' ').collect();
    together.sort_unstable();
    assert_eq!(
        together,
        [
            "versioned-files:edition",
            "versioned-files:line/a",
            "versioned-files:line/b"
        ]
    );
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn reads_a_resource_without_a_version_before_reporting_it_as_removed() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let server = granted(
        TestServer::builder("versioned_files"),
        "versioned_files",
        &folder,
        Access::Write,
    )
    .start()
    .await;
    let watch = watch_uris(&server, versions_only(), &["versioned-files:draft/a"]).await;

    std::fs::write(folder.path().join("a"), "2").unwrap();
    assert_eq!(next_changes(&watch).await, ["versioned-files:draft/a"]);
    wait_for_version_calls(folder.path()).await;
    no_pending_changes(&watch).await;
    std::fs::remove_file(folder.path().join("a")).unwrap();
    assert_eq!(next_changes(&watch).await, ["versioned-files:draft/a"]);
    std::fs::write(folder.path().join("a"), "3").unwrap();
    assert_eq!(next_changes(&watch).await, ["versioned-files:draft/a"]);
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn does_not_ask_for_versions_of_unwatched_uris() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let server = granted(
        TestServer::builder("versioned_files dirs"),
        "versioned_files",
        &folder,
        Access::Write,
    )
    .start()
    .await;
    let watch = watch_uris(&server, versions_only(), &["versioned-files:line/a"]).await;
    wait_for_version_calls(folder.path()).await;
    let all = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    assert!(
        all.lines().all(|line| line == "versioned-files:line/a"),
        "{all}"
    );
    drop(watch);
    // The calls stop when the detector finds out that no watcher is left.
    eventually("the calls for versions stop", async || {
        let before = version_calls(folder.path());
        tokio::time::sleep(Duration::from_millis(500)).await;
        version_calls(folder.path()) == before
    })
    .await;
}

#[tokio::test]
async fn does_not_report_again_what_the_provider_has_signalled() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let mut server = granted(
        TestServer::builder("versioned_files"),
        "versioned_files",
        &folder,
        Access::Write,
    )
    .start()
    .await;
    server.run_reconciler();
    let watch = watch_uris(&server, signals_only(), &["versioned-files:line/a"]).await;
    let before = version_calls(folder.path());
    assert_eq!(server.text("versioned-files:write/a/2").await, "written");
    assert_eq!(next_changes(&watch).await, ["versioned-files:line/a"]);
    // The detector requests the version once more, and does not report the same change again.
    eventually("a call for versions", async || {
        version_calls(folder.path()) > before
    })
    .await;
    // Another URI is watched: when its version was requested, the earlier result has been processed.
    assert!(watch.add(Uri::parse("versioned-files:line/b").unwrap()));
    wait_for_version_call_about(folder.path(), "versioned-files:line/b").await;
    no_pending_changes(&watch).await;
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn detects_changes_by_reading_if_there_are_no_versions() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    std::fs::write(folder.path().join("b"), "1").unwrap();
    let server = granted(TestServer::builder("dirs"), "dirs", &folder, Access::Write)
        .start()
        .await;
    // Two URIs that only a template matches.
    let uris = [
        "dirs://read?path=%2Fdata%2Fa",
        "dirs://read?path=%2Fdata%2Fb",
    ];
    let watch = watch_uris(&server, reads_only(), &uris).await;
    std::fs::write(folder.path().join("b"), "1").unwrap();
    std::fs::write(folder.path().join("a"), "2").unwrap();
    assert_eq!(next_changes(&watch).await, [uris[0]]);
    std::fs::remove_file(folder.path().join("b")).unwrap();
    assert_eq!(next_changes(&watch).await, [uris[1]]);
    no_pending_changes(&watch).await;
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_provider_that_hangs_does_not_delay_others() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let plan = granted(
        TestServer::builder("versioned_files spin"),
        "versioned_files",
        &folder,
        Access::Write,
    );
    let plan = plan.provider("spin", |grant, _| {
        grant.limits.cpu_time = Duration::from_secs(30)
    });
    let server = plan
        .provider("spin", |grant, _| {
            grant.limits.timeout = Duration::from_secs(30)
        })
        .start()
        .await;
    let stuck = server
        .gateway
        .watch(anonymous_call().caller.as_ref().unwrap());
    assert!(stuck.add(Uri::parse("spin://forever").unwrap()));
    let watch = server
        .gateway
        .watch(anonymous_call().caller.as_ref().unwrap());
    assert!(watch.add(Uri::parse("versioned-files:line/a").unwrap()));
    let mut known = server.start_change_detector(versions_only());
    // The content of one URI is known while the other provider still spins.
    within(known.wait_for(|known| *known == 1)).await.unwrap();
    std::fs::write(folder.path().join("a"), "2").unwrap();
    assert_eq!(next_changes(&watch).await, ["versioned-files:line/a"]);
    assert_eq!(*known.borrow(), 1);
    no_pending_changes(&stuck).await;
    server.drain.finish(Duration::from_millis(10)).await;
}

/// Replaces the component with another revision in which the text `old` is `new`.
fn replace_component(server: &TestServer, name: &str, old: &str, new: &str) {
    let mut bytes = std::fs::read(component_path("versioned_files")).unwrap();
    let matches: Vec<_> = (0..bytes.len())
        .filter(|at| bytes[*at..].starts_with(old.as_bytes()))
        .collect();
    assert!(!matches.is_empty() && old.len() == new.len());
    for at in matches {
        bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
    }
    // A custom section makes the digest differ even if the texts are equal.
    bytes.extend([0, 2, 1, b'x']);
    let path = server.folder.path();
    std::fs::write(path.join("new"), bytes).unwrap();
    std::fs::rename(path.join("new"), path.join(format!("{name}.wasm"))).unwrap();
}

#[tokio::test]
async fn a_new_revision_is_reported_only_if_the_content_changed() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "1").unwrap();
    let mut server = granted(
        TestServer::builder("versioned_files"),
        "versioned_files",
        &folder,
        Access::Write,
    )
    .start()
    .await;
    let watch = watch_uris(
        &server,
        signals_only(),
        &["versioned-files:line/a", "versioned-files:edition"],
    )
    .await;

    let before = version_calls(folder.path());
    replace_component(&server, "versioned_files", "edition one", "edition one");
    assert_eq!(server.reconciler().run_pass().await.replaced.len(), 1);
    eventually("a call for versions", async || {
        version_calls(folder.path()) > before
    })
    .await;

    replace_component(&server, "versioned_files", "edition one", "edition two");
    assert_eq!(server.reconciler().run_pass().await.replaced.len(), 1);
    assert_eq!(next_changes(&watch).await, ["versioned-files:edition"]);

    // The resources are reported when their provider is removed, and again when it is served again.
    let file = server.folder.path().join("versioned_files.wasm");
    let away = server.folder.path().join("away");
    std::fs::rename(&file, &away).unwrap();
    server.reconciler().run_pass().await;
    assert_eq!(
        next_sorted_changes(&watch, 2).await,
        ["versioned-files:edition", "versioned-files:line/a"]
    );
    server.reconciler().run_pass().await;
    std::fs::rename(&away, &file).unwrap();
    server.reconciler().run_pass().await;
    assert_eq!(
        next_sorted_changes(&watch, 2).await,
        ["versioned-files:edition", "versioned-files:line/a"]
    );
    no_pending_changes(&watch).await;
    server.drain.finish(Duration::from_secs(10)).await;
}

/// Waits for this many changes, in any number of batches, and sorts them.
async fn next_sorted_changes(watch: &Watch, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    while all.len() < count {
        all.extend(next_changes(watch).await);
    }
    all.sort();
    all
}

/// Waits for this change, and ignores other changes.
async fn wait_for_change(watch: &Watch, expected: &str) {
    within(async {
        while !next_changes(watch)
            .await
            .iter()
            .any(|change| change == expected)
        {}
    })
    .await;
}

#[tokio::test]
async fn reports_changed_files_of_a_granted_folder() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    std::fs::write(folder.path().join("deep/a.txt"), "one").unwrap();
    let mut server = granted(TestServer::builder("files"), "files", &folder, Access::Read)
        .start()
        .await;
    server.run_reconciler();
    let lists = server
        .gateway
        .watch(anonymous_call().caller.as_ref().unwrap());
    lists.watch_list(true);
    let watch = watch_uris(
        &server,
        signals_only(),
        &["file:///data/deep/a.txt", "file:///data/b.txt"],
    )
    .await;

    // Shortly after the watch began, unchanged resources may be reported too. A change before the folder watch is set
    // up is found by the check after the setup.
    std::fs::write(folder.path().join("deep/a.txt"), "another text").unwrap();
    wait_for_change(&watch, "file:///data/deep/a.txt").await;
    std::fs::write(folder.path().join("b.txt"), "new").unwrap();
    wait_for_change(&watch, "file:///data/b.txt").await;
    within(async {
        while !server
            .uris()
            .await
            .contains(&"file:///data/b.txt".to_owned())
        {
            wait_for_change(&lists, "the list").await;
        }
    })
    .await;
    std::fs::remove_file(folder.path().join("deep/a.txt")).unwrap();
    wait_for_change(&watch, "file:///data/deep/a.txt").await;
    within(async {
        while server
            .uris()
            .await
            .contains(&"file:///data/deep/a.txt".to_owned())
        {
            wait_for_change(&lists, "the list").await;
        }
    })
    .await;
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn follows_a_granted_folder_that_was_replaced() {
    let parent = TempDir::new().unwrap();
    let inside = parent.path().join("inside");
    let make = |text: &str| {
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("a.txt"), text).unwrap();
    };
    make("one");
    let dir = Dir {
        host: inside.clone(),
        guest: "/data".into(),
        access: Access::Read,
        is_canonical: false,
    };
    let server = TestServer::builder("files")
        .provider("files", |grant, _| grant.dirs.push(dir))
        .start()
        .await;
    let config = Config {
        version_interval: Duration::from_millis(20),
        read_interval: None,
    };
    let watch = watch_uris(&server, config, &["file:///data/a.txt"]).await;
    for text in ["a second one", "and a third one"] {
        std::fs::rename(&inside, parent.path().join(text)).unwrap();
        make(text);
        wait_for_change(&watch, "file:///data/a.txt").await;
        within(async {
            while server.text("file:///data/a.txt").await != text {
                wait_for_change(&watch, "file:///data/a.txt").await;
            }
        })
        .await;
    }
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn reports_a_granted_folder_that_is_too_large_to_watch() {
    let parent = TempDir::new().unwrap();
    let inside = parent.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    for number in 0..=100_000 {
        std::fs::write(inside.join(number.to_string()), "").unwrap();
    }
    let dir = Dir {
        host: inside.clone(),
        guest: "/data".into(),
        access: Access::Read,
        is_canonical: false,
    };
    let server = TestServer::builder("echo")
        .provider("echo", |grant, _| grant.dirs.push(dir))
        .start()
        .await;
    server.start_change_detector(versions_only());
    let is_reported = || {
        let problems = server.health.problems();
        problems
            .iter()
            .any(|it| it.message.contains("too large") && it.message.contains("inside"))
    };
    eventually("the problem", async || is_reported()).await;
    std::fs::remove_dir_all(&inside).unwrap();
    eventually("the end of the problem", async || !is_reported()).await;
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn checks_ten_thousand_watched_uris() {
    let folder = TempDir::new().unwrap();
    let server = granted(
        TestServer::builder("versioned_files"),
        "versioned_files",
        &folder,
        Access::Write,
    )
    .start()
    .await;
    let watches: Vec<_> = (0..100)
        .map(|_| {
            server
                .gateway
                .watch(anonymous_call().caller.as_ref().unwrap())
        })
        .collect();
    for n in 0..10_000 {
        assert!(watches[n % 100].add(Uri::parse(&format!("versioned-files:page/{n}")).unwrap()));
    }
    // With a shorter interval, all time would be spent on finding due checks.
    let interval = Duration::from_millis(500);
    let mut known = server.start_change_detector(Config {
        version_interval: interval,
        ..versions_only()
    });
    within(known.wait_for(|known| *known == 10_000))
        .await
        .unwrap();
    std::fs::write(folder.path().join("page"), "7777").unwrap();
    assert_eq!(
        next_changes(&watches[77]).await,
        ["versioned-files:page/7777"]
    );
    for watch in &watches {
        no_pending_changes(watch).await;
    }
    server.drain.finish(Duration::from_secs(10)).await;
}
