//! Fills a number of MiB of memory with bytes, and keeps them for a time: `hold-memory://{mebibytes}/{milliseconds}`.

use std::time::Duration;

use guests::*;

struct HoldMemory;

impl Behaviour for HoldMemory {
    fn templates() -> Vec<&'static str> {
        vec!["hold-memory://{mebibytes}/{milliseconds}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let number = |name| value(&request, name).parse::<u64>().unwrap_or(0);
        let memory: Vec<_> = (0..number("mebibytes"))
            .map(|_| std::hint::black_box(vec![1_u8; 1 << 20]))
            .collect();
        std::thread::sleep(Duration::from_millis(number("milliseconds")));
        text(format!("held {} MiB", memory.len()))
    }
}

guests::export!(HoldMemory);
