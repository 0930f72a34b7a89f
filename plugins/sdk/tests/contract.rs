//! Checks that the copy of the contract in this crate is identical to `wit/`. The crate needs a copy, because
//! a published crate cannot contain files outside its folder, and Git on Windows often checks out symbolic
//! links as text files.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn the_copy_of_the_contract_is_up_to_date() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = wit_files(&here.join("wit"));
    assert!(copy.contains_key("world.wit"));
    assert_eq!(copy, wit_files(&here.join("../../wit")), "copy wit/*.wit to plugins/sdk/wit");
}

fn wit_files(folder: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let wit = files.filter(|path| path.extension().is_some_and(|extension| extension == "wit"));
    wit.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap().replace("\r\n", "\n"))
    })
    .collect()
}
