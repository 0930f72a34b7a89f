//! Traps in each read, unless there is a file `well` in a granted folder.

use guests::*;

struct TrapReads;

impl Behaviour for TrapReads {
    fn entries() -> Vec<Entry> {
        vec![entry("trap-reads://listed")]
    }

    fn templates() -> Vec<&'static str> {
        vec!["trap-reads://{word}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        assert!(
            std::fs::exists("/mood/well").unwrap_or_default(),
            "not today"
        );
        text(request.uri)
    }
}

guests::export!(TrapReads);
