//! Conversion of what a guest returns.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_sandbox::provider::fuzzing::wit_conversion(data));
