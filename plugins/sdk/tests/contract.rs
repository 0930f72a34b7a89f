//! The packed crate cannot reach out of its folder, and a symbolic link is a text file to many a
//! checkout on Windows: so this crate carries a copy of the contract, and this is what keeps it one.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn the_packed_contract_is_that_of_the_repository() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packed = contract(&here.join("wit"));
    assert!(packed.contains_key("world.wit"));
    assert_eq!(packed, contract(&here.join("../../wit")), "copy wit/*.wit to plugins/sdk/wit");
}

fn contract(folder: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let wit = files.filter(|path| path.extension().is_some_and(|extension| extension == "wit"));
    wit.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap().replace("\r\n", "\n"))
    })
    .collect()
}
