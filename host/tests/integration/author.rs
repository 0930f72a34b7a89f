//! What authors of providers run: `new`, `bindings`, `pack`, `dev`, and `check` of one component.

use crate::house::component;
use crate::process::{Place, word};

#[test]
fn a_new_project_is_refused_before_anything_is_written() {
    let place = Place::of("").file("taken", "a file").file("file.txt", "");
    let before = names(&place);
    for (words, says) in [
        ("new My.Notes --lang rust", "`My.Notes` cannot be the name: use up to 64 lower-case letters"),
        ("new ../notes --lang c", "cannot be the name"),
        ("new larder-provider --lang rust", "choose another name"),
        ("new taken --lang go", "taken is there already"),
        ("new notes --lang go --path plugins", "plugins is there already"),
        ("new notes --lang cobol", "[possible values: rust, python, javascript, go, c]"),
        ("new notes", "--lang <LANGUAGE>"),
    ] {
        let said = place.larder(words).no(64);
        assert!(said.contains(says), "{words}: {said}");
    }
    let said = place.larder("new notes --lang c --path file.txt/notes").no(1);
    assert!(said.contains("cannot write file.txt/notes"), "{said}");
    assert_eq!(names(&place), before);
    let said = place.larder("new notes --lang python --path own").no(0);
    assert!(said.contains("own is a provider now"), "{said}");
    assert!(std::fs::read_to_string(place.path("own/app.py")).unwrap().contains("\"notes://hello\""));
}

fn names(place: &Place) -> Vec<String> {
    let items = std::fs::read_dir(place.path("")).unwrap();
    let mut names: Vec<_> = items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn bindings_are_written_and_nothing_else_is_touched() {
    let place = Place::of("").file("go.mod", "module example.dev/notes\n");
    let listed = place.larder("bindings c -o c").yes();
    assert_eq!(listed, "c/provider.c\nc/provider.h\nc/provider_component_type.o\n");
    std::fs::write(place.path("c/mine.c"), "mine").unwrap();
    std::fs::write(place.path("c/provider.h"), "old").unwrap();
    place.larder("bindings c -o c --with completions,versions").yes();
    let header = std::fs::read_to_string(place.path("c/provider.h")).unwrap();
    assert!(header.contains("exports_larder_provider_version_provider_versions("), "{header}");
    assert_eq!(std::fs::read_to_string(place.path("c/mine.c")).unwrap(), "mine");
    // The import path is that of the folder, wherever its go.mod is.
    place.larder("bindings go -o in/ner").yes();
    let exports = std::fs::read_to_string(place.path("in/ner/wit_exports/wit_exports.go")).unwrap();
    assert!(exports.contains("\"example.dev/notes/in/ner/larder_provider_resource_provider\""), "{exports}");
    place.larder("bindings wit -o wit").yes();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit")).unwrap() {
        let file = file.unwrap();
        if file.file_name().to_str().is_some_and(|name| name.ends_with(".wit")) {
            let copy = place.path("wit").join(file.file_name());
            assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(file.path()).unwrap());
        }
    }
    std::fs::remove_file(place.path("go.mod")).unwrap();
    let said = place.larder("bindings go -o go").no(64);
    assert!(said.contains("go mod init") && !place.path("go").exists(), "{said}");
}

#[test]
fn pack_says_what_is_wrong_with_a_module() {
    let place = Place::of("").file("text.wasm", "text").file("out.wasm", "old");
    let echo = component("echo");
    let said = place.larder(&format!("pack {} -o out.wasm", word(&echo))).no(1);
    assert!(said.contains("it is a component already"), "{said}");
    let said = place.larder("pack text.wasm -o out.wasm").no(1);
    assert!(said.contains("text.wasm: it is not WebAssembly"), "{said}");
    place.larder("pack gone.wasm -o out.wasm").no(64);
    assert_eq!(std::fs::read_to_string(place.path("out.wasm")).unwrap(), "old");
}

#[test]
fn check_asks_one_component() {
    let place = Place::of("liar@trap_start").file("text.wasm", "text");
    let fine = place.larder(&format!("check {}", word(&component("echo")))).yes();
    assert!(fine.contains("ok      read      echo://blob: "), "{fine}");
    let found = place.larder("check plugins/liar.wasm --json").json();
    assert_eq!(found["ok"], false, "{found}");
    let said = place.larder("check text.wasm");
    assert!(said.code == Some(1) && said.out.starts_with("FAILED  load"), "{}", said.out);
    place.larder("check gone.wasm").no(64);
}
