//! Allocates memory in an endless loop.

use guests::*;

struct Eat;

impl Behaviour for Eat {
    fn entries() -> Vec<Entry> {
        vec![entry("eat://everything")]
    }

    fn read(_request: ReadRequest) -> Result<Reading, Error> {
        let mut allocated = vec![];
        loop {
            allocated.push(std::hint::black_box(vec![1_u8; 1 << 20]));
        }
    }
}

guests::export!(Eat);
