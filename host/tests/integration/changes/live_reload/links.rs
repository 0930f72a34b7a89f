//! Components behind symbolic links, as deployment tools and Kubernetes create them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{component_file, start_running};
use crate::support::harness::TestServer;
use crate::support::revision::revision;

/// Replaces a link atomically.
fn relink(target: impl AsRef<Path>, link: &Path) {
    let new = link.with_file_name("..new");
    symlink(target, &new).unwrap();
    fs::rename(new, link).unwrap();
}

#[tokio::test]
async fn reloads_when_the_target_of_a_link_changes() {
    let elsewhere = tempfile::TempDir::new().unwrap();
    let target = elsewhere.path().join("built.wasm");
    fs::write(&target, revision(1)).unwrap();
    let builder = TestServer::builder("");
    symlink(&target, builder.folder().join("revision.wasm")).unwrap();
    let server = start_running(builder).await;
    server.wait_for_revision(1).await;
    fs::write(&target, revision(2)).unwrap();
    server.wait_for_revision(2).await;
    fs::write(elsewhere.path().join("new"), revision(3)).unwrap();
    fs::rename(elsewhere.path().join("new"), &target).unwrap();
    server.wait_for_revision(3).await;
}

#[tokio::test]
async fn reloads_when_a_link_is_replaced() {
    let elsewhere = tempfile::TempDir::new().unwrap();
    let build = |number| {
        let path = elsewhere.path().join(format!("{number}.wasm"));
        fs::write(&path, revision(number)).unwrap();
        path
    };
    let builder = TestServer::builder("");
    symlink(build(1), builder.folder().join("revision.wasm")).unwrap();
    let server = start_running(builder).await;
    server.wait_for_revision(1).await;
    let change = async {
        relink(build(2), &component_file(&server));
        server.wait_for_revision(2).await;
    };
    server.only_revisions_answer(&[1, 2], change).await;
    // The link is removed and created again, as `ln -sf` does.
    fs::remove_file(component_file(&server)).unwrap();
    symlink(build(3), component_file(&server)).unwrap();
    server.wait_for_revision(3).await;
}

#[tokio::test]
async fn reloads_when_a_config_map_is_updated() {
    let builder = TestServer::builder("");
    let folder = builder.folder().to_owned();
    let version = |number: u32| {
        let name = format!("..2026_11_21_{number}");
        fs::create_dir(folder.join(&name)).unwrap();
        fs::write(folder.join(&name).join("revision.wasm"), revision(number)).unwrap();
        name
    };
    symlink(version(1), folder.join("..data")).unwrap();
    symlink("..data/revision.wasm", folder.join("revision.wasm")).unwrap();
    let server = start_running(builder).await;
    server.wait_for_revision(1).await;
    for number in 2..5 {
        let change = async {
            relink(version(number), &folder.join("..data"));
            fs::remove_dir_all(folder.join(format!("..2026_11_21_{}", number - 1))).unwrap();
            server.wait_for_revision(number).await;
        };
        server
            .only_revisions_answer(&[number - 1, number], change)
            .await;
    }
}

#[tokio::test]
async fn reloads_when_a_link_to_the_folder_is_replaced() {
    let builder = TestServer::builder("").plugins_at("current");
    let root = builder.folder().to_owned();
    let release = |number: u32| {
        let path = root.join(format!("release-{number}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("revision.wasm"), revision(number)).unwrap();
        path
    };
    symlink(release(1), root.join("current")).unwrap();
    let server = start_running(builder).await;
    server.wait_for_revision(1).await;
    let change = async {
        relink(release(2), &root.join("current"));
        server.wait_for_revision(2).await;
    };
    server.only_revisions_answer(&[1, 2], change).await;
    // Changes in the new folder are detected as well.
    fs::write(component_file(&server), revision(3)).unwrap();
    server.wait_for_revision(3).await;
}
