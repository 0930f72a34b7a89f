//! A revision that requests more grants waits for the operator's approval; the old revision keeps serving.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use larder_core::reconcile::{ApprovalScope, Approvals, PendingApprovalRecord};
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::ApprovalMode;
use serde_json::json;

use crate::support::harness::{
    SLOW_WAIT, TestServer, TestServerBuilder, component_path, eventually_within,
};
use crate::support::process::WorkDir;

fn pending(server: &TestServer) -> Vec<String> {
    server
        .reader
        .snapshot()
        .pending_approvals()
        .iter()
        .flat_map(|pending| pending.lines.clone())
        .collect()
}

/// Approves all pending requests of a provider, as `larder approve` does.
fn approve(server: &TestServer, provider: &str) {
    let approvals = Approvals::new(&server.folder.path().join(".state"), &server.plugins);
    let mut all = approvals.pending().unwrap();
    all.retain(|one: &PendingApprovalRecord| one.provider == provider);
    assert!(
        !all.is_empty(),
        "no pending approval of {provider} is recorded"
    );
    all.iter()
        .for_each(|one| approvals.approve(one, "an operator").unwrap());
}

async fn running(builder: TestServerBuilder) -> TestServer {
    let mut server = builder.start().await;
    server.run_reconciler();
    server
}

#[tokio::test]
async fn the_first_revision_with_a_grant_request_file_needs_approval() {
    let secret = tempfile::TempDir::new().unwrap();
    fs::write(secret.path().join("file"), "content").unwrap();
    let request = format!(
        "dirs = [{{ host = {:?}, guest = \"/data\" }}]\n",
        secret.path()
    );
    let server =
        running(TestServer::builder("echo dirs").file("dirs.toml", request.as_bytes())).await;
    assert_eq!(
        pending(&server).len(),
        1,
        "{:?}",
        server.reader.snapshot().pending_approvals()
    );
    assert!(
        pending(&server)[0].ends_with("as /data, read"),
        "{:?}",
        pending(&server)
    );
    assert!(
        server
            .text("dirs://read?path=%2Fdata%2Ffile")
            .await
            .starts_with("error: no resource at")
    );
    assert!(server.text("echo://hello").await.starts_with("uri:"));
    eventually_within(SLOW_WAIT, "the pending approval is recorded", async || {
        Approvals::new(&server.folder.path().join(".state"), &server.plugins)
            .pending()
            .is_ok_and(|all| !all.is_empty())
    })
    .await;
    approve(&server, "dirs");
    eventually_within(SLOW_WAIT, "it is approved and serves", async || {
        server.text("dirs://read?path=%2Fdata%2Ffile").await == "ok: \"content\""
    })
    .await;
    assert_eq!(pending(&server), Vec::<String>::new());
}

#[tokio::test]
async fn a_revision_with_new_imports_is_pending_and_the_old_one_serves() {
    let server = running(TestServer::builder("x@echo")).await;
    let before = server.text("echo://hello").await;
    // `net` imports HTTP, and `echo` does not.
    fs::copy(component_path("net"), server.plugins.join("x.wasm")).unwrap();
    eventually_within(SLOW_WAIT, "an approval is pending", async || {
        !pending(&server).is_empty()
    })
    .await;
    let lines: BTreeSet<_> = pending(&server).into_iter().collect();
    assert!(
        lines.contains("import larder:provider/http-client") && lines.contains("import wasi:http"),
        "{lines:?}"
    );
    assert_eq!(server.text("echo://hello").await, before);
    eventually_within(SLOW_WAIT, "the pending approval is recorded", async || {
        Approvals::new(&server.folder.path().join(".state"), &server.plugins)
            .pending()
            .is_ok_and(|all| !all.is_empty())
    })
    .await;
    approve(&server, "x");
    eventually_within(SLOW_WAIT, "it is approved and serves", async || {
        server
            .text("net://resolve/localhost")
            .await
            .starts_with("refused")
    })
    .await;
    // A revision that requests less needs no approval.
    fs::copy(component_path("echo"), server.plugins.join("x.wasm")).unwrap();
    eventually_within(SLOW_WAIT, "the old one serves again", async || {
        server.text("echo://hello").await == before
    })
    .await;
}

#[tokio::test]
async fn the_imports_of_the_first_revision_need_no_approval() {
    let server = TestServer::builder("net").start().await;
    assert!(pending(&server).is_empty());
    assert!(
        server
            .text("net://resolve/localhost")
            .await
            .starts_with("refused")
    );
}

/// Waits until the last served revision of a provider is recorded for the next start.
async fn wait_for_record(server: &TestServer, provider: &str) {
    let approvals = Approvals::new(&server.folder.path().join(".state"), &server.plugins);
    let name = ProviderName::parse(provider).unwrap();
    eventually_within(SLOW_WAIT, "the served revision is recorded", async || {
        approvals
            .last_served(&TeamName::default_team(), &name)
            .is_ok_and(|served| served.is_some())
    })
    .await;
}

#[tokio::test]
async fn a_restart_does_not_bypass_approval() {
    let server = running(TestServer::builder("x@echo")).await;
    wait_for_record(&server, "x").await;
    let file = server.plugins.join("x.wasm");
    let builder = TestServerBuilder::restart(server).await;
    // While the server is down, a component that imports HTTP replaces the component.
    fs::copy(component_path("net"), &file).unwrap();
    let server = running(builder).await;
    assert!(
        pending(&server).contains(&"import wasi:http".to_owned()),
        "{:?}",
        pending(&server)
    );
    assert!(
        server
            .text("net://resolve/localhost")
            .await
            .starts_with("error: no resource at")
    );
    eventually_within(SLOW_WAIT, "the pending approval is recorded", async || {
        let approvals = Approvals::new(&server.folder.path().join(".state"), &server.plugins);
        approvals.pending().is_ok_and(|all| !all.is_empty())
    })
    .await;
    approve(&server, "x");
    eventually_within(SLOW_WAIT, "it is approved and serves", async || {
        server
            .text("net://resolve/localhost")
            .await
            .starts_with("refused")
    })
    .await;
}

#[tokio::test]
async fn removing_the_file_for_a_while_does_not_bypass_approval() {
    let server = running(TestServer::builder("x@echo")).await;
    wait_for_record(&server, "x").await;
    fs::remove_file(server.plugins.join("x.wasm")).unwrap();
    eventually_within(SLOW_WAIT, "the provider is removed", async || {
        server
            .text("echo://hello")
            .await
            .starts_with("error: no resource at")
    })
    .await;
    fs::copy(component_path("net"), server.plugins.join("x.wasm")).unwrap();
    eventually_within(SLOW_WAIT, "an approval is pending", async || {
        !pending(&server).is_empty()
    })
    .await;
    // The previous revision needs no approval.
    fs::copy(component_path("echo"), server.plugins.join("x.wasm")).unwrap();
    eventually_within(SLOW_WAIT, "it serves again", async || {
        server.text("echo://hello").await.starts_with("uri:")
    })
    .await;
}

#[tokio::test]
async fn retries_to_record_the_served_revision() {
    let server = TestServer::builder("x@echo").start().await;
    let state = server.folder.path().join(".state");
    // While a file has this name, the state folder cannot be created.
    fs::write(&state, "not a folder").unwrap();
    let mut server = server;
    server.run_reconciler();
    assert!(
        server.text("echo://hello").await.starts_with("uri:"),
        "it serves nevertheless"
    );
    tokio::time::sleep(Duration::from_millis(200)).await;
    fs::remove_file(&state).unwrap();
    wait_for_record(&server, "x").await;
}

#[tokio::test]
async fn an_approval_holds_for_one_provider_of_one_team() {
    let server = TestServer::builder("a@echo").start().await;
    let approvals = Approvals::new(&server.folder.path().join(".state"), &server.plugins);
    let (team, name) = (TeamName::default_team(), |name| {
        ProviderName::parse(name).unwrap()
    });
    let digest = Digest::of(b"");
    let lines: BTreeSet<_> = ["import wasi:http".to_owned()].into();
    approvals
        .approve(
            &PendingApprovalRecord::new(&team, &name("a"), digest, lines.clone()),
            "an operator",
        )
        .unwrap();
    assert!(
        approvals
            .unapproved(&team, &name("a"), &lines)
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        approvals.unapproved(&team, &name("b"), &lines).unwrap(),
        lines
    );
    assert_eq!(
        approvals
            .unapproved(&TeamName::parse("other").unwrap(), &name("a"), &lines)
            .unwrap(),
        lines
    );
}

#[tokio::test]
async fn an_approval_for_a_digest_does_not_hold_for_the_next_component() {
    let server = running(TestServer::builder("x@echo").file("x.toml", b"env = ['HOME']\n")).await;
    let approvals = Approvals::new(&server.folder.path().join(".state"), &server.plugins);
    let recorded = async || {
        eventually_within(SLOW_WAIT, "the pending approval is recorded", async || {
            approvals.pending().is_ok_and(|all| !all.is_empty())
        })
        .await;
        approvals.pending().unwrap().remove(0)
    };
    let first = recorded().await;
    approvals
        .approve_for(ApprovalScope::Digest, &first, "an operator")
        .unwrap();
    let serves = async || server.text("echo://hello").await.starts_with("uri:");
    eventually_within(SLOW_WAIT, "it is approved and serves", serves).await;
    // Another component with the same request.
    fs::copy(component_path("keys"), server.plugins.join("x.wasm")).unwrap();
    let second = recorded().await;
    assert_ne!(first.digest, second.digest);
    assert_eq!(first.lines, second.lines);
    assert!(
        server.text("echo://hello").await.starts_with("uri:"),
        "the approved one continues to serve"
    );
}

#[test]
fn approve_can_be_limited_to_one_component() {
    let work_dir = WorkDir::with_guests("echo").file("plugins/echo.toml", "env = ['HOME']\n");
    let approvals = Approvals::new(&work_dir.path("state/larder"), &work_dir.path("plugins"));
    let (team, echo) = (
        TeamName::default_team(),
        ProviderName::parse("echo").unwrap(),
    );
    let digest = Digest::of(&std::fs::read(work_dir.path("plugins/echo.wasm")).unwrap());
    let record =
        PendingApprovalRecord::new(&team, &echo, digest, ["variable HOME".to_owned()].into());
    let id = record.id();
    approvals.set_pending(vec![record]).unwrap();
    let wrong = work_dir.larder("approve echo --yes --digest 000000000000");
    assert_eq!(wrong.code, Some(1), "{}", wrong.stderr);
    assert!(wrong.stderr.contains(&digest.short()), "{}", wrong.stderr);
    assert!(
        work_dir
            .larder("approve echo --yes --digest 0000")
            .expect_exit(64)
            .contains("hexadecimal digits")
    );
    work_dir
        .larder(&format!(
            "approve echo --yes --id {id} --digest sha256:{digest}"
        ))
        .expect_success();
    let approved = |work_dir: &WorkDir| {
        work_dir.larder("check --json").json()["grants"][0]["approved"].clone()
    };
    assert_eq!(approved(&work_dir), json!(["variable HOME"]));
    std::fs::copy(component_path("keys"), work_dir.path("plugins/echo.wasm")).unwrap();
    assert_eq!(approved(&work_dir), json!([]));
}

#[test]
fn an_approval_is_for_what_was_listed() {
    let work_dir = WorkDir::with_guests("echo");
    let approvals = Approvals::new(&work_dir.path("state/larder"), &work_dir.path("plugins"));
    let (team, echo) = (
        TeamName::default_team(),
        ProviderName::parse("echo").unwrap(),
    );
    let digest = Digest::of(b"the component stays");
    let requests = |line: &str| {
        let lines = [line.to_owned()].into();
        approvals
            .set_pending(vec![PendingApprovalRecord::new(
                &team, &echo, digest, lines,
            )])
            .unwrap();
    };
    requests("http GET api.example.com");
    let listed = work_dir.larder("approve").expect_success();
    let id = listed
        .lines()
        .find_map(|line| line.trim().strip_prefix("id "))
        .unwrap()
        .to_owned();
    requests("http * evil.example.com");
    let evil = ["http * evil.example.com".to_owned()].into();
    for args in ["--yes".to_owned(), format!("--yes --digest {digest}")] {
        let refused = work_dir.larder(&format!("approve echo {args}"));
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("--yes needs --id"),
            "{}",
            refused.stderr
        );
    }
    let refused = work_dir.larder(&format!("approve echo --yes --digest {digest} --id {id}"));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let expected =
        "the component is the same, but what it requests or a definition of a tool changed";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("+ http * evil.example.com"),
        "{}",
        refused.stderr
    );
    assert_eq!(approvals.unapproved(&team, &echo, &evil).unwrap(), evil);
    requests("http GET api.example.com");
    work_dir
        .larder(&format!("approve echo --yes --id {id}"))
        .expect_success();
    assert_eq!(approvals.unapproved(&team, &echo, &evil).unwrap(), evil);
    assert!(approvals.pending().unwrap().is_empty());
}

#[tokio::test]
async fn approval_mode_always_needs_no_approval() {
    let server = running(TestServer::builder("x@echo").approve("x", ApprovalMode::Always)).await;
    fs::copy(component_path("net"), server.plugins.join("x.wasm")).unwrap();
    eventually_within(SLOW_WAIT, "it is approved and serves", async || {
        server
            .text("net://resolve/localhost")
            .await
            .starts_with("refused")
    })
    .await;
}

#[tokio::test]
async fn rejects_an_invalid_grant_request_file() {
    let server = TestServer::builder("echo other@full")
        .file("echo.toml", b"colour = 1")
        .start()
        .await;
    let reason = server.rejection_reason("echo.wasm");
    assert!(
        reason.starts_with("the `.toml` file beside it is invalid: line 1: colour"),
        "{reason}"
    );
    assert_eq!(server.text("full://one").await, "one");
}

#[cfg(unix)]
#[tokio::test]
async fn records_the_served_revisions_before_shutdown() {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut server = TestServer::builder("echo").start().await;
    let state = server.folder.path().join(".state");
    fs::DirBuilder::new().mode(0o700).create(&state).unwrap();
    // Another process holds the lock: the first write waits for the lock, and the write about `net` is queued.
    let lock = fs::File::create(state.join("lock")).unwrap();
    lock.lock().unwrap();
    server.run_reconciler();
    fs::copy(component_path("net"), server.plugins.join("net.wasm")).unwrap();
    eventually_within(SLOW_WAIT, "net is served", async || {
        server.reader.snapshot().offers().len() == 2
    })
    .await;
    let drain = server.drain.clone();
    let unlock = async {
        server.drain.stopping().await;
        drop(lock);
    };
    let (finished, ()) = tokio::join!(drain.finish(Duration::from_secs(60)), unlock);
    assert!(finished);
    let approvals = Approvals::new(&state, &server.plugins);
    let net = ProviderName::parse("net").unwrap();
    assert!(
        approvals
            .last_served(&TeamName::default_team(), &net)
            .unwrap()
            .is_some()
    );
}
