//! Lists a million entries on one page, or the number in the setting `count`.

use guests::*;

struct Million;

impl Behaviour for Million {
    fn entries() -> Vec<Entry> {
        let count = host::setting("count")
            .and_then(|count| count.parse().ok())
            .unwrap_or(1_000_000);
        (0..count)
            .map(|n| entry(&format!("million://{n}")))
            .collect()
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        text(request.uri)
    }
}

guests::export!(Million);
