//! List-changed notifications are sent for every change of a list, also if the host has only a part of the list. They
//! are sent for nothing else.

use std::path::Path;
use std::time::Duration;

use larder_core::catalog::{Change, Watch};
use larder_model::policy::{Access, Dir};
use tempfile::TempDir;

use crate::changes::change_detector::signals_only;
use crate::support::harness::{
    SLOW_WAIT, TestServer, TestServerBuilder, anonymous_call, component_path, eventually_within,
};

/// The folders that the guest `file_list` reads and writes.
struct RotaFolders {
    names: TempDir,
    log: TempDir,
}

impl RotaFolders {
    fn new(names: &str) -> Self {
        let folders = Self {
            names: TempDir::new().unwrap(),
            log: TempDir::new().unwrap(),
        };
        folders.write("names", names);
        folders
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.names.path().join(file), text).unwrap();
    }

    fn grant_to(&self, builder: TestServerBuilder) -> TestServerBuilder {
        let dir = |host: &Path, guest: &str, access| Dir {
            host: host.into(),
            guest: guest.into(),
            access,
            is_canonical: false,
        };
        builder.provider("file_list", |grant, _| {
            grant
                .dirs
                .push(dir(self.names.path(), "/file_list", Access::Read));
            grant.dirs.push(dir(self.log.path(), "/log", Access::Write));
        })
    }

    /// How often the guest was called for the first page of its list.
    fn list_calls(&self) -> usize {
        std::fs::read_to_string(self.log.path().join("asked"))
            .unwrap_or_default()
            .lines()
            .count()
    }

    async fn wait_for_list_calls_above(&self, count: usize) {
        eventually_within(SLOW_WAIT, "the guest lists again", async || {
            self.list_calls() > count
        })
        .await;
    }
}

fn watch_list(server: &TestServer) -> Watch {
    let watch = server
        .gateway
        .watch(anonymous_call().caller.as_ref().unwrap());
    watch.watch_list(true);
    watch
}

async fn expect_list_change(watch: &Watch) {
    let changes = tokio::time::timeout(SLOW_WAIT, watch.next())
        .await
        .expect("no list change in time");
    assert_eq!(changes, [Change::List]);
}

async fn expect_no_pending_change(watch: &Watch) {
    let next = tokio::time::timeout(Duration::ZERO, watch.next()).await;
    assert!(next.is_err(), "{next:?}");
}

/// Returns servers whose lists the host has only in part: a personal list, and a list longer than
/// `limits.catalog_entries`.
fn partly_visible_lists() -> [(RotaFolders, TestServerBuilder); 2] {
    let (first, second) = (RotaFolders::new("a\n"), RotaFolders::new("a\nb\nc\n"));
    let personal =
        first
            .grant_to(TestServer::builder("file_list"))
            .setting("file_list", "personal", "yes");
    let long = second
        .grant_to(TestServer::builder("file_list"))
        .provider("file_list", |grant, _| grant.limits.catalog_entries = 1);
    [(first, personal), (second, long)]
}

/// Replaces the component by another revision with the same behaviour.
fn replace_with_another_revision(server: &TestServer) {
    let mut bytes = std::fs::read(component_path("file_list")).unwrap();
    // An empty custom section.
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(server.plugins.join("new"), bytes).unwrap();
    std::fs::rename(
        server.plugins.join("new"),
        server.plugins.join("file_list.wasm"),
    )
    .unwrap();
}

#[tokio::test]
async fn forwards_every_change_signal_for_a_partly_visible_list() {
    for (_folders, builder) in partly_visible_lists() {
        let mut server = builder.start().await;
        server.run_reconciler();
        let watch = watch_list(&server);
        // The second signal follows so quickly that the rate limit delays it.
        for _ in 0..3 {
            assert_eq!(server.text("file-list://say").await, "file-list://say");
            expect_list_change(&watch).await;
        }
        expect_no_pending_change(&watch).await;
    }
}

#[tokio::test]
async fn a_new_revision_with_a_partly_visible_list_is_a_list_change() {
    for (_folders, builder) in partly_visible_lists() {
        let mut server = builder.start().await;
        let watch = watch_list(&server);
        replace_with_another_revision(&server);
        assert_eq!(server.reconciler().run_pass().await.replaced.len(), 1);
        expect_list_change(&watch).await;
        server.reconciler().run_pass().await;
        expect_no_pending_change(&watch).await;
    }
    let folders = RotaFolders::new("a\n");
    let mut server = folders
        .grant_to(TestServer::builder("file_list"))
        .start()
        .await;
    let watch = watch_list(&server);
    replace_with_another_revision(&server);
    assert_eq!(server.reconciler().run_pass().await.replaced.len(), 1);
    expect_no_pending_change(&watch).await;
}

#[tokio::test]
async fn retries_a_failed_list_refresh() {
    let folders = RotaFolders::new("a\n");
    let mut server = folders
        .grant_to(TestServer::builder("file_list"))
        .start()
        .await;
    server.run_reconciler();
    let watch = watch_list(&server);
    folders.write("shut", "");
    folders.write("names", "a\nb\n");
    let before = folders.list_calls();
    server.text("file-list://say").await;
    // The host retries more than once, although the provider sends no further signal.
    folders.wait_for_list_calls_above(before + 1).await;
    assert_eq!(
        server.uris().await,
        ["file-list://a"],
        "the previous list stays"
    );
    std::fs::remove_file(folders.names.path().join("shut")).unwrap();
    expect_list_change(&watch).await;
    assert_eq!(server.uris().await, ["file-list://a", "file-list://b"]);
}

#[tokio::test]
async fn lists_a_provider_again_that_joins_a_watched_folder() {
    let folders = RotaFolders::new("a\n");
    let builder = folders.grant_to(TestServer::builder("files"));
    let dir = Dir {
        host: folders.names.path().into(),
        guest: "/data".into(),
        access: Access::Read,
        is_canonical: false,
    };
    let mut server = builder
        .provider("files", |grant, _| grant.dirs.push(dir))
        .start()
        .await;
    server.start_change_detector(signals_only());
    let watch = watch_list(&server);
    server.run_reconciler();
    // The first change shows that the folder is watched.
    folders.write("other", "");
    expect_list_change(&watch).await;
    std::fs::copy(
        component_path("file_list"),
        server.plugins.join("file_list.wasm"),
    )
    .unwrap();
    // The guest lists once when it is loaded. It lists again because the folder may have changed before it was
    // published.
    folders.wait_for_list_calls_above(1).await;
}

#[tokio::test]
async fn a_provider_without_visible_entries_changes_no_list() {
    let mut server = TestServer::builder("echo").start().await;
    let watch = watch_list(&server);
    let add = |server: &TestServer, guest: &str, name: &str| {
        std::fs::copy(component_path(guest), server.plugins.join(name)).unwrap();
    };
    // A provider without entries, and a provider whose entries all belong to another provider.
    add(&server, "nothing", "nothing.wasm");
    add(&server, "echo", "later.wasm");
    assert_eq!(server.reconciler().run_pass().await.loaded.len(), 2);
    expect_no_pending_change(&watch).await;
    for name in ["nothing.wasm", "later.wasm"] {
        std::fs::remove_file(server.plugins.join(name)).unwrap();
    }
    assert_eq!(server.reconciler().run_pass().await.removed.len(), 2);
    expect_no_pending_change(&watch).await;
    // A provider with entries of its own does change the list.
    add(&server, "full", "full.wasm");
    server.reconciler().run_pass().await;
    expect_list_change(&watch).await;
}
