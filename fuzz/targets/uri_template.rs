//! URI templates (RFC 6570): parsing, matching and expansion.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_uri_template::fuzzing::uri_template(data));
