//! A list that differs is told, however it came to differ and whatever the host is shown of it; one that does not is not.

use std::path::Path;
use std::time::Duration;

use larder_core::catalog::{Change, Watch};
use larder_model::policy::{Access, Dir};
use tempfile::TempDir;

use crate::change_detector::by_events;
use crate::house::{House, Plan, component, someone};

/// What the guest `rota` reads and writes.
struct Desk {
    names: TempDir,
    log: TempDir,
}

impl Desk {
    fn with(names: &str) -> Self {
        let desk = Self { names: TempDir::new().unwrap(), log: TempDir::new().unwrap() };
        desk.write("names", names);
        desk
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.names.path().join(file), text).unwrap();
    }

    fn granted(&self, plan: Plan) -> Plan {
        let dir = |host: &Path, guest: &str, access| Dir {
            host: host.into(),
            guest: guest.into(),
            access,
            is_canonical: false,
        };
        plan.terms("rota", |grant, _| {
            grant.dirs.push(dir(self.names.path(), "/rota", Access::Read));
            grant.dirs.push(dir(self.log.path(), "/log", Access::Write));
        })
    }

    /// How often it was asked for its list.
    fn asked(&self) -> usize {
        std::fs::read_to_string(self.log.path().join("asked")).unwrap_or_default().lines().count()
    }

    async fn asked_more_than(&self, times: usize) {
        within(async {
            while self.asked() <= times {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

/// A minute is for ever; what comes too late has not come.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("not within a minute")
}

fn watching(house: &House) -> Watch {
    let watch = house.gateway.watch(someone().caller.as_ref().unwrap());
    watch.watch_list(true);
    watch
}

async fn told(watch: &Watch) {
    assert_eq!(within(watch.next()).await, [Change::List]);
}

async fn nothing_waits(watch: &Watch) {
    let next = tokio::time::timeout(Duration::ZERO, watch.next()).await;
    assert!(next.is_err(), "{next:?}");
}

/// Lists of which the host is not shown everything: personal ones, and ones that are longer than what is held.
fn unseen() -> [(Desk, Plan); 2] {
    let (one, other) = (Desk::with("a\n"), Desk::with("a\nb\nc\n"));
    let personal = one.granted(Plan::of("rota")).setting("rota", "personal", "yes");
    let long = other.granted(Plan::of("rota")).terms("rota", |grant, _| grant.limits.catalog_entries = 1);
    [(one, personal), (other, long)]
}

/// The same component in another revision.
fn another_revision(house: &House) {
    let mut bytes = std::fs::read(component("rota")).unwrap();
    // A custom section.
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(house.plugins.join("new"), bytes).unwrap();
    std::fs::rename(house.plugins.join("new"), house.plugins.join("rota.wasm")).unwrap();
}

#[tokio::test]
async fn each_time_that_a_provider_says_so_is_told_where_the_host_cannot_compare() {
    for (_desk, plan) in unseen() {
        let mut house = plan.open().await;
        house.run();
        let watch = watching(&house);
        // So soon after one another that the second has to wait for its turn.
        for _ in 0..3 {
            assert_eq!(house.text("rota://say").await, "rota://say");
            told(&watch).await;
        }
        nothing_waits(&watch).await;
    }
}

#[tokio::test]
async fn another_revision_is_told_where_the_host_cannot_compare() {
    for (_desk, plan) in unseen() {
        let mut house = plan.open().await;
        let watch = watching(&house);
        another_revision(&house);
        assert_eq!(house.reconcile().run_pass().await.replaced.len(), 1);
        told(&watch).await;
        house.reconcile().run_pass().await;
        nothing_waits(&watch).await;
    }
    let desk = Desk::with("a\n");
    let mut house = desk.granted(Plan::of("rota")).open().await;
    let watch = watching(&house);
    another_revision(&house);
    assert_eq!(house.reconcile().run_pass().await.replaced.len(), 1);
    nothing_waits(&watch).await;
}

#[tokio::test]
async fn what_cannot_be_listed_for_a_while_is_asked_for_again() {
    let desk = Desk::with("a\n");
    let mut house = desk.granted(Plan::of("rota")).open().await;
    house.run();
    let watch = watching(&house);
    desk.write("shut", "");
    desk.write("names", "a\nb\n");
    let before = desk.asked();
    house.text("rota://say").await;
    // More than once, though nobody says so again.
    desk.asked_more_than(before + 1).await;
    assert_eq!(house.uris().await, ["rota://a"], "the list from before stays");
    std::fs::remove_file(desk.names.path().join("shut")).unwrap();
    told(&watch).await;
    assert_eq!(house.uris().await, ["rota://a", "rota://b"]);
}

#[tokio::test]
async fn who_comes_to_a_folder_that_is_watched_is_asked_what_it_holds_now() {
    let desk = Desk::with("a\n");
    let plan = desk.granted(Plan::of("files"));
    let dir = Dir {
        host: desk.names.path().into(),
        guest: "/data".into(),
        access: Access::Read,
        is_canonical: false,
    };
    let mut house = plan.terms("files", |grant, _| grant.dirs.push(dir)).open().await;
    house.look_out(by_events());
    let watch = watching(&house);
    house.run();
    // The folder is watched from then on.
    desk.write("other", "");
    told(&watch).await;
    std::fs::copy(component("rota"), house.plugins.join("rota.wasm")).unwrap();
    // Once to be loaded, and once for what may have changed until it was published.
    desk.asked_more_than(1).await;
}

#[tokio::test]
async fn a_provider_of_which_nothing_is_listed_changes_no_list() {
    let mut house = Plan::of("echo").open().await;
    let watch = watching(&house);
    let add = |house: &House, guest: &str, name: &str| {
        std::fs::copy(component(guest), house.plugins.join(name)).unwrap();
    };
    // One that offers nothing, and one of which all is another's.
    add(&house, "nothing", "nothing.wasm");
    add(&house, "echo", "later.wasm");
    assert_eq!(house.reconcile().run_pass().await.loaded.len(), 2);
    nothing_waits(&watch).await;
    for name in ["nothing.wasm", "later.wasm"] {
        std::fs::remove_file(house.plugins.join(name)).unwrap();
    }
    assert_eq!(house.reconcile().run_pass().await.removed.len(), 2);
    nothing_waits(&watch).await;
    // What the other has beyond that is listed.
    add(&house, "full", "full.wasm");
    house.reconcile().run_pass().await;
    told(&watch).await;
}
