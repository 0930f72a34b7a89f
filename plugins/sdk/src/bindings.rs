//! Bindings that wit-bindgen generates from the contract: one module for the interfaces that every provider
//! exports, and one for each optional interface. They are public only for the macros of this crate.
#![allow(missing_docs, clippy::all, reason = "generated code")]
#![allow(unreachable_pub, unsafe_code, reason = "generated code")]

pub use self::larder::provider::{http_client, provider_host, provider_types};

wit_bindgen::generate!({
    path: "wit",
    world: "provider",
    pub_export_macro: true,
    export_macro_name: "__export_resources",
    default_bindings_module: "larder_provider::bindings",
    additional_derives: [PartialEq],
    generate_unused_types: true,
});

/// Generates a world with a single optional interface. It uses the types of the world above. The linker
/// merges all worlds that a component exports.
macro_rules! optional {
    ($module:ident, $export:literal, $inline:literal) => {
        pub mod $module {
            wit_bindgen::generate!({
                path: "wit",
                inline: $inline,
                pub_export_macro: true,
                export_macro_name: $export,
                default_bindings_module: "larder_provider::bindings",
                additional_derives: [PartialEq],
                with: { "larder:provider/provider-types@0.1.0": crate::bindings::provider_types },
            });
        }
    };
}
optional!(
    completions,
    "__export_completions",
    "package larder:sdk; world completions { export larder:provider/completion-provider@0.1.0; }"
);
optional!(
    versions,
    "__export_versions",
    "package larder:sdk; world versions { export larder:provider/version-provider@0.1.0; }"
);
