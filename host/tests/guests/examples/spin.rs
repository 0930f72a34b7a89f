//! Loops forever, and uses CPU time.

use guests::*;

struct Spin;

impl Behaviour for Spin {
    fn describe() -> Description {
        spin_in("describe");
        description()
    }

    fn entries() -> Vec<Entry> {
        spin_in("list");
        vec![entry("spin://forever")]
    }

    fn read(_request: ReadRequest) -> Result<Reading, Error> {
        spin_in("read");
        text("did not spin")
    }
}

fn spin_in(function: &str) {
    while misbehaves_in(function) {
        (0..u64::MAX).for_each(|i| {
            std::hint::black_box(i);
        });
    }
}

guests::export!(Spin);
