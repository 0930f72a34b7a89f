//! The rules of the house, read from its source: which room may use which, and who may name which library.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the source has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Floors from the ground up. A room uses rooms below it, never above, never its neighbours.
const FLOORS: &[&[&str]] = &[
    &["name", "uri", "template", "trace", "file_fingerprint"],
    &["policy", "resource", "drain", "metrics", "health", "idle_timeout", "yield_batch"],
    &["sandbox", "audit", "telemetry"],
    &["provider"],
    &["catalog", "source"],
    &["gateway", "change_detector", "reconcile"],
    &["endpoint", "admin"],
    &["config", "client", "author"],
    &["app"],
    &["cli"],
];

/// What is above the numbered floors.
const ROOF: usize = 8;

/// Libraries that only these rooms may name.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("hyper", &["admin", "endpoint"]),
    ("wasmtime", &["sandbox", "provider"]),
    ("wasmtime_wasi", &["sandbox"]),
    ("wasmtime_wasi_http", &["sandbox"]),
    ("reqwest", &["sandbox", "telemetry", "client", "endpoint"]),
    ("jsonwebtoken", &["endpoint"]),
    ("clap", &["cli"]),
    ("notify", &["change_detector", "source"]),
    ("toml", &["config"]),
    ("wit_component", &["author"]),
    ("wit_bindgen_core", &["author"]),
];

/// Neighbours that may be used nevertheless, each for a reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    // A call carries metadata and a team's name; a permit is made of a call. Both are plain data.
    ("policy", "resource"),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in std::fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// The files of `src` by room, without what belongs to no room (`lib.rs`, `main.rs`).
fn rooms() -> BTreeMap<String, Vec<(PathBuf, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut rooms: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for path in sources(&root) {
        let inner = path.strip_prefix(&root).unwrap().to_owned();
        let room = inner.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if room != "lib" && room != "main" {
            let text = std::fs::read_to_string(&path).unwrap();
            rooms.entry(room).or_default().push((inner, text));
        }
    }
    rooms
}

/// The rooms that a source names after `crate::`, in groups as well.
fn uses(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for rest in text.split("crate::").skip(1) {
        let names = match rest.strip_prefix('{') {
            Some(group) => group.split_once('}').map_or(group, |(inner, _)| inner),
            None => rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap(),
        };
        found.extend(names.split(',').map(|name| name.trim().split("::").next().unwrap()));
    }
    found
}

#[test]
fn a_room_uses_only_rooms_below_it() {
    let floor = |room: &str| FLOORS.iter().position(|rooms| rooms.contains(&room));
    let rooms = rooms();
    assert!(rooms.len() >= FLOORS.len(), "the house has fewer rooms than floors: {:?}", rooms.keys());
    for (room, files) in &rooms {
        let own = floor(room).unwrap_or_else(|| panic!("`{room}` has no floor: give it one in this test"));
        for (path, text) in files {
            for used in uses(text).into_iter().filter(|used| used != room) {
                let Some(other) = floor(used) else { continue };
                let excused = EXCEPTIONS.contains(&(room.as_str(), used));
                assert!(
                    other < own || excused,
                    "{}: `{room}` uses `{used}`, which is not below it",
                    path.display()
                );
            }
        }
    }
}

/// Rooms with their floors, of words such as `roof main app 7 config`.
fn named<'a>(words: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let (mut floor, mut found) = (None, BTreeMap::new());
    for word in words {
        match (word, word.parse()) {
            ("roof", _) => floor = Some(ROOF),
            (_, Ok(number)) => floor = Some(number),
            (room, _) => _ = found.insert(room, floor.unwrap()),
        }
    }
    found
}

#[test]
fn the_documents_know_every_room() {
    let document = |name: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)).unwrap()
    };
    let floors = FLOORS.iter().enumerate();
    let rooms = floors.flat_map(|(floor, rooms)| rooms.iter().map(move |room| (*room, floor.min(ROOF))));
    let rooms: BTreeMap<_, _> = rooms.chain([("main", ROOF)]).collect();
    let readme = document("README.md");
    let map = readme.split("```\n").find(|text| text.starts_with("roof ")).unwrap();
    assert_eq!(named(map.split_whitespace()), rooms, "README.md");
    let architecture = document("ARCHITECTURE.md");
    let map =
        architecture.split("| floor | room | what it is |").nth(1).unwrap().split("\n\n").next().unwrap();
    let cells = map.lines().filter_map(|line| line.split('|').nth(1).zip(line.split('|').nth(2)));
    let words = cells.filter(|(floor, _)| !floor.starts_with('-'));
    let words = words.flat_map(|(floor, rooms)| floor.split_whitespace().chain(rooms.split_whitespace()));
    assert_eq!(named(words.map(|word| word.trim_matches('`'))), rooms, "ARCHITECTURE.md");
}

#[test]
fn a_library_is_named_only_in_its_rooms() {
    for (room, files) in rooms() {
        for (path, text) in files {
            for (library, allowed) in LIBRARIES {
                let named = text.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
                    line.split(|c: char| !c.is_alphanumeric() && c != '_')
                        .zip(line.split(|c: char| !c.is_alphanumeric() && c != '_').skip(1))
                        .any(|(word, _)| word == *library)
                        && line.contains(&format!("{library}::"))
                });
                assert!(
                    !named || allowed.contains(&room.as_str()),
                    "{}: `{library}` belongs to {allowed:?}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn tasks_are_spawned_through_the_drain() {
    for (room, files) in rooms() {
        for (path, text) in files {
            assert!(
                room == "drain" || !text.contains("tokio::spawn"),
                "{}: spawn through the drain",
                path.display()
            );
        }
    }
}

#[test]
fn one_file_has_the_unsafe_call() {
    let lint = concat!("unsafe", "_code");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["host/src", "host/tests/integration", "xtask/src"].map(|folder| workspace.join(folder));
    let lifted: Vec<_> = folders
        .iter()
        .flat_map(|folder| sources(folder))
        .filter(|path| std::fs::read_to_string(path).unwrap().contains(lint))
        .map(|path| path.strip_prefix(&workspace).unwrap().display().to_string())
        .collect();
    assert_eq!(lifted, ["host/src/sandbox/cache/map.rs"]);
    let manifest = std::fs::read_to_string(workspace.join("Cargo.toml")).unwrap();
    assert!(manifest.contains(&format!("{lint} = \"deny\"")));
}
