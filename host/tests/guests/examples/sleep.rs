//! Sleeps for an hour, or for the time in the URI, without using CPU time. `sleep://left/MS` sleeps for this time and
//! returns the remaining time before and after that.

use std::time::Duration;

use guests::*;

struct Sleep;

impl Behaviour for Sleep {
    fn describe() -> Description {
        sleep_in("describe");
        description()
    }

    fn entries() -> Vec<Entry> {
        sleep_in("list");
        vec![entry("sleep://hour")]
    }

    fn templates() -> Vec<&'static str> {
        vec!["sleep://ms/{milliseconds}", "sleep://left/{milliseconds}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        host::log(host::Level::Info, "sleeping");
        host::progress(1.0, None, None);
        let before = host::time_left_ms();
        match value(&request, "milliseconds").parse() {
            Ok(milliseconds) => std::thread::sleep(Duration::from_millis(milliseconds)),
            Err(_) => sleep_in("read"),
        }
        match request.uri.starts_with("sleep://left/") {
            true => text(format!("{before} {}", host::time_left_ms())),
            false => text("slept"),
        }
    }
}

fn sleep_in(function: &str) {
    if misbehaves_in(function) {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

guests::export!(Sleep);
