//! Bindings that wit-bindgen generates from the contract: one module for the interfaces that every provider
//! exports, and one for each optional interface. They are public only for the macros of this crate.
#![allow(missing_docs, clippy::all, reason = "generated code")]
#![allow(unreachable_pub, unsafe_code, reason = "generated code")]

pub use self::larder::provider::{http_client, key_value, provider_host, provider_types};

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
    ($module:ident, $export:literal, $inline:literal, { $($with:tt)* }) => {
        pub mod $module {
            wit_bindgen::generate!({
                path: "wit",
                inline: $inline,
                pub_export_macro: true,
                export_macro_name: $export,
                default_bindings_module: "larder_provider::bindings",
                additional_derives: [PartialEq],
                generate_unused_types: true,
                with: { $($with)* },
            });
        }
    };
}
optional!(
    completions,
    "__export_completions",
    "package larder:sdk; world completions { export larder:provider/completion-provider@0.1.0; }",
    { "larder:provider/provider-types@0.1.0": crate::bindings::provider_types }
);
optional!(
    directories,
    "__export_directories",
    "package larder:sdk; world directories { export larder:provider/directory-provider@0.1.0; }",
    { "larder:provider/provider-types@0.1.0": crate::bindings::provider_types }
);
optional!(
    versions,
    "__export_versions",
    "package larder:sdk; world versions { export larder:provider/version-provider@0.1.0; }",
    { "larder:provider/provider-types@0.1.0": crate::bindings::provider_types }
);

#[cfg(feature = "interactive")]
pub use self::interaction::larder::provider::{interaction_host, interaction_types};

/// The types that tools and prompts share, and the functions of the host for them.
#[cfg(feature = "interactive")]
pub mod interaction {
    wit_bindgen::generate!({
        path: "wit",
        inline: "package larder:sdk; world interaction {
            import larder:provider/interaction-types@0.1.0;
            import larder:provider/interaction-host@0.1.0;
        }",
        additional_derives: [PartialEq],
        generate_unused_types: true,
        with: {
            "larder:provider/provider-types@0.1.0": crate::bindings::provider_types,
            "larder:provider/interaction-types@0.1.0": generate,
            "larder:provider/interaction-host@0.1.0": generate,
        },
    });
}

#[cfg(feature = "interactive")]
optional!(
    tools,
    "__export_tools",
    "package larder:sdk; world tools { export larder:provider/tool-provider@0.1.0; }",
    {
        "larder:provider/provider-types@0.1.0": crate::bindings::provider_types,
        "larder:provider/interaction-types@0.1.0": crate::bindings::interaction_types,
    }
);
#[cfg(feature = "interactive")]
optional!(
    prompts,
    "__export_prompts",
    "package larder:sdk; world prompts { export larder:provider/prompt-provider@0.1.0; }",
    {
        "larder:provider/provider-types@0.1.0": crate::bindings::provider_types,
        "larder:provider/interaction-types@0.1.0": crate::bindings::interaction_types,
    }
);
#[cfg(feature = "interactive")]
optional!(
    search,
    "__export_search",
    "package larder:sdk; world search { export larder:provider/search-provider@0.1.0; }",
    { "larder:provider/provider-types@0.1.0": crate::bindings::provider_types }
);
#[cfg(feature = "interactive")]
optional!(
    settings,
    "__export_settings",
    "package larder:sdk; world settings { export larder:provider/settings-provider@0.1.0; }",
    {}
);
