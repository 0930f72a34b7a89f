//! Reads its standard input to the end.

use std::io::Read as _;

use guests::*;

struct Stdin;

impl Behaviour for Stdin {
    fn entries() -> Vec<Entry> {
        vec![entry("stdin://all")]
    }

    fn read(_request: ReadRequest) -> Result<Reading, Error> {
        let mut input = vec![];
        outcome(
            std::io::stdin()
                .read_to_end(&mut input)
                .map(|_| String::from_utf8_lossy(&input).into_owned()),
        )
    }
}

guests::export!(Stdin);
