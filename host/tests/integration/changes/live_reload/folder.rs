//! The plugins folder itself is created, removed, and replaced.

use std::fs;
use std::time::Duration;

use super::{component_file, start_running};
use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};
use crate::support::revision::{NOW, revision};

#[tokio::test]
async fn waits_for_a_missing_folder() {
    let server = start_running(TestServer::builder("").plugins_at("not/yet")).await;
    assert!(server.uris().await.is_empty());
    fs::create_dir_all(&server.plugins).unwrap();
    fs::write(component_file(&server), revision(1)).unwrap();
    server.wait_for_revision(1).await;
    fs::write(component_file(&server), revision(2)).unwrap();
    server.wait_for_revision(2).await;
}

#[tokio::test]
async fn watches_a_folder_that_was_recreated() {
    let builder = TestServer::builder("")
        .plugins_at("plugins")
        .missing_source_grace(Duration::ZERO);
    let plugins = builder.folder().join("plugins");
    fs::create_dir(&plugins).unwrap();
    fs::write(plugins.join("revision.wasm"), revision(1)).unwrap();
    fs::copy(
        crate::support::harness::component_path("echo"),
        plugins.join("echo.wasm"),
    )
    .unwrap();
    let server = start_running(builder).await;
    server.wait_for_revision(1).await;
    fs::remove_dir_all(&plugins).unwrap();
    eventually_within(SLOW_WAIT, "all providers are removed", async || {
        server.uris().await.is_empty()
    })
    .await;
    assert!(server.text(NOW).await.starts_with("error: no resource at"));
    fs::create_dir(&plugins).unwrap();
    fs::write(component_file(&server), revision(2)).unwrap();
    server.wait_for_revision(2).await;
    assert!(
        server
            .text("echo://hello")
            .await
            .starts_with("error: no resource at")
    );
    fs::write(component_file(&server), revision(3)).unwrap();
    server.wait_for_revision(3).await;
}

#[tokio::test]
async fn a_folder_that_is_missing_for_a_moment_has_no_effect() {
    let builder = TestServer::builder("").plugins_at("plugins");
    let (plugins, away) = (
        builder.folder().join("plugins"),
        builder.folder().join("away"),
    );
    fs::create_dir(&plugins).unwrap();
    fs::write(plugins.join("revision.wasm"), revision(1)).unwrap();
    let server = start_running(builder).await;
    server.wait_for_revision(1).await;
    let reported = async |what: &str| {
        let is_reported = async || {
            let problems = server.health.problems();
            problems
                .iter()
                .any(|problem| problem.message.contains(what))
        };
        server
            .only_revisions_answer(&[1], eventually_within(SLOW_WAIT, what, is_reported))
            .await;
    };
    fs::rename(&plugins, &away).unwrap();
    reported("the folder is missing; its components are served for 30s").await;
    // The mount point of a volume.
    fs::create_dir(&plugins).unwrap();
    reported(
        "the folder was replaced by one without components; its components are served for 30s",
    )
    .await;
    fs::remove_dir(&plugins).unwrap();
    fs::rename(&away, &plugins).unwrap();
    let no_problem = async || server.health.problems().is_empty();
    let back = eventually_within(SLOW_WAIT, "the folder is back", no_problem);
    server.only_revisions_answer(&[1], back).await;
    // A component that is removed from the folder is withdrawn at once.
    fs::remove_file(component_file(&server)).unwrap();
    eventually_within(SLOW_WAIT, "it is removed", async || {
        server.uris().await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn watches_a_folder_that_was_replaced_by_a_rename() {
    let builder = TestServer::builder("").plugins_at("plugins");
    let (plugins, old) = (
        builder.folder().join("plugins"),
        builder.folder().join("old"),
    );
    fs::create_dir(&plugins).unwrap();
    fs::write(plugins.join("revision.wasm"), revision(1)).unwrap();
    let server = start_running(builder).await;
    server.wait_for_revision(1).await;
    let new = server.folder.path().join("new");
    fs::create_dir(&new).unwrap();
    fs::write(new.join("revision.wasm"), revision(2)).unwrap();
    fs::rename(&plugins, &old).unwrap();
    fs::rename(&new, &plugins).unwrap();
    server.wait_for_revision(2).await;
    fs::write(component_file(&server), revision(3)).unwrap();
    server.wait_for_revision(3).await;
    // Changes in the old folder have no effect.
    fs::write(old.join("revision.wasm"), revision(4)).unwrap();
    fs::write(component_file(&server), revision(5)).unwrap();
    server
        .only_revisions_answer(&[3, 5], server.wait_for_revision(5))
        .await;
}
