//! The files of the SDK of each language. A project contains these files, so that no package of Larder has to be
//! downloaded.

use super::contract;
use super::project_files::{ProjectLanguage, TextFiles};

/// Includes files under their own names.
macro_rules! copies {
    ($root:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../", $root, $name)))),*]
    };
}

/// Returns the folders of the SDK and their files.
pub(super) fn sdk(language: ProjectLanguage) -> Vec<(&'static str, TextFiles)> {
    match language {
        ProjectLanguage::Rust => {
            vec![
                ("larder-provider", RUST_SDK),
                ("larder-provider", RUST_SDK_MANIFEST),
                ("larder-provider/wit", contract::wit()),
            ]
        }
        ProjectLanguage::Python => {
            vec![
                ("larder_provider", PYTHON_SDK),
                ("larder_provider/wit", contract::wit()),
            ]
        }
        ProjectLanguage::JavaScript | ProjectLanguage::TypeScript => vec![
            ("larder-provider", JAVASCRIPT_SDK),
            ("larder-provider/wit/deps/larder-provider", contract::wit()),
        ],
        ProjectLanguage::Go => vec![("larder-provider", GO_SDK)],
        ProjectLanguage::C => vec![("larder-provider", C_SDK)],
        ProjectLanguage::Cpp => vec![("larder-provider", CPP_SDK), ("larder-provider/c", C_SDK)],
    }
}

/// Unlike the manifest in the repository, this manifest does not belong to a workspace.
const RUST_SDK_MANIFEST: TextFiles = &[(
    "Cargo.toml",
    include_str!("../templates/rust/sdk/Cargo.toml.in"),
)];

const RUST_SDK: TextFiles = copies! { "rust-sdk/":
    "README.md",
    "src/bindings.rs",
    "src/content.rs",
    "src/entry.rs",
    "src/error.rs",
    "src/export.rs",
    "src/greedy.rs",
    "src/host.rs",
    "src/host/guest.rs",
    "src/host/native.rs",
    "src/http.rs",
    "src/interactive.rs",
    "src/interactive/answer.rs",
    "src/interactive/app.rs",
    "src/interactive/block.rs",
    "src/interactive/call.rs",
    "src/interactive/export.rs",
    "src/interactive/host.rs",
    "src/interactive/input.rs",
    "src/interactive/input_request.rs",
    "src/interactive/prompt.rs",
    "src/interactive/prompt_result.rs",
    "src/interactive/prompts.rs",
    "src/interactive/schema.rs",
    "src/interactive/search.rs",
    "src/interactive/setting.rs",
    "src/interactive/tool.rs",
    "src/interactive/tools.rs",
    "src/interactive/units.rs",
    "src/key_value.rs",
    "src/key_value/native.rs",
    "src/lib.rs",
    "src/page.rs",
    "src/provider.rs",
    "src/request.rs",
};

const PYTHON_SDK: TextFiles = copies! { "sdk/python/larder_provider/":
    "__init__.py",
    "annotations.py",
    "check.py",
    "checks.py",
    "client.py",
    "codec.py",
    "componentize-py.toml",
    "convert.py",
    "declared.py",
    "development.py",
    "errors.py",
    "export.py",
    "guest.py",
    "guest_interaction.py",
    "host.py",
    "http.py",
    "input.py",
    "interaction.py",
    "interaction_results.py",
    "key_value.py",
    "location.py",
    "prompts.py",
    "provider.py",
    "py.typed",
    "resource_results.py",
    "settings.py",
    "tools.py",
    "values.py",
};

const JAVASCRIPT_SDK: TextFiles = copies! { "sdk/javascript/":
    "README.md",
    "build.js",
    "bundle.js",
    "package.json",
    "src/call.js",
    "src/check.js",
    "src/define.js",
    "src/development/exports.js",
    "src/development/full-provider.js",
    "src/development/interactive-provider.js",
    "src/development/program.js",
    "src/development/provider.js",
    "src/errors.js",
    "src/exports.js",
    "src/files.js",
    "src/greedy.js",
    "src/guard.js",
    "src/host.js",
    "src/http.js",
    "src/index.d.ts",
    "src/index.js",
    "src/interactive/define.js",
    "src/interactive/definitions.js",
    "src/interactive/exports.js",
    "src/interactive/host.js",
    "src/interactive/index.d.ts",
    "src/interactive/index.js",
    "src/interactive/input.js",
    "src/interactive/json.js",
    "src/interactive/messages.js",
    "src/interactive/prompts.js",
    "src/interactive/settings.js",
    "src/interactive/tools.js",
    "src/key-value.js",
    "src/location.js",
    "src/names.js",
    "src/page.js",
    "src/request.js",
    "src/response.js",
    "src/utf8.js",
    "src/values.js",
    "wit/deps/wasi-filesystem/filesystem.wit",
    "wit/javascript.wit",
};

const GO_SDK: TextFiles = copies! { "sdk/go/":
    "README.md",
    "check.go",
    "client.go",
    "convert_guest.go",
    "convert_interaction_guest.go",
    "errors.go",
    "go.mod",
    "host.go",
    "host_guest.go",
    "host_native.go",
    "http.go",
    "interaction.go",
    "internal/asked/asked.go",
    "internal/bindings/export_larder_provider_completion_provider/provider.go",
    "internal/bindings/export_larder_provider_prompt_provider/provider.go",
    "internal/bindings/export_larder_provider_resource_provider/provider.go",
    "internal/bindings/export_larder_provider_search_provider/provider.go",
    "internal/bindings/export_larder_provider_settings_provider/provider.go",
    "internal/bindings/export_larder_provider_tool_provider/provider.go",
    "internal/bindings/export_larder_provider_version_provider/provider.go",
    "internal/bindings/larder_provider_completion_provider/empty.s",
    "internal/bindings/larder_provider_completion_provider/wit_bindings.go",
    "internal/bindings/larder_provider_http_client/empty.s",
    "internal/bindings/larder_provider_http_client/wit_bindings.go",
    "internal/bindings/larder_provider_interaction_host/empty.s",
    "internal/bindings/larder_provider_interaction_host/wit_bindings.go",
    "internal/bindings/larder_provider_interaction_types/empty.s",
    "internal/bindings/larder_provider_interaction_types/wit_bindings.go",
    "internal/bindings/larder_provider_key_value/empty.s",
    "internal/bindings/larder_provider_key_value/wit_bindings.go",
    "internal/bindings/larder_provider_prompt_provider/empty.s",
    "internal/bindings/larder_provider_prompt_provider/wit_bindings.go",
    "internal/bindings/larder_provider_provider_host/empty.s",
    "internal/bindings/larder_provider_provider_host/wit_bindings.go",
    "internal/bindings/larder_provider_provider_types/empty.s",
    "internal/bindings/larder_provider_provider_types/wit_bindings.go",
    "internal/bindings/larder_provider_resource_provider/empty.s",
    "internal/bindings/larder_provider_resource_provider/wit_bindings.go",
    "internal/bindings/larder_provider_search_provider/empty.s",
    "internal/bindings/larder_provider_search_provider/wit_bindings.go",
    "internal/bindings/larder_provider_settings_provider/empty.s",
    "internal/bindings/larder_provider_settings_provider/wit_bindings.go",
    "internal/bindings/larder_provider_tool_provider/empty.s",
    "internal/bindings/larder_provider_tool_provider/wit_bindings.go",
    "internal/bindings/larder_provider_version_provider/empty.s",
    "internal/bindings/larder_provider_version_provider/wit_bindings.go",
    "internal/bindings/wit_exports/wit_exports.go",
    "internal/bindings/wit_exports_prompt_provider/wit_exports.go",
    "internal/bindings/wit_exports_search_provider/wit_exports.go",
    "internal/bindings/wit_exports_settings_provider/wit_exports.go",
    "internal/bindings/wit_exports_tool_provider/wit_exports.go",
    "internal/jsontext/jsontext.go",
    "internal/linked/linked.go",
    "internal/wit/LICENSE",
    "internal/wit/runtime/empty.s",
    "internal/wit/runtime/runtime.go",
    "internal/wit/types/option.go",
    "internal/wit/types/result.go",
    "internal/wit/types/tuple.go",
    "internal/wit/types/unit.go",
    "key_value.go",
    "key_value_guest.go",
    "key_value_native.go",
    "prompts.go",
    "prompts/export_guest.go",
    "prompts/prompts.go",
    "provider.go",
    "register_guest.go",
    "register_prompts_guest.go",
    "register_search_guest.go",
    "register_tools_guest.go",
    "search.go",
    "search/export_guest.go",
    "search/search.go",
    "settings.go",
    "settings/export_guest.go",
    "settings/settings.go",
    "text.go",
    "tools.go",
    "tools/export_guest.go",
    "tools/tools.go",
    "typed/form.go",
    "typed/schema.go",
    "typed/tool.go",
    "units.go",
    "values.go",
};

const C_SDK: TextFiles = copies! { "sdk/c/":
    "README.md",
    "larder.c",
    "larder.h",
    "larder_check.c",
    "larder_check.h",
    "larder_check_optional.c",
    "larder_interactive.c",
    "larder_interactive.h",
    "larder_json.c",
    "larder_key_value.c",
    "larder_key_value.h",
    "larder_settings.c",
    "larder_settings.h",
};

const CPP_SDK: TextFiles = copies! { "sdk/cpp/":
    "README.md",
    "larder.hpp",
    "larder/define.hpp",
    "larder/error.hpp",
    "larder/exports.hpp",
    "larder/exports_interactive.hpp",
    "larder/host.hpp",
    "larder/http.hpp",
    "larder/interaction.hpp",
    "larder/json.hpp",
    "larder/key_value.hpp",
    "larder/lift.hpp",
    "larder/lower.hpp",
    "larder/page.hpp",
    "larder/prompts.hpp",
    "larder/provider.hpp",
    "larder/settings.hpp",
    "larder/tools.hpp",
    "larder/values.hpp",
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Lists the files below a folder, without tests, build output, and the contract, which is a link.
    fn list_files(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for item in fs::read_dir(folder).unwrap() {
            let item = item.unwrap();
            let name = item.file_name().into_string().unwrap();
            let path = format!("{prefix}{name}");
            let excluded =
                ["test", "tests", "target", "node_modules", "__pycache__"].contains(&&*name);
            let kind = item.file_type().unwrap();
            let included = !excluded && !kind.is_symlink() && !name.ends_with("_test.go");
            match kind.is_dir() {
                _ if !included => {}
                true => list_files(&item.path(), &format!("{path}/"), found),
                false => drop(found.insert(path)),
            }
        }
    }

    fn check(language: ProjectLanguage, folder: &str) {
        let mut found = BTreeSet::new();
        list_files(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../..")
                .join(folder),
            "",
            &mut found,
        );
        // The template has its own Cargo.toml, without a workspace.
        found.retain(|name| language != ProjectLanguage::Rust || name != "Cargo.toml");
        let included: BTreeSet<String> = sdk(language)[0]
            .1
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        assert_eq!(included, found, "{folder}");
    }

    #[test]
    fn includes_the_whole_sdk() {
        check(ProjectLanguage::Rust, "plugins/sdk");
        check(ProjectLanguage::Python, "sdk/python/larder_provider");
        check(ProjectLanguage::JavaScript, "sdk/javascript");
        check(ProjectLanguage::TypeScript, "sdk/javascript");
        check(ProjectLanguage::Go, "sdk/go");
        check(ProjectLanguage::C, "sdk/c");
        check(ProjectLanguage::Cpp, "sdk/cpp");
        let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/sdk");
        let manifest = fs::read_to_string(sdk.join("Cargo.toml")).unwrap();
        let copied = RUST_SDK_MANIFEST[0].1;
        let (features, _) = manifest[manifest.find("[features]").unwrap()..]
            .split_once("\n# For")
            .unwrap();
        assert!(copied.contains(features.trim_end()), "{features}");
    }
}
