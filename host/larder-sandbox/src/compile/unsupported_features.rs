//! Finds out which features of WebAssembly a component or module requires that this host does not support. The engine
//! only reports the byte at which it stopped, not the compiler option that is the cause.

use wasmparser::{Validator, WasmFeatures};

/// The features that are disabled in the build or in the configuration of the engine, by the names that compilers use
/// for them.
const UNSUPPORTED: [(WasmFeatures, &str); 10] = [
    (
        WasmFeatures::EXCEPTIONS.union(WasmFeatures::LEGACY_EXCEPTIONS),
        "exception handling",
    ),
    (WasmFeatures::GC, "garbage collection (GC)"),
    (WasmFeatures::THREADS, "threads (shared memory, atomics)"),
    (WasmFeatures::MEMORY64, "64-bit memory (memory64)"),
    (WasmFeatures::RELAXED_SIMD, "relaxed SIMD"),
    (WasmFeatures::STACK_SWITCHING, "stack switching"),
    (WasmFeatures::CUSTOM_PAGE_SIZES, "custom page sizes"),
    (WasmFeatures::WIDE_ARITHMETIC, "wide arithmetic"),
    (
        WasmFeatures::CM_ASYNC,
        "asynchronous functions of the component model (WASI 0.3)",
    ),
    (
        WasmFeatures::CM_FIXED_LENGTH_LISTS,
        "lists of a fixed length",
    ),
];

/// Returns the unsupported features that a component or module requires. The list is empty if the bytes are also
/// invalid with all features. Validates the bytes several times, so this is only called for bytes that the engine
/// rejected.
pub fn unsupported_features(bytes: &[u8]) -> Vec<&'static str> {
    let all = WasmFeatures::all();
    if !is_valid(bytes, all) {
        return Vec::new();
    }
    let required = UNSUPPORTED
        .iter()
        .filter(|(feature, _)| !is_valid(bytes, all.difference(*feature)));
    required.map(|(_, name)| *name).collect()
}

fn is_valid(bytes: &[u8], features: WasmFeatures) -> bool {
    Validator::new_with_features(features)
        .validate_all(bytes)
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that consists of a header and one section.
    fn module(section: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        bytes.extend([section, u8::try_from(content.len()).unwrap()]);
        bytes.extend(content);
        bytes
    }

    #[test]
    fn names_the_features_that_are_required() {
        // A shared memory, and a memory with 64-bit addresses.
        assert_eq!(
            unsupported_features(&module(5, &[1, 3, 1, 1])),
            ["threads (shared memory, atomics)"]
        );
        assert_eq!(
            unsupported_features(&module(5, &[1, 4, 1])),
            ["64-bit memory (memory64)"]
        );
        // A type that is a struct without fields.
        assert_eq!(
            unsupported_features(&module(1, &[1, 0x5f, 0])),
            ["garbage collection (GC)"]
        );
        // A function type, and a tag of that type.
        let mut tag = module(1, &[1, 0x60, 0, 0]);
        tag.extend([13, 3, 1, 0, 0]);
        assert_eq!(unsupported_features(&tag), ["exception handling"]);
    }

    #[test]
    fn names_nothing_for_supported_or_invalid_bytes() {
        for bytes in [
            module(5, &[1, 0, 1]),
            module(5, &[1, 0]),
            b"\0asm".to_vec(),
            Vec::new(),
        ] {
            assert!(unsupported_features(&bytes).is_empty(), "{bytes:?}");
        }
    }
}
