//! JSON Schema: compiling a schema, and validating a value with it.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_json_schema::fuzzing::json_schema(data));
