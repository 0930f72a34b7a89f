//! Exports functions that misbehave, beside one that works.

wit_bindgen::generate!({
    inline: r#"
        package guests:faults;

        world faults {
            export fine: func() -> u32;
            export trap: func();
            export spin: func();
            export sleep: func();
            export long-text: func(bytes: u32) -> string;
            export long-list: func(items: u32) -> list<u32>;
            export stored: func() -> u32;
        }
    "#,
});

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

static CALLS: AtomicU32 = AtomicU32::new(0);

struct Component;

impl Guest for Component {
    fn fine() -> u32 {
        1
    }

    fn trap() {
        panic!("as requested")
    }

    fn spin() {
        loop {
            std::hint::black_box(());
        }
    }

    fn sleep() {
        std::thread::sleep(Duration::from_secs(3_600));
    }

    fn long_text(bytes: u32) -> String {
        "x".repeat(bytes as usize)
    }

    fn long_list(items: u32) -> Vec<u32> {
        (0..items).collect()
    }

    fn stored() -> u32 {
        CALLS.fetch_add(1, Ordering::Relaxed) + 1
    }
}

export!(Component);
