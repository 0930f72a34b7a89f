//! A signature in each format, as a stranger can put it next to a component.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_signature::fuzzing::signature(data));
