//! Cursors of lists.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_core::gateway::fuzzing::cursor(data));
