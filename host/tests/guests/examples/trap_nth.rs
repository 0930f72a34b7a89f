//! Reads well, but for the seventh: every call has a guest of its own, so nobody can count.

use guests::*;

struct TrapNth;

impl Behaviour for TrapNth {
    fn entries() -> Vec<Entry> {
        (0..10).map(|n| entry(&format!("trap://{n}"))).collect()
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        assert_ne!(request.uri, "trap://7", "the seventh is too much");
        text(request.uri)
    }
}

guests::export!(TrapNth);
