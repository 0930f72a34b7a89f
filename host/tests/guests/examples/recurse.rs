//! Recurses until the stack overflows.

use guests::*;

struct Recurse;

impl Behaviour for Recurse {
    fn entries() -> Vec<Entry> {
        vec![entry("recurse://down")]
    }

    fn read(_request: ReadRequest) -> Result<Reading, Error> {
        text(deeper(u64::MAX).to_string())
    }
}

fn deeper(depth: u64) -> u64 {
    match std::hint::black_box(depth) {
        0 => 0,
        depth => deeper(depth - 1) + std::hint::black_box(1),
    }
}

guests::export!(Recurse);
