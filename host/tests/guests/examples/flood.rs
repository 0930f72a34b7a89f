//! Writes to stdout, stderr and the log before it answers: a number of lines, lines of control characters, lines
//! without an end, or one long line. It can also send a number of signals and progress notifications.

use guests::*;

/// Characters that are several times as long when they are escaped.
const CONTROLS: &str = "\u{1}\u{200b}\"\\";

struct Flood;

impl Behaviour for Flood {
    fn entries() -> Vec<Entry> {
        vec![entry("flood://forever")]
    }

    fn templates() -> Vec<&'static str> {
        vec![
            "flood://lines/{count}",
            "flood://controls/{count}",
            "flood://line/{bytes}",
            "flood://reports/{count}",
            "flood://foreign/{count}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let number = |name| value(&request, name).parse().unwrap_or(0);
        match request.uri.split('/').nth(2) {
            Some("forever") => (0..u64::MAX).for_each(|n| write(&format!("line {n}"))),
            Some("lines") => (0..number("count")).for_each(|n| write(&format!("line {n}"))),
            Some("controls") => {
                (0..number("count")).for_each(|n| write(&format!("{n} {}", CONTROLS.repeat(20))))
            }
            Some("foreign") => {
                (0..number("count")).for_each(|n| host::resource_updated(&format!("nobody://{n}")));
            }
            Some("reports") => (0..number("count")).for_each(report),
            _ => write(&"x".repeat(number("bytes"))),
        }
        text("flooded")
    }
}

fn write(line: &str) {
    println!("stdout {line}");
    eprintln!("stderr {line}");
    host::log(host::Level::Info, &format!("log {line}"));
}

fn report(n: usize) {
    host::resource_updated(&format!("flood://lines/{n}"));
    host::resources_changed();
    host::progress(n as f64, None, None);
}

guests::export!(Flood);
