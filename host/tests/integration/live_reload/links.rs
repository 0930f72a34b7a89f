//! Components behind symbolic links, as deployments and Kubernetes have them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{file, running};
use crate::house::Plan;
use crate::revision::revision;

/// Puts a link in the place of what is there, in one step.
fn relink(target: impl AsRef<Path>, link: &Path) {
    let new = link.with_file_name("..new");
    symlink(target, &new).unwrap();
    fs::rename(new, link).unwrap();
}

#[tokio::test]
async fn the_target_of_a_link_is_replaced() {
    let elsewhere = tempfile::TempDir::new().unwrap();
    let target = elsewhere.path().join("built.wasm");
    fs::write(&target, revision(1)).unwrap();
    let plan = Plan::of("");
    symlink(&target, plan.folder().join("revision.wasm")).unwrap();
    let house = running(plan).await;
    house.serves(1).await;
    fs::write(&target, revision(2)).unwrap();
    house.serves(2).await;
    fs::write(elsewhere.path().join("new"), revision(3)).unwrap();
    fs::rename(elsewhere.path().join("new"), &target).unwrap();
    house.serves(3).await;
}

#[tokio::test]
async fn a_link_is_swapped() {
    let elsewhere = tempfile::TempDir::new().unwrap();
    let build = |number| {
        let path = elsewhere.path().join(format!("{number}.wasm"));
        fs::write(&path, revision(number)).unwrap();
        path
    };
    let plan = Plan::of("");
    symlink(build(1), plan.folder().join("revision.wasm")).unwrap();
    let house = running(plan).await;
    house.serves(1).await;
    let change = async {
        relink(build(2), &file(&house));
        house.serves(2).await;
    };
    house.answers(&[1, 2], change).await;
    // Removed and made again, as `ln -sf` does it.
    fs::remove_file(file(&house)).unwrap();
    symlink(build(3), file(&house)).unwrap();
    house.serves(3).await;
}

#[tokio::test]
async fn a_config_map_is_updated() {
    let plan = Plan::of("");
    let folder = plan.folder().to_owned();
    let version = |number: u32| {
        let name = format!("..2026_11_21_{number}");
        fs::create_dir(folder.join(&name)).unwrap();
        fs::write(folder.join(&name).join("revision.wasm"), revision(number)).unwrap();
        name
    };
    symlink(version(1), folder.join("..data")).unwrap();
    symlink("..data/revision.wasm", folder.join("revision.wasm")).unwrap();
    let house = running(plan).await;
    house.serves(1).await;
    for number in 2..5 {
        let change = async {
            relink(version(number), &folder.join("..data"));
            fs::remove_dir_all(folder.join(format!("..2026_11_21_{}", number - 1))).unwrap();
            house.serves(number).await;
        };
        house.answers(&[number - 1, number], change).await;
    }
}

#[tokio::test]
async fn the_folder_is_a_link_that_is_swapped() {
    let plan = Plan::of("").at("current");
    let root = plan.folder().to_owned();
    let release = |number: u32| {
        let path = root.join(format!("release-{number}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("revision.wasm"), revision(number)).unwrap();
        path
    };
    symlink(release(1), root.join("current")).unwrap();
    let house = running(plan).await;
    house.serves(1).await;
    let change = async {
        relink(release(2), &root.join("current"));
        house.serves(2).await;
    };
    house.answers(&[1, 2], change).await;
    // What happens in the new place is seen, too.
    fs::write(file(&house), revision(3)).unwrap();
    house.serves(3).await;
}
