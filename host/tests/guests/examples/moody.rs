//! Traps in each read, unless there is a file `well` in a granted folder.

use guests::*;

struct Moody;

impl Behaviour for Moody {
    fn entries() -> Vec<Entry> {
        vec![entry("moody://listed")]
    }

    fn templates() -> Vec<&'static str> {
        vec!["moody://{word}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        assert!(
            std::fs::exists("/mood/well").unwrap_or_default(),
            "not today"
        );
        text(request.uri)
    }
}

guests::export!(Moody);
