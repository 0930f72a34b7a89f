//! Runs a fuzz target with every input of its corpus. Each crate with a fuzz target includes this file in its tests, so
//! that the tests find again whatever fuzzing found once.

use std::path::Path;

/// Runs a target with its corpus. If it panics, the last line of the output names the input.
pub(crate) fn replay(target: &str, run: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let inputs = std::fs::read_dir(&folder).expect("the corpus exists");
    let mut count = 0;
    for input in inputs {
        let path = input.expect("the corpus can be read").path();
        println!("{}", path.display());
        run(&std::fs::read(&path).expect("the input can be read"));
        count += 1;
    }
    assert!(count > 0, "there is no input in {}", folder.display());
}
