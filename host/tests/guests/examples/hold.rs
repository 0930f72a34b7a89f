//! Fills a number of MiB of memory with bytes, and keeps them for a time: `hold://{mebibytes}/{milliseconds}`.

use std::time::Duration;

use guests::*;

struct Hold;

impl Behaviour for Hold {
    fn templates() -> Vec<&'static str> {
        vec!["hold://{mebibytes}/{milliseconds}"]
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

guests::export!(Hold);
