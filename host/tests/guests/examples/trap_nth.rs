//! Traps in reads of the seventh resource only.

use guests::*;

struct TrapNth;

impl Behaviour for TrapNth {
    fn entries() -> Vec<Entry> {
        (0..10).map(|n| entry(&format!("trap://{n}"))).collect()
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        assert_ne!(
            request.uri, "trap://7",
            "a read of the seventh resource traps"
        );
        text(request.uri)
    }
}

guests::export!(TrapNth);
