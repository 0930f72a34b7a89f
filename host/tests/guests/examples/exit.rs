//! Ends its own program, as a command does, where it should answer.

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
