//! Runs a fuzz target with every input of its corpus. Each crate with a fuzz target includes this file in its tests, so
//! that the tests find again whatever fuzzing found once.

#[path = "corpus_file.rs"]
mod corpus_file;

use std::path::Path;

/// Runs a target with its corpus. If it panics, the last line of the output names the input.
pub(crate) fn replay(target: &str, run: impl Fn(&[u8])) {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let file = corpora.join(format!("{target}.txt"));
    let text = std::fs::read_to_string(&file).expect("the corpus can be read");
    assert!(!text.is_empty(), "there is no input in {}", file.display());
    for (line, input) in (1..).zip(corpus_file::inputs(&text)) {
        println!("{}:{line}", file.display());
        run(&input.expect("the line is a valid input"));
    }
}
