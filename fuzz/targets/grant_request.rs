//! `NAME.toml` next to a component.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_config::fuzzing::grant_request(data));
