//! Bytes of an HTTP connection, up to the response.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_mcp::fuzzing::http_head(data));
