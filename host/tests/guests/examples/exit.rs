//! Exits with a code, as a command does, and does not answer.

use guests::*;

struct Exit;

impl Behaviour for Exit {
    fn entries() -> Vec<Entry> {
        vec![entry("exit://7")]
    }

    fn read(_: ReadRequest) -> Result<Reading, Error> {
        std::process::exit(7)
    }
}

guests::export!(Exit);
