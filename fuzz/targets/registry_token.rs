//! A token of a registry, and a challenge that says where it is issued.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_registry::fuzzing::registry_token(data));
