//! Several replicas of a server, with real change detectors and reconcilers, on a bus in this process: one replica
//! polls, all replicas notify their listeners, and no change is lost when messages or replicas are lost.

mod bus;

use std::path::{Path, PathBuf};
use std::time::Duration;

use larder_core::catalog::{Change, Watch};
use larder_core::change_detector::Config;
use larder_core::replicas::ReplicaEvent;
use larder_model::policy::{Access, Dir};
use tempfile::TempDir;

use self::bus::Bus;
use crate::changes::change_detector::signals_only;
use crate::support::harness::{
    SLOW_WAIT, TestServer, TestServerBuilder, anonymous_call, eventually_within, parse_uri,
};

/// Changes are found by polling versions only.
fn versions_only() -> Config {
    Config {
        version_interval: Duration::from_millis(20),
        read_interval: None,
    }
}

/// A replica, and a client that watches some URIs on this replica.
struct Replica {
    server: TestServer,
    watch: Watch,
    /// The folder that the provider of the replica reads. It belongs to the replica, or is shared.
    folder: PathBuf,
}

impl Replica {
    async fn start(builder: TestServerBuilder, bus: &Bus, config: Config, uris: &[&str]) -> Self {
        let mut server = builder.replicas(bus.join()).start().await;
        server.run_reconciler();
        let watch = server
            .gateway
            .watch(anonymous_call().caller.as_ref().unwrap());
        uris.iter()
            .for_each(|uri| assert!(watch.add(parse_uri(uri))));
        let known = server.start_change_detector(config);
        eventually_within(SLOW_WAIT, "the content is known", async || {
            *known.borrow() == uris.len()
        })
        .await;
        Self {
            server,
            watch,
            folder: PathBuf::new(),
        }
    }

    /// A replica with the provider `versioned_files`, which reads this folder. File events in the folder are not used.
    async fn with_ledger(folder: &Path, bus: &Bus, config: Config, uris: &[&str]) -> Self {
        let (host, access) = (folder.to_owned(), Access::Write);
        let dir = Dir {
            host,
            guest: "/data".into(),
            access,
            is_canonical: false,
        };
        let builder = TestServer::builder("versioned_files")
            .provider("versioned_files", |grant, _| grant.dirs.push(dir));
        let replica = Self::start(builder, bus, config, uris).await;
        Self {
            folder: folder.to_owned(),
            ..replica
        }
    }

    fn write(&self, file: &str, text: &str) {
        // The file is renamed, so that no reader finds an empty file.
        let new = self.folder.join(format!(".{file}"));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.folder.join(file)).unwrap();
    }

    /// The number of calls of the provider for versions.
    fn version_calls(&self) -> usize {
        std::fs::read_to_string(self.folder.join("asked"))
            .unwrap_or_default()
            .lines()
            .count()
    }

    /// Waits for the next changes.
    async fn changes(&self) -> Vec<Change> {
        let changes = tokio::time::timeout(SLOW_WAIT, self.watch.next()).await;
        changes.expect("no change in time")
    }

    async fn expect_update(&self, uri: &str) {
        assert_eq!(self.changes().await, [Change::Updated(parse_uri(uri))]);
    }

    fn expect_nothing(&self) {
        assert_eq!(self.watch.take(), []);
    }
}

/// Starts three replicas that watch these URIs. Each replica has a folder of its own with the file `a`.
async fn three_with_folders(bus: &Bus, uris: &[&str]) -> (Vec<Replica>, Vec<TempDir>) {
    let folders: Vec<_> = (0..3).map(|_| TempDir::new().unwrap()).collect();
    let mut replicas = Vec::new();
    for folder in &folders {
        std::fs::write(folder.path().join("a"), "1").unwrap();
        replicas.push(Replica::with_ledger(folder.path(), bus, versions_only(), uris).await);
    }
    (replicas, folders)
}

/// Waits until all replicas offer to poll a URI. Returns the replica that polls it.
async fn wait_for_poller(bus: &Bus, uri: &str, replicas: usize) -> usize {
    let uri = parse_uri(uri);
    eventually_within(SLOW_WAIT, "all offer to poll", async || {
        bus.poller(&uri).1 == replicas
    })
    .await;
    bus.poller(&uri).0.unwrap()
}

/// Waits until the poller has polled several times, and then for the last checks of the other replicas.
async fn wait_for_polls(poller: &Replica) {
    let before = poller.version_calls();
    eventually_within(SLOW_WAIT, "five polls", async || {
        poller.version_calls() > before + 5
    })
    .await;
}

#[tokio::test]
async fn one_replica_polls_and_all_notify_once() {
    let bus = Bus::reliable();
    let (replicas, _folders) = three_with_folders(&bus, &["versioned-files:line/a"]).await;
    let poller = wait_for_poller(&bus, "versioned-files:line/a", 3).await;
    // A poll that was already due may still run.
    wait_for_polls(&replicas[poller]).await;
    let calls = |replicas: &[Replica]| {
        replicas
            .iter()
            .map(Replica::version_calls)
            .collect::<Vec<_>>()
    };
    let before = calls(&replicas);
    wait_for_polls(&replicas[poller]).await;
    let after = calls(&replicas);
    for at in (0..3).filter(|at| *at != poller) {
        assert_eq!(
            after[at], before[at],
            "replica {at} polls although {poller} does"
        );
    }

    for text in ["2", "3"] {
        replicas.iter().for_each(|replica| replica.write("a", text));
        for replica in &replicas {
            replica.expect_update("versioned-files:line/a").await;
        }
    }
    wait_for_polls(&replicas[poller]).await;
    replicas.iter().for_each(Replica::expect_nothing);
    // The poller reported the change once, and no replica answered.
    let told = bus.published();
    let versions = told
        .iter()
        .filter(|(_, event)| format!("{event:?}").contains(r#"Some("3")"#));
    assert_eq!(
        versions.map(|(at, _)| *at).collect::<Vec<_>>(),
        [poller],
        "{told:?}"
    );
}

#[tokio::test]
async fn a_replica_that_sees_the_content_later_notifies_when_it_does() {
    let bus = Bus::reliable();
    let (replicas, _folders) = three_with_folders(&bus, &["versioned-files:line/a"]).await;
    let poller = wait_for_poller(&bus, "versioned-files:line/a", 3).await;
    let late: Vec<_> = (0..3).filter(|at| *at != poller).collect();
    let before: Vec<_> = late
        .iter()
        .map(|at| replicas[*at].version_calls())
        .collect();
    replicas[poller].write("a", "2");
    replicas[poller]
        .expect_update("versioned-files:line/a")
        .await;
    for (at, before) in late.iter().zip(before) {
        let looked = async || replicas[*at].version_calls() > before;
        eventually_within(SLOW_WAIT, "the others look for it", looked).await;
        // A client would still read the old content.
        replicas[*at].expect_nothing();
    }
    for at in late {
        replicas[at].write("a", "2");
        replicas[at].expect_update("versioned-files:line/a").await;
    }
}

#[tokio::test]
async fn a_replica_whose_provider_fails_is_not_the_poller() {
    let bus = Bus::reliable();
    let (replicas, _folders) = three_with_folders(&bus, &["versioned-files:line/a"]).await;
    let poller = wait_for_poller(&bus, "versioned-files:line/a", 3).await;
    // The provider cannot write its log any more.
    let log = replicas[poller].folder.join("asked");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    let uri = parse_uri("versioned-files:line/a");
    eventually_within(SLOW_WAIT, "another one polls", async || {
        bus.poller(&uri).0.is_some_and(|at| at != poller)
    })
    .await;
    replicas.iter().for_each(|replica| replica.write("a", "2"));
    for at in (0..3).filter(|at| *at != poller) {
        replicas[at].expect_update("versioned-files:line/a").await;
    }
    replicas[poller].expect_nothing();
    std::fs::remove_dir(&log).unwrap();
    replicas[poller]
        .expect_update("versioned-files:line/a")
        .await;
}

#[tokio::test]
async fn signals_cross_replicas_and_drop_cached_responses() {
    let bus = Bus::reliable();
    let mut replicas = Vec::new();
    for uris in [
        &["fresh://everyone/3600000/0/a"][..],
        &["fresh://everyone/3600000/0/a"],
        &[],
    ] {
        replicas
            .push(Replica::start(TestServer::builder("fresh"), &bus, signals_only(), uris).await);
    }
    let uri = "fresh://everyone/3600000/0/a";
    let mut cached = Vec::new();
    for replica in &replicas {
        let text = replica.server.text(uri).await;
        assert_eq!(replica.server.text(uri).await, text, "it is cached");
        cached.push(text);
    }
    replicas[0]
        .server
        .text(&format!("fresh://everyone/0/0/touch/{uri}"))
        .await;
    for replica in &replicas[..2] {
        replica.expect_update(uri).await;
    }
    for (replica, cached) in replicas.iter().zip(&cached) {
        // The last replica watches nothing, so it is unknown when the message has arrived there.
        let changed = async || replica.server.text(uri).await != *cached;
        eventually_within(SLOW_WAIT, "another response", changed).await;
    }
    let signals = bus
        .published()
        .iter()
        .filter(|(_, event)| matches!(event, ReplicaEvent::Signalled { .. }))
        .count();
    assert_eq!(signals, 1, "nobody repeats a signal");
}

#[tokio::test]
async fn list_changes_cross_replicas() {
    let bus = Bus::reliable();
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let mut replicas = Vec::new();
    for personal in [false, true].repeat(2) {
        std::fs::write(folders[0].path().join("names"), "a\n").unwrap();
        let dir = |folder: &TempDir, guest: &str| Dir {
            host: folder.path().into(),
            guest: guest.into(),
            // A writable folder has no events.
            access: Access::Write,
            is_canonical: false,
        };
        let dirs = [dir(&folders[0], "/file_list"), dir(&folders[1], "/log")];
        let name = if personal { "personal" } else { "file_list" };
        let builder = TestServer::builder(&format!("{name}@file_list"));
        let builder = builder.provider(name, |grant, _| grant.dirs.extend(dirs));
        let builder = if personal {
            builder.setting(name, "personal", "yes")
        } else {
            builder
        };
        replicas.push(Replica::start(builder, &bus, signals_only(), &[]).await);
    }
    replicas
        .iter()
        .for_each(|replica| replica.watch.watch_list(true));
    std::fs::write(folders[0].path().join("names"), "a\nb\n").unwrap();
    replicas[0].server.text("file-list://say").await;
    for at in [0, 2] {
        assert_eq!(replicas[at].changes().await, [Change::List]);
        assert_eq!(
            replicas[at].server.uris().await,
            ["file-list://a", "file-list://b"]
        );
    }
    // A change of a personal list cannot be found by comparing.
    replicas[1].server.text("file-list://say").await;
    for at in [1, 3] {
        assert_eq!(replicas[at].changes().await, [Change::List]);
    }
    let told = bus.published().len();
    assert_eq!(told, 2, "nobody repeats a report: {:?}", bus.published());
}

const URIS: [&str; 3] = [
    "versioned-files:line/a",
    "versioned-files:line/b",
    "versioned-files:line/c",
];

/// A client of a replica. It reads each resource of which it is notified.
struct Reader {
    replica: Replica,
    /// The number of the replica at the bus.
    member: usize,
    seen: [String; 3],
}

impl Reader {
    async fn start(folder: &Path, bus: &Bus, member: usize) -> Self {
        let replica = Replica::with_ledger(folder, bus, versions_only(), &URIS).await;
        let mut seen = [const { String::new() }; 3];
        for (seen, uri) in seen.iter_mut().zip(URIS) {
            *seen = replica.server.text(uri).await;
        }
        Self {
            replica,
            member,
            seen,
        }
    }

    async fn follow(&mut self) {
        for change in self.replica.watch.take() {
            let Change::Updated(uri) = change else {
                panic!("{change:?}")
            };
            let at = URIS
                .iter()
                .position(|other| *other == uri.as_str())
                .unwrap();
            self.seen[at] = self.replica.server.text(URIS[at]).await;
        }
    }
}

/// Changes files of a common folder while messages are late, lost, repeated and reordered and replicas stop.
async fn change_under_faults(folder: &Path, bus: &Bus) -> Vec<Reader> {
    let mut readers = Vec::new();
    for member in 0..3 {
        readers.push(Reader::start(folder, bus, member).await);
    }
    let mut number = 0;
    for member in 3..6 {
        for file in ["a", "b", "c", "a", "b", "a"].repeat(3) {
            number += 1;
            readers[0].replica.write(file, &number.to_string());
            // Sometimes a change is found before the next one, and sometimes not.
            tokio::time::sleep(Duration::from_millis(7 * (number % 5))).await;
            for reader in &mut readers {
                reader.follow().await;
            }
        }
        let stopped = readers.remove(0);
        stopped.replica.write("c", &format!("the last of {member}"));
        bus.lose(stopped.member);
        stopped
            .replica
            .server
            .drain
            .finish(Duration::from_secs(10))
            .await;
        readers.push(Reader::start(folder, bus, member).await);
    }
    readers
}

#[tokio::test]
async fn every_client_ends_with_the_latest_content() {
    for seed in [1, 20, 300, 4_000] {
        let (bus, folder) = (Bus::faulty(seed), TempDir::new().unwrap());
        for file in ["a", "b", "c"] {
            std::fs::write(folder.path().join(file), "0").unwrap();
        }
        let mut readers = change_under_faults(folder.path(), &bus).await;
        bus.repair();
        let latest =
            ["a", "b", "c"].map(|file| std::fs::read_to_string(folder.path().join(file)).unwrap());
        eventually_within(
            SLOW_WAIT,
            &format!("all clients have read {latest:?} (seed {seed})"),
            async || {
                for reader in &mut readers {
                    reader.follow().await;
                }
                readers.iter().all(|reader| reader.seen == latest)
            },
        )
        .await;
        // No replica reports a change any more.
        wait_for_polls(&readers[0].replica).await;
        let told = bus.published().len();
        wait_for_polls(&readers[0].replica).await;
        assert_eq!(bus.published().len(), told, "{:?}", bus.published());
        readers
            .iter()
            .for_each(|reader| reader.replica.expect_nothing());
    }
}
