//! A running house over a folder in which things change, with real files and real components.

mod files;
mod folder;
mod links;
mod swap;

use std::path::PathBuf;

use crate::house::{House, Plan};
use crate::revision::revision;

/// A house that runs, with the first revision in it.
async fn first() -> House {
    running(Plan::of("").file("revision.wasm", &revision(1))).await
}

async fn running(plan: Plan) -> House {
    let mut house = plan.open().await;
    house.run();
    house
}

/// The file of the component.
fn file(house: &House) -> PathBuf {
    house.plugins.join("revision.wasm")
}
