//! Rules about the structure of the source that neither Cargo nor the compiler can express: no import cycles between
//! the modules of a crate, which crate may use which library, where tasks are spawned, the words that names must not
//! use, and what documents say about the source.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read the source has failed"
)]

#[path = "structure/hostile_tests.rs"]
mod hostile_tests;
#[path = "structure/imports.rs"]
mod imports;
#[path = "structure/internals.rs"]
mod internals;
#[path = "structure/platforms.rs"]
mod platforms;
#[path = "structure/vocabulary.rs"]
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Libraries that only these crates may depend on, outside of tests.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("async-nats", &["larder-cluster"]),
    ("axum", &["larder-admin"]),
    ("clap", &["larder"]),
    ("hyper", &["larder-admin", "larder-mcp"]),
    ("jsonc-parser", &["larder"]),
    ("jsonwebtoken", &["larder-mcp"]),
    ("notify", &["larder-core"]),
    ("prometheus-client", &["larder-runtime"]),
    ("oci-client", &["larder-registry"]),
    ("redb", &["larder-key-value"]),
    (
        "reqwest",
        &[
            "larder-client",
            "larder-core",
            "larder-http",
            "larder-mcp",
            "larder-registry",
            "larder-sandbox",
        ],
    ),
    ("sigstore-verify", &["larder-signature"]),
    ("tantivy", &["larder-search"]),
    ("toml", &["larder", "larder-config", "larder-registry"]),
    ("toml_edit", &["larder"]),
    ("toml_parser", &["larder-model"]),
    ("wasmtime", &["larder-sandbox"]),
    ("wasmtime-wasi", &["larder-sandbox"]),
    ("wasmtime-wasi-http", &["larder-sandbox"]),
    ("wit-bindgen-core", &["larder-author"]),
    ("wit-component", &["larder-author"]),
];

/// Crates that must build without these libraries, directly or through others.
const WITHOUT: &[(&str, &[&str])] = &[
    (
        "larder-uri-template",
        &["larder-model", "tokio", "wasmtime"],
    ),
    (
        "larder-http",
        &["larder-model", "larder-runtime", "wasmtime"],
    ),
    ("larder-json-schema", &["larder-model", "tokio", "wasmtime"]),
    (
        "larder-client",
        &["larder-core", "larder-model", "larder-sandbox", "wasmtime"],
    ),
    (
        "larder-author",
        &["larder-core", "larder-model", "larder-sandbox", "wasmtime"],
    ),
    (
        "larder-signature",
        &["aws-lc-rs", "larder-core", "openssl", "wasmtime"],
    ),
    (
        "larder-core",
        &[
            "larder-registry",
            "larder-sandbox",
            "larder-signature",
            "oci-client",
            "sigstore-verify",
            "toml",
            "wasmtime",
        ],
    ),
    ("larder-mcp", &["larder-sandbox", "wasmtime"]),
    ("larder-admin", &["larder-sandbox", "wasmtime"]),
    (
        "larder-provider",
        &["larder-core", "larder-sandbox", "wasmtime"],
    ),
    ("larder-functions", &["larder-model", "tokio", "wasmtime"]),
    (
        "larder-platform",
        &["larder-model", "larder-runtime", "tokio", "wasmtime"],
    ),
];

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in std::fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The crates of the host, by name, with their folders.
fn crates() -> BTreeMap<String, PathBuf> {
    let folders = std::fs::read_dir(root().join("host"))
        .unwrap()
        .map(|item| item.unwrap().path());
    let crates: BTreeMap<_, _> = folders
        .filter(|folder| folder.join("Cargo.toml").exists())
        .map(|folder| {
            (
                folder.file_name().unwrap().to_str().unwrap().to_owned(),
                folder,
            )
        })
        .collect();
    assert!(
        crates.len() >= 8,
        "the crates of the host were not found: {:?}",
        crates.keys()
    );
    crates
}

/// The direct dependencies of a crate, without the dependencies of its tests.
fn dependencies(folder: &Path) -> BTreeSet<String> {
    dependencies_in(folder, &["dependencies", "build-dependencies"])
}

/// The direct dependencies of a crate in these tables of its manifest.
fn dependencies_in(folder: &Path, tables: &[&str]) -> BTreeSet<String> {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    tables
        .iter()
        .filter_map(|name| manifest.get(*name).cloned())
        .flat_map(|table| {
            table
                .as_table()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Whether rustdoc compiles an example in the comments of this file.
fn has_tested_example(path: &Path) -> bool {
    let source = std::fs::read_to_string(path).unwrap();
    let mut is_open = false;
    for line in source.lines() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("///").or(line.strip_prefix("//!")) else {
            is_open = false;
            continue;
        };
        let Some(language) = comment.trim_start().strip_prefix("```") else {
            continue;
        };
        if !is_open && ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&language) {
            return true;
        }
        is_open = !is_open;
    }
    false
}

#[test]
fn rustdoc_runs_for_the_crates_with_tested_examples() {
    for (name, folder) in crates() {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let setting = manifest.get("lib").and_then(|lib| lib.get("doctest"));
        let is_run = setting.and_then(toml::Value::as_bool).unwrap_or(true);
        let sources = sources(&folder.join("src"));
        let has_example = sources.iter().any(|path| has_tested_example(path));
        assert_eq!(
            is_run, has_example,
            "set `doctest` in the table `[lib]` of {name}: rustdoc needs seconds for each crate"
        );
    }
}

#[test]
fn a_library_is_used_only_by_its_crates() {
    for (name, folder) in crates() {
        for (library, allowed) in LIBRARIES {
            let uses = dependencies(&folder).contains(*library);
            assert!(
                !uses || allowed.contains(&name.as_str()),
                "{name} depends on {library}, which only {allowed:?} may"
            );
        }
    }
}

#[test]
fn crates_do_not_depend_on_what_they_must_build_without() {
    let crates = crates();
    for (name, forbidden) in WITHOUT {
        let (mut all, mut next) = (BTreeSet::new(), vec![(*name).to_owned()]);
        while let Some(one) = next.pop() {
            let Some(folder) = crates.get(&one) else {
                continue;
            };
            let new: Vec<_> = dependencies(folder)
                .into_iter()
                .filter(|found| all.insert(found.clone()))
                .collect();
            next.extend(new);
        }
        let found: Vec<_> = forbidden
            .iter()
            .filter(|library| all.contains(**library))
            .collect();
        assert!(found.is_empty(), "{name} depends on {found:?}");
    }
}

#[test]
fn unit_tests_of_core_and_protocol_need_no_engine() {
    let crates = crates();
    for name in ["larder-core", "larder-mcp", "larder-admin"] {
        let of_tests = dependencies_in(&crates[name], &["dev-dependencies"]);
        assert!(
            !of_tests.contains("larder-sandbox"),
            "use `larder_provider::fake` in the tests of {name}"
        );
    }
}

#[test]
fn modules_of_a_crate_have_no_import_cycle() {
    let xtask = ("xtask".to_owned(), root().join("xtask"));
    let found = crates().into_iter().chain([xtask]).map(|(name, folder)| {
        let cycles = imports::cycles(&folder.join("src"), &sources(&folder.join("src")));
        (name, cycles)
    });
    let found: Vec<_> = found.filter(|(_, cycles)| !cycles.is_empty()).collect();
    assert!(found.is_empty(), "import cycles: {found:#?}");
}

#[test]
fn tasks_are_spawned_through_the_drain() {
    for (name, folder) in crates() {
        for path in sources(&folder.join("src")) {
            let spawns = std::fs::read_to_string(&path)
                .unwrap()
                .contains("tokio::spawn");
            let is_drain = name == "larder-runtime" && path.ends_with("src/drain.rs");
            assert!(
                is_drain || !spawns,
                "{}: spawn tasks through `Drain`",
                path.display()
            );
        }
    }
}

#[test]
fn only_one_crate_distinguishes_operating_systems() {
    let mut found = Vec::new();
    for (name, folder) in crates() {
        if name != "larder-platform" {
            found.extend(platforms::distinctions(&folder));
        }
    }
    assert!(
        found.is_empty(),
        "put what differs between operating systems into larder-platform:\n{}",
        found.join("\n")
    );
}

#[test]
fn two_files_have_unsafe_calls() {
    let lint = concat!("unsafe", "_code");
    let folders = ["host", "xtask/src"].map(|folder| root().join(folder));
    let is_ours = |path: &PathBuf| {
        !path
            .components()
            .any(|part| part.as_os_str() == "guests" || part.as_os_str() == "target")
    };
    let mut exceptions: Vec<_> = folders
        .iter()
        .flat_map(|folder| sources(folder))
        .filter(is_ours)
        .collect();
    exceptions.retain(|path| std::fs::read_to_string(path).unwrap().contains(lint));
    let names: Vec<_> = exceptions
        .iter()
        .map(|path| path.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    assert_eq!(
        names,
        [
            "host/larder-platform/src/linux/threads/slice.rs",
            "host/larder-sandbox/src/compile/cache/map.rs"
        ]
    );
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains(&format!("{lint} = \"deny\"")));
}

#[test]
fn the_architecture_document_is_short_and_names_every_crate() {
    let document = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let words = document.split_whitespace().count();
    assert!(
        words <= 2000,
        "ARCHITECTURE.md has {words} words; decisions belong in docs/adr"
    );
    for name in crates().keys() {
        assert!(
            document.contains(&format!("`{name}`")),
            "ARCHITECTURE.md does not name {name}"
        );
    }
}

#[test]
fn old_names_are_not_used() {
    let found = vocabulary::old_names(&root());
    assert!(
        found.is_empty(),
        "use the usual term (docs/src/glossary.md):\n{}",
        found.join("\n")
    );
}

#[test]
fn names_of_types_are_nouns() {
    let mut found = Vec::new();
    for folder in crates().values() {
        for path in sources(&folder.join("src")) {
            found.extend(vocabulary::unclear_types(&root(), &path));
        }
    }
    assert!(
        found.is_empty(),
        "name what the value is (`ReadOutcome`), not what happened (`Answered`):\n{}",
        found.join("\n")
    );
}

#[test]
fn the_index_of_the_integration_tests_has_each_file() {
    let index = std::fs::read_to_string(root().join("host/tests/README.md")).unwrap();
    let listed: BTreeSet<String> = index
        .split("](integration/")
        .skip(1)
        .map(|link| link.split(')').next().unwrap().to_owned())
        .collect();
    let folder = root().join("host/tests/integration");
    let mut found = BTreeSet::new();
    for room in std::fs::read_dir(&folder).unwrap() {
        let room = room.unwrap();
        if !room.file_type().unwrap().is_dir() {
            continue;
        }
        for file in std::fs::read_dir(room.path()).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".rs") {
                found.insert(format!("{}/{name}", room.file_name().display()));
            }
        }
    }
    assert_eq!(
        listed, found,
        "host/tests/README.md has one row for each file"
    );
}

#[test]
fn the_page_about_hostile_tests_names_what_exists() {
    let missing = hostile_tests::missing_names(&root());
    assert!(
        missing.is_empty(),
        "docs/src/hostile-tests.md names what does not exist: {missing:#?}"
    );
}

#[test]
fn the_pages_about_internals_name_what_exists() {
    let problems = internals::problems(&root());
    assert!(
        problems.is_empty(),
        "docs/internals must follow the source:\n{}",
        problems.join("\n")
    );
}
