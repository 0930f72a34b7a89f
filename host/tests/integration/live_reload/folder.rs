//! The folder itself comes, goes, and comes back.

use std::fs;

use super::{file, running};
use crate::house::Plan;
use crate::revision::{NOW, revision, until};

#[tokio::test]
async fn a_folder_that_is_missing_is_waited_for() {
    let house = running(Plan::of("").at("not/yet")).await;
    assert!(house.uris().await.is_empty());
    fs::create_dir_all(&house.plugins).unwrap();
    fs::write(file(&house), revision(1)).unwrap();
    house.serves(1).await;
    fs::write(file(&house), revision(2)).unwrap();
    house.serves(2).await;
}

#[tokio::test]
async fn a_folder_that_is_made_again_is_watched_again() {
    let plan = Plan::of("").at("plugins");
    let place = plan.folder().join("plugins");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("revision.wasm"), revision(1)).unwrap();
    fs::copy(crate::house::component("echo"), place.join("echo.wasm")).unwrap();
    let house = running(plan).await;
    house.serves(1).await;
    fs::remove_dir_all(&place).unwrap();
    until("nothing is left", async || house.uris().await.is_empty()).await;
    assert!(house.text(NOW).await.starts_with("error: no resource at"));
    fs::create_dir(&place).unwrap();
    fs::write(file(&house), revision(2)).unwrap();
    house.serves(2).await;
    assert!(house.text("echo://hello").await.starts_with("error: no resource at"));
    fs::write(file(&house), revision(3)).unwrap();
    house.serves(3).await;
}

#[tokio::test]
async fn a_folder_that_is_replaced_at_once_is_watched_again() {
    let plan = Plan::of("").at("plugins");
    let (place, old) = (plan.folder().join("plugins"), plan.folder().join("old"));
    fs::create_dir(&place).unwrap();
    fs::write(place.join("revision.wasm"), revision(1)).unwrap();
    let house = running(plan).await;
    house.serves(1).await;
    let new = house.folder.path().join("new");
    fs::create_dir(&new).unwrap();
    fs::write(new.join("revision.wasm"), revision(2)).unwrap();
    fs::rename(&place, &old).unwrap();
    fs::rename(&new, &place).unwrap();
    house.serves(2).await;
    fs::write(file(&house), revision(3)).unwrap();
    house.serves(3).await;
    // What the old one holds is nobody's business any more.
    fs::write(old.join("revision.wasm"), revision(4)).unwrap();
    fs::write(file(&house), revision(5)).unwrap();
    house.answers(&[3, 5], house.serves(5)).await;
}
