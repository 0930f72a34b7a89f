//! What is in a new project: the author's own files out of `host/templates`, and the SDK of the language, so that
//! nothing of ours has to be fetched.

use super::contract;
use super::scaffold::Kit;

/// Paths in a project, and the texts there.
pub(super) type Texts = &'static [(&'static str, &'static str)];

/// Files by the names they get, from the places they have.
macro_rules! texts {
    ($root:literal: $($to:literal <- $from:literal),* $(,)?) => {
        &[$(($to, include_str!(concat!("../../", $root, $from)))),*]
    };
}

/// The same, where files keep their names.
macro_rules! copies {
    ($root:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../", $root, $name)))),*]
    };
}

/// The author's own files.
pub(super) fn own(kit: Kit) -> Texts {
    match kit {
        Kit::Rust => RUST,
        Kit::Python => PYTHON,
        Kit::JavaScript => JAVASCRIPT,
        Kit::Go => GO,
        Kit::C => C,
    }
}

/// The SDK, which is in folders of its own: where each is, and what is in it.
pub(super) fn sdk(kit: Kit) -> Vec<(&'static str, Texts)> {
    match kit {
        Kit::Rust => vec![("larder-provider", RUST_SDK), ("larder-provider/wit", contract::wit())],
        Kit::Python => vec![("larder_provider", PYTHON_SDK), ("larder_provider/wit", contract::wit())],
        Kit::JavaScript => vec![
            ("larder-provider", JAVASCRIPT_SDK),
            ("larder-provider/wit/deps/larder-provider", contract::wit()),
        ],
        Kit::Go => vec![("larder-provider", GO_SDK)],
        Kit::C => vec![("larder-provider", C_SDK)],
    }
}

const RUST: Texts = texts! { "templates/rust/":
    "Cargo.toml" <- "Cargo.toml.in",
    "src/lib.rs" <- "src/lib.rs",
    "tests/provider.rs" <- "tests/provider.rs",
    ".cargo/config.toml" <- "cargo-config.toml",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
    "larder-provider/Cargo.toml" <- "sdk/Cargo.toml.in",
};

const PYTHON: Texts = texts! { "templates/python/":
    "app.py" <- "app.py",
    "test_provider.py" <- "test_provider.py",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const JAVASCRIPT: Texts = texts! { "templates/javascript/":
    "provider.js" <- "provider.js",
    "package.json" <- "package.json",
    "test.js" <- "test.js",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const GO: Texts = texts! { "templates/go/":
    "go.mod" <- "go.mod.in",
    "main.go" <- "main.go",
    "test/provider_test.go" <- "provider_test.go",
    "Makefile" <- "Makefile",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const C: Texts = texts! { "templates/c/":
    "app.c" <- "app.c",
    "Makefile" <- "Makefile",
    "test.sh" <- "test.sh",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const RUST_SDK: Texts = copies! { "../plugins/sdk/":
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
    "src/lib.rs",
    "src/page.rs",
    "src/provider.rs",
    "src/request.rs",
};

const PYTHON_SDK: Texts = copies! { "../sdk/python/larder_provider/":
    "__init__.py",
    "componentize-py.toml",
    "errors.py",
    "export.py",
    "guest.py",
    "host.py",
    "http.py",
    "provider.py",
    "py.typed",
    "values.py",
};

const JAVASCRIPT_SDK: Texts = copies! { "../sdk/javascript/":
    "README.md",
    "package.json",
    "src/define.js",
    "src/errors.js",
    "src/files.js",
    "src/greedy.js",
    "src/host.js",
    "src/http.js",
    "src/index.d.ts",
    "src/index.js",
    "src/page.js",
    "src/request.js",
    "src/response.js",
    "src/utf8.js",
    "src/values.js",
    "wit/deps/wasi-filesystem/filesystem.wit",
    "wit/javascript.wit",
};

const GO_SDK: Texts = copies! { "../sdk/go/":
    "README.md",
    "convert_guest.go",
    "errors.go",
    "go.mod",
    "host.go",
    "host_guest.go",
    "host_native.go",
    "http.go",
    "internal/asked/asked.go",
    "internal/bindings/export_larder_provider_completion_provider/provider.go",
    "internal/bindings/export_larder_provider_resource_provider/provider.go",
    "internal/bindings/export_larder_provider_version_provider/provider.go",
    "internal/bindings/larder_provider_completion_provider/empty.s",
    "internal/bindings/larder_provider_completion_provider/wit_bindings.go",
    "internal/bindings/larder_provider_http_client/empty.s",
    "internal/bindings/larder_provider_http_client/wit_bindings.go",
    "internal/bindings/larder_provider_provider_host/empty.s",
    "internal/bindings/larder_provider_provider_host/wit_bindings.go",
    "internal/bindings/larder_provider_provider_types/empty.s",
    "internal/bindings/larder_provider_provider_types/wit_bindings.go",
    "internal/bindings/larder_provider_resource_provider/empty.s",
    "internal/bindings/larder_provider_resource_provider/wit_bindings.go",
    "internal/bindings/larder_provider_version_provider/empty.s",
    "internal/bindings/larder_provider_version_provider/wit_bindings.go",
    "internal/bindings/wit_exports/wit_exports.go",
    "internal/wit/LICENSE",
    "internal/wit/runtime/empty.s",
    "internal/wit/runtime/runtime.go",
    "internal/wit/types/option.go",
    "internal/wit/types/result.go",
    "internal/wit/types/tuple.go",
    "internal/wit/types/unit.go",
    "provider.go",
    "register_guest.go",
    "text.go",
    "values.go",
};

const C_SDK: Texts = copies! { "../sdk/c/":
    "README.md",
    "larder.c",
    "larder.h",
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// What is in a folder and those in it, without tests, the contract, and what tools leave there.
    fn below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for item in fs::read_dir(folder).unwrap() {
            let item = item.unwrap();
            let name = item.file_name().into_string().unwrap();
            let path = format!("{prefix}{name}");
            let left = ["test", "tests", "target", "node_modules", "__pycache__"].contains(&&*name);
            let contract = contract::wit().iter().any(|(file, _)| *file == name);
            let ours = !left && !contract && !name.ends_with("_test.go");
            match item.file_type().unwrap().is_dir() {
                _ if !ours => {}
                true => below(&item.path(), &format!("{path}/"), found),
                false => drop(found.insert(path)),
            }
        }
    }

    fn check(kit: Kit, place: &str) {
        let mut found = BTreeSet::new();
        below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(place), "", &mut found);
        // Its own is another one, without a workspace.
        found.retain(|name| kit != Kit::Rust || name != "Cargo.toml");
        let compiled: BTreeSet<String> = sdk(kit)[0].1.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(compiled, found, "{place}");
    }

    #[test]
    fn the_whole_sdk_is_compiled_in() {
        check(Kit::Rust, "plugins/sdk");
        check(Kit::Python, "sdk/python/larder_provider");
        check(Kit::JavaScript, "sdk/javascript");
        check(Kit::Go, "sdk/go");
        check(Kit::C, "sdk/c");
        let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/sdk");
        let wanted = fs::read_to_string(sdk.join("Cargo.toml")).unwrap();
        let wanted = wanted.lines().find(|line| line.starts_with("wit-bindgen")).unwrap();
        let copied = RUST.iter().find(|(name, _)| *name == "larder-provider/Cargo.toml").unwrap().1;
        assert!(copied.contains(wanted), "{wanted}");
    }
}
