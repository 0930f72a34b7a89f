//! JSON-RPC messages, as an HTTP body or a line of stdio.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_mcp::fuzzing::json_rpc(data));
