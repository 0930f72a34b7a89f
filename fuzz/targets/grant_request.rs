//! `NAME.toml` next to a component.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder::config::fuzzing::grant_request(data));
