//! A revision that asks for more waits for its operator; what serves goes on serving.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use larder_core::reconcile::{Approvals, PendingApprovalRecord};
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::ApprovalMode;

use crate::house::{House, Plan, component};
use crate::revision::until;

fn held(house: &House) -> Vec<String> {
    house.reader.snapshot().pending_approvals().iter().flat_map(|held| held.lines.clone()).collect()
}

/// What `larder approve` does.
fn approve(house: &House, provider: &str) {
    let approvals = Approvals::new(&house.folder.path().join(".state"), &house.plugins);
    let mut all = approvals.pending().unwrap();
    all.retain(|one: &PendingApprovalRecord| one.provider == provider);
    assert!(!all.is_empty(), "nothing of {provider} is written down as held back");
    all.iter().for_each(|one| approvals.approve(one, "somebody").unwrap());
}

async fn running(plan: Plan) -> House {
    let mut house = plan.open().await;
    house.run();
    house
}

#[tokio::test]
async fn what_a_file_beside_asks_for_waits_even_the_first_time() {
    let secret = tempfile::TempDir::new().unwrap();
    fs::write(secret.path().join("file"), "content").unwrap();
    let ask = format!("dirs = [{{ host = {:?}, guest = \"/data\" }}]\n", secret.path());
    let house = running(Plan::of("echo dirs").file("dirs.toml", ask.as_bytes())).await;
    assert_eq!(held(&house).len(), 1, "{:?}", house.reader.snapshot().pending_approvals());
    assert!(held(&house)[0].ends_with("as /data, read"), "{:?}", held(&house));
    assert!(house.text("dirs://read?path=%2Fdata%2Ffile").await.starts_with("error: no resource at"));
    assert!(house.text("echo://hello").await.starts_with("uri:"));
    until("it is written down", async || {
        Approvals::new(&house.folder.path().join(".state"), &house.plugins)
            .pending()
            .is_ok_and(|all| !all.is_empty())
    })
    .await;
    approve(&house, "dirs");
    until("it serves", async || house.text("dirs://read?path=%2Fdata%2Ffile").await == "ok: \"content\"")
        .await;
    assert_eq!(held(&house), Vec::<String>::new());
}

#[tokio::test]
async fn more_than_the_serving_one_is_held_back_and_the_old_one_serves() {
    let house = running(Plan::of("x@echo")).await;
    let before = house.text("echo://hello").await;
    // Imports HTTP, which the one that serves does not.
    fs::copy(component("net"), house.plugins.join("x.wasm")).unwrap();
    until("it is held back", async || !held(&house).is_empty()).await;
    let lines: BTreeSet<_> = held(&house).into_iter().collect();
    assert!(
        lines.contains("import larder:provider/http-client") && lines.contains("import wasi:http"),
        "{lines:?}"
    );
    assert_eq!(house.text("echo://hello").await, before);
    until("it is written down", async || {
        Approvals::new(&house.folder.path().join(".state"), &house.plugins)
            .pending()
            .is_ok_and(|all| !all.is_empty())
    })
    .await;
    approve(&house, "x");
    until("it serves", async || house.text("net://resolve/localhost").await.starts_with("refused")).await;
    // Back to what asks for less: nobody is asked.
    fs::copy(component("echo"), house.plugins.join("x.wasm")).unwrap();
    until("the old one serves again", async || house.text("echo://hello").await == before).await;
}

#[tokio::test]
async fn a_first_revision_may_import_what_it_likes() {
    let house = Plan::of("net").open().await;
    assert!(held(&house).is_empty());
    assert!(house.text("net://resolve/localhost").await.starts_with("refused"));
}

/// What is remembered of a provider for the next start.
async fn is_remembered(house: &House, provider: &str) {
    let approvals = Approvals::new(&house.folder.path().join(".state"), &house.plugins);
    let name = ProviderName::parse(provider).unwrap();
    until("what was served is written down", async || {
        approvals.last_served(&TeamName::default_team(), &name).is_ok_and(|served| served.is_some())
    })
    .await;
}

#[tokio::test]
async fn a_restart_is_no_way_around() {
    let house = running(Plan::of("x@echo")).await;
    is_remembered(&house, "x").await;
    let file = house.plugins.join("x.wasm");
    let plan = Plan::after(house).await;
    // While nobody serves, it is replaced by one that imports HTTP.
    fs::copy(component("net"), &file).unwrap();
    let house = running(plan).await;
    assert!(held(&house).contains(&"import wasi:http".to_owned()), "{:?}", held(&house));
    assert!(house.text("net://resolve/localhost").await.starts_with("error: no resource at"));
    until("it is written down", async || {
        let approvals = Approvals::new(&house.folder.path().join(".state"), &house.plugins);
        approvals.pending().is_ok_and(|all| !all.is_empty())
    })
    .await;
    approve(&house, "x");
    until("it serves", async || house.text("net://resolve/localhost").await.starts_with("refused")).await;
}

#[tokio::test]
async fn nor_is_taking_the_file_away_for_a_while() {
    let house = running(Plan::of("x@echo")).await;
    is_remembered(&house, "x").await;
    fs::remove_file(house.plugins.join("x.wasm")).unwrap();
    until("it is gone", async || house.text("echo://hello").await.starts_with("error: no resource at")).await;
    fs::copy(component("net"), house.plugins.join("x.wasm")).unwrap();
    until("it is held back", async || !held(&house).is_empty()).await;
    // The one from before may come back.
    fs::copy(component("echo"), house.plugins.join("x.wasm")).unwrap();
    until("it serves again", async || house.text("echo://hello").await.starts_with("uri:")).await;
}

#[tokio::test]
async fn what_cannot_be_remembered_is_tried_again() {
    let house = Plan::of("x@echo").open().await;
    let state = house.folder.path().join(".state");
    // No folder can be made where a file is.
    fs::write(&state, "in the way").unwrap();
    let mut house = house;
    house.run();
    assert!(house.text("echo://hello").await.starts_with("uri:"), "it serves all the same");
    tokio::time::sleep(Duration::from_millis(200)).await;
    fs::remove_file(&state).unwrap();
    is_remembered(&house, "x").await;
}

#[tokio::test]
async fn what_is_approved_for_one_is_not_for_another() {
    let house = Plan::of("a@echo").open().await;
    let approvals = Approvals::new(&house.folder.path().join(".state"), &house.plugins);
    let (team, name) = (TeamName::default_team(), |name| ProviderName::parse(name).unwrap());
    let digest = larder_model::name::Digest::of(b"");
    let lines: BTreeSet<_> = ["import wasi:http".to_owned()].into();
    approvals
        .approve(&PendingApprovalRecord::new(&team, &name("a"), digest, lines.clone()), "somebody")
        .unwrap();
    assert!(approvals.unapproved(&team, &name("a"), &lines).unwrap().is_empty());
    assert_eq!(approvals.unapproved(&team, &name("b"), &lines).unwrap(), lines);
    assert_eq!(approvals.unapproved(&TeamName::parse("other").unwrap(), &name("a"), &lines).unwrap(), lines);
}

#[tokio::test]
async fn an_operator_may_approve_everything_beforehand() {
    let house = running(Plan::of("x@echo").approve("x", ApprovalMode::Always)).await;
    fs::copy(component("net"), house.plugins.join("x.wasm")).unwrap();
    until("it serves", async || house.text("net://resolve/localhost").await.starts_with("refused")).await;
}

#[tokio::test]
async fn a_faulty_file_beside_is_a_reason() {
    let house = Plan::of("echo other@full").file("echo.toml", b"colour = 1").open().await;
    let reason = house.rejected("echo.wasm");
    assert!(reason.starts_with("the `.toml` file beside it is invalid: line 1: colour"), "{reason}");
    assert_eq!(house.text("full://one").await, "one");
}

#[cfg(unix)]
#[tokio::test]
async fn what_was_served_last_is_written_down_before_the_end() {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut house = Plan::of("echo").open().await;
    let state = house.folder.path().join(".state");
    fs::DirBuilder::new().mode(0o700).create(&state).unwrap();
    // Somebody else is in the directory: the first note waits, and the one about `net` behind it.
    let lock = fs::File::create(state.join("lock")).unwrap();
    lock.lock().unwrap();
    house.run();
    fs::copy(component("net"), house.plugins.join("net.wasm")).unwrap();
    until("net is served", async || house.reader.snapshot().offers().len() == 2).await;
    let drain = house.drain.clone();
    let unlock = async {
        house.drain.stopping().await;
        drop(lock);
    };
    let (finished, ()) = tokio::join!(drain.finish(Duration::from_secs(60)), unlock);
    assert!(finished);
    let approvals = Approvals::new(&state, &house.plugins);
    let net = ProviderName::parse("net").unwrap();
    assert!(approvals.last_served(&TeamName::default_team(), &net).unwrap().is_some());
}
