//! What authors of providers run: `new`, `bindings`, `pack`, `dev`, and `check` of one component.

use std::time::{Duration, Instant};

use crate::house::component;
use crate::process::{Place, Running, word};

#[test]
fn a_new_project_is_refused_before_anything_is_written() {
    let place = Place::of("").file("taken", "a file").file("file.txt", "");
    let before = names(&place);
    for (words, says) in [
        ("new My.Notes --lang rust", "`My.Notes` cannot be the name: use up to 64 lower-case letters"),
        ("new ../notes --lang c", "cannot be the name"),
        ("new larder-provider --lang rust", "choose another name"),
        ("new larder-dev --lang python", "choose another name"),
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
    assert!(said.contains("created own"), "{said}");
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
    let place = Place::of("").file("go.mod", "module example.dev/notes // of all notes\n");
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
    std::fs::create_dir_all(place.path("one/two")).unwrap();
    let place = place.file("one/two/go.mod", "module example.dev/two\n");
    let there = place.path("one/two");
    for (folder, path) in [("one/two/../x", "notes/one/x"), ("one/two/a/../x", "two/x")] {
        place.larder(&format!("bindings go -o {folder}")).yes();
        let exports = there.join("../..").join(folder).join("wit_exports/wit_exports.go");
        let exports = std::fs::read_to_string(exports).unwrap();
        assert!(
            exports.contains(&format!("\"example.dev/{path}/larder_provider_resource_provider\"")),
            "{path}"
        );
    }
    place.larder("bindings wit -o wit").yes();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit")).unwrap() {
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

/// Built against another contract: with a field, or a case, of another name.
#[test]
fn check_says_which_type_is_not_the_contracts() {
    let place = Place::of("");
    let built = std::fs::read(component("full")).unwrap();
    for (field, other, says) in [
        ("summary", "summery", "record field named summary, found summery"),
        ("not-found", "not-there", "variant case named not-found, found not-there"),
        // Only in an interface that a provider need not have.
        ("filled", "fillet", "record field named filled, found fillet"),
    ] {
        let unlike = place.path(&format!("{other}.wasm"));
        std::fs::write(&unlike, renamed(&built, field, other)).unwrap();
        let said = place.larder(&format!("check {}", word(&unlike)));
        let begins = "FAILED  load      its types do not match the contract: ";
        assert!(said.code == Some(1) && said.out.starts_with(begins), "{}{}", said.out, said.err);
        assert!(said.out.contains(says) && said.out.contains("`larder bindings wit`"), "{}", said.out);
    }
}

/// The same component, with another word of the same length in the types.
fn renamed(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut renamed = component.to_vec();
    for at in 0..=renamed.len() - from.len() {
        if renamed[at..].starts_with(from.as_bytes()) {
            renamed[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    assert_ne!(renamed, component, "no {from} in it");
    renamed
}

/// A project in the folder `project`, whose build is this script.
pub(crate) fn project(script: &str) -> Place {
    let place = Place::of("");
    std::fs::create_dir(place.path("project")).unwrap();
    std::fs::copy(component("echo"), place.path("echo.wasm")).unwrap();
    let settings = "build = [['/bin/sh', 'build.sh']]\ncomponent = 'made'\n";
    let place = place.file("project/larder-dev.toml", settings);
    place.file("project/build.sh", script)
}

/// Waits until nobody has this number any more, which a script of a project wrote down.
fn ends(place: &Place, file: &str) {
    let id = std::fs::read_to_string(place.path(file)).unwrap();
    let began = Instant::now();
    while alive(id.trim()) {
        assert!(began.elapsed() < Duration::from_secs(30), "process {id} goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn alive(id: &str) -> bool {
    // One that ended and that nobody has asked for yet is a zombie, and as good as gone.
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

pub(crate) const BUILDS: &str = "cp ../echo.wasm made";

#[cfg(target_os = "linux")]
#[test]
fn dev_builds_on_every_save_and_shows_what_is_wrong() {
    let place = project("echo oh no >&2; exit 3");
    let mut dev = place.start("dev project --listen 127.0.0.1:0");
    let line = dev.told("serves http://");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    dev.told("oh no");
    dev.told("the build failed: `/bin/sh build.sh` exited with exit status: 3");
    let place = place.file("project/build.sh", BUILDS);
    assert_eq!(dev.next(), "project: 4 resources, 4 templates\n");
    assert_eq!(dev.next(), "  echo://blob\n");
    dev.told("loaded after");
    let read = format!("read echo://hello --url {url}");
    place.larder(&read).yes();
    // What worked last goes on serving.
    let place = place.file("project/build.sh", "echo text > made");
    let said = dev.told("project.wasm is rejected");
    assert!(said.contains("not a WebAssembly component"), "{said}");
    place.larder(&read).yes();
    let place = place.file("project/build.sh", "rm made");
    dev.told("the build did not create");
    // A file that is new counts as well as one that was changed.
    let place = place.file("project/build.sh", "test -e new && cp ../echo.wasm made");
    dev.told("the build failed");
    let place = place.file("project/new", "");
    assert_eq!(next_about(&mut dev), "project: 4 resources, 4 templates\n");
    let place = place.file("project/larder-dev.toml", "build = [['/bin/true']]\ncomponent = 'made'\n");
    dev.told("larder-dev.toml has changed; restart `larder dev`");
    dev.signal("INT");
    dev.end();
    place.larder(&read).no(1);
}

/// The next line that says how much is offered.
fn next_about(running: &mut Running) -> String {
    loop {
        let line = running.next();
        if !line.starts_with("  ") {
            return line;
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn dev_ends_a_build_that_a_save_made_useless_and_all_its_processes() {
    let hangs = "sleep 600 & echo $! > ../child; echo $$ > ../parent; echo waiting >&2; wait";
    let place = project(hangs);
    let mut dev = place.start("dev project --listen 127.0.0.1:0");
    dev.told("waiting");
    let place = place.file("project/build.sh", BUILDS);
    dev.told("files changed during the build; building again");
    assert_eq!(dev.next(), "project: 4 resources, 4 templates\n");
    for file in ["child", "parent"] {
        ends(&place, file);
    }
    // And whoever stops it stops its build; so does the end of the terminal.
    let mut place = place.file("project/build.sh", hangs);
    drop(dev);
    for (words, signal) in [
        ("--listen 127.0.0.1:0", "INT"),
        ("--listen 127.0.0.1:0", "HUP"),
        ("--plugins plugins", "HUP"),
        ("--once", "TERM"),
        ("--once", "HUP"),
    ] {
        for file in ["child", "parent"] {
            place = place.file(file, "");
        }
        let mut dev = place.start(&format!("dev project {words}"));
        dev.told("waiting");
        dev.signal(signal);
        let code = dev.end().code;
        assert_eq!(code, Some(i32::from(words == "--once")), "{words} {signal}");
        for file in ["child", "parent"] {
            ends(&place, file);
        }
    }
}

#[test]
fn dev_drops_what_works_into_another_folder_and_nothing_else() {
    let place = project("cp ../echo.wasm made");
    let mut dev = place.start("dev project --plugins plugins");
    assert_eq!(dev.next(), "project: 4 resources, 4 templates\n");
    dev.told("loaded after");
    let component = std::fs::read(place.path("echo.wasm")).unwrap();
    assert_eq!(std::fs::read(place.path("plugins/project.wasm")).unwrap(), component);
    let place = place.file("project/build.sh", "echo text > made");
    dev.told("project.wasm is rejected");
    assert_eq!(std::fs::read(place.path("plugins/project.wasm")).unwrap(), component);
    assert_eq!(std::fs::read_dir(place.path("plugins")).unwrap().count(), 1);
    dev.signal("TERM");
    assert_eq!(dev.end().code, Some(0));
}

#[test]
fn dev_once_is_for_scripts() {
    let place = project("cp ../echo.wasm made");
    let ran = place.larder("dev project --once");
    assert!(ran.code == Some(0) && ran.out.starts_with("project: 4 resources"), "{}{}", ran.out, ran.err);
    let place = place.file("project/build.sh", "exit 1");
    assert!(place.larder("dev project --once").no(1).contains("the build failed"));
    let missing = "build = [['no-such-compiler', 'x']]\ncomponent = 'made'\n";
    let place = place.file("project/larder-dev.toml", missing);
    let said = place.larder("dev project --once").no(1);
    assert!(said.contains("cannot run `no-such-compiler x`"), "{said}");
    assert!(place.larder("dev plugins --once").no(64).contains("larder-dev.toml"));
    place.larder("dev gone").no(64);
}
