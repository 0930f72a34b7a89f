//! The commands for authors of providers: `new`, `bindings`, `pack`, `dev`, and `check` of one component.

use crate::support::harness::{SLOW_WAIT, component_path, eventually_blocking};
use crate::support::process::{RunningProcess, WorkDir, path_arg};

#[test]
fn new_reports_errors_before_it_writes_files() {
    let work_dir = WorkDir::with_guests("")
        .file("taken", "a file")
        .file("file.txt", "");
    let before = names(&work_dir);
    for (args, message) in [
        (
            "new My.Notes --lang rust",
            "`My.Notes` cannot be the name: use up to 64 lower-case letters",
        ),
        ("new ../notes --lang c", "cannot be the name"),
        ("new larder-provider --lang rust", "choose another name"),
        ("new larder-dev --lang python", "choose another name"),
        ("new taken --lang go", "taken exists already"),
        (
            "new notes --lang go --path plugins",
            "plugins exists already",
        ),
        (
            "new notes --lang go --kind function",
            "exists for rust and python",
        ),
        (
            "new notes --lang cobol",
            "[possible values: rust, python, javascript, typescript, go, c, cpp]",
        ),
        ("new notes", "--lang <LANGUAGE>"),
    ] {
        let stderr = work_dir.larder(args).expect_exit(64);
        assert!(stderr.contains(message), "{args}: {stderr}");
    }
    let output = work_dir
        .larder("new notes --lang c --path file.txt/notes")
        .expect_exit(1);
    assert!(output.contains("cannot write file.txt/notes"), "{output}");
    assert_eq!(names(&work_dir), before);
    let output = work_dir
        .larder("new notes --lang python --path own")
        .expect_exit(0);
    assert!(output.contains("created own"), "{output}");
    let text = |path: &str| std::fs::read_to_string(work_dir.path(path)).unwrap();
    assert!(text("own/app.py").contains("\"notes://hello\""));
    assert!(text("own/larder-dev.toml").contains("\"-w\", \"provider\""));
    let output = work_dir
        .larder("new notes --lang python --interactive --path more")
        .expect_exit(0);
    assert!(output.contains("created more"), "{output}");
    assert!(
        text("more/app.py").contains("@tool(") && text("more/app.py").contains("\"notes://hello\"")
    );
    assert!(text("more/larder-dev.toml").contains("\"-w\", \"interactive-provider\""));
}

fn names(work_dir: &WorkDir) -> Vec<String> {
    let items = std::fs::read_dir(work_dir.path("")).unwrap();
    let mut names: Vec<_> = items
        .map(|item| item.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn bindings_leaves_other_files_alone() {
    let work_dir =
        WorkDir::with_guests("").file("go.mod", "module example.dev/notes // of all notes\n");
    let listed = work_dir.larder("bindings c -o c").expect_success();
    assert_eq!(
        listed,
        "c/provider.c\nc/provider.h\nc/provider_component_type.o\n"
    );
    std::fs::write(work_dir.path("c/mine.c"), "mine").unwrap();
    std::fs::write(work_dir.path("c/provider.h"), "old").unwrap();
    work_dir
        .larder("bindings c -o c --with completions,versions")
        .expect_success();
    let header = std::fs::read_to_string(work_dir.path("c/provider.h")).unwrap();
    assert!(
        header.contains("exports_larder_provider_version_provider_versions("),
        "{header}"
    );
    assert!(
        !header.contains("tool_provider") && !header.contains("interaction_host"),
        "{header}"
    );
    work_dir
        .larder("bindings c -o tools --with tools,search,settings")
        .expect_success();
    let header = std::fs::read_to_string(work_dir.path("tools/provider.h")).unwrap();
    for function in [
        "exports_larder_provider_tool_provider_call_tool(",
        "exports_larder_provider_search_provider_search(",
        "exports_larder_provider_settings_provider_settings(",
        "larder_provider_interaction_host_client_supports(",
    ] {
        assert!(
            header.contains(function),
            "{function} is missing in {header}"
        );
    }
    assert!(!header.contains("prompt_provider"), "{header}");
    let output = work_dir
        .larder("bindings c -o c --with prompt")
        .expect_exit(64);
    assert!(
        output.contains("completions, versions, tools, prompts, search, settings"),
        "{output}"
    );
    assert_eq!(
        std::fs::read_to_string(work_dir.path("c/mine.c")).unwrap(),
        "mine"
    );
    // The import path is derived from the nearest `go.mod` above the folder.
    work_dir.larder("bindings go -o in/ner").expect_success();
    let exports =
        std::fs::read_to_string(work_dir.path("in/ner/wit_exports/wit_exports.go")).unwrap();
    assert!(
        exports.contains("\"example.dev/notes/in/ner/larder_provider_resource_provider\""),
        "{exports}"
    );
    std::fs::create_dir_all(work_dir.path("one/two")).unwrap();
    let work_dir = work_dir.file("one/two/go.mod", "module example.dev/two\n");
    let there = work_dir.path("one/two");
    for (folder, path) in [("one/two/../x", "notes/one/x"), ("one/two/a/../x", "two/x")] {
        work_dir
            .larder(&format!("bindings go -o {folder}"))
            .expect_success();
        let exports = there
            .join("../..")
            .join(folder)
            .join("wit_exports/wit_exports.go");
        let exports = std::fs::read_to_string(exports).unwrap();
        assert!(
            exports.contains(&format!(
                "\"example.dev/{path}/larder_provider_resource_provider\""
            )),
            "{path}"
        );
    }
    work_dir.larder("bindings wit -o wit").expect_success();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit")).unwrap() {
        let file = file.unwrap();
        if file
            .file_name()
            .to_str()
            .is_some_and(|name| name.ends_with(".wit"))
        {
            let copy = work_dir.path("wit").join(file.file_name());
            assert_eq!(
                std::fs::read(copy).unwrap(),
                std::fs::read(file.path()).unwrap()
            );
        }
    }
    std::fs::remove_file(work_dir.path("go.mod")).unwrap();
    let output = work_dir.larder("bindings go -o go").expect_exit(64);
    assert!(
        output.contains("go mod init") && !work_dir.path("go").exists(),
        "{output}"
    );
}

#[test]
fn functions_have_a_project_without_the_sdk() {
    let work_dir = WorkDir::with_guests("");
    for language in ["rust", "python"] {
        let new = format!("new sums --lang {language} --kind function --path {language}");
        work_dir.larder(&new).expect_exit(0);
        let path = |file: &str| work_dir.path(&format!("{language}/{file}"));
        let world = std::fs::read_to_string(path("wit/world.wit")).unwrap();
        assert!(world.contains("export greet: func("), "{world}");
        assert!(!path("larder-provider").exists() && !path("larder_provider").exists());
    }
}

#[test]
fn pack_adds_documentation_once() {
    let wit =
        "package a:b; world tools { /// Adds two numbers.\nexport add: func(a: u32) -> u32; }";
    let work_dir = WorkDir::with_guests("echo").file("tools.wit", wit);
    let pack = |from: &str, to: &str| {
        let line = format!("pack {from} --docs tools.wit -o {to}");
        work_dir.larder(&line)
    };
    pack("plugins/echo.wasm", "documented.wasm").expect_exit(0);
    let documented = std::fs::read(work_dir.path("documented.wasm")).unwrap();
    let text = String::from_utf8_lossy(&documented);
    assert!(text.contains("package-docs") && text.contains("Adds two numbers."));
    // The component still works.
    std::fs::write(work_dir.path("plugins/echo.wasm"), &documented).unwrap();
    let list = work_dir.larder("list --plugins plugins").expect_success();
    assert!(list.contains("echo://hello"), "{list}");
    let again = pack("documented.wasm", "again.wasm").expect_exit(1);
    assert!(again.contains("has documentation already"), "{again}");
    let gone = work_dir.larder("pack documented.wasm --docs gone -o again.wasm");
    assert!(gone.expect_exit(1).contains("documentation already"));
    let module = work_dir.larder("pack tools.wit --docs tools.wit -o again.wasm");
    assert!(module.expect_exit(1).contains("it is not WebAssembly"));
}

#[test]
fn pack_reports_invalid_modules() {
    let work_dir = WorkDir::with_guests("")
        .file("text.wasm", "text")
        .file("out.wasm", "old");
    let echo = component_path("echo");
    let output = work_dir
        .larder(&format!("pack {} -o out.wasm", path_arg(&echo)))
        .expect_exit(1);
    assert!(output.contains("it is a component already"), "{output}");
    // A module with a shared memory.
    let shared = b"\0asm\x01\0\0\0\x05\x04\x01\x03\x01\x01";
    std::fs::write(work_dir.path("shared.wasm"), shared).unwrap();
    let output = work_dir
        .larder("pack shared.wasm -o out.wasm")
        .expect_exit(1);
    assert!(
        output.contains("does not support: threads (shared memory, atomics); build it without"),
        "{output}"
    );
    let output = work_dir.larder("pack text.wasm -o out.wasm").expect_exit(1);
    assert!(
        output.contains("text.wasm: it is not WebAssembly"),
        "{output}"
    );
    work_dir
        .larder("pack gone.wasm -o out.wasm")
        .expect_exit(64);
    assert_eq!(
        std::fs::read_to_string(work_dir.path("out.wasm")).unwrap(),
        "old"
    );
}

#[test]
fn check_tests_one_component() {
    let work_dir = WorkDir::with_guests("endless_list@trap_start").file("text.wasm", "text");
    let fine = work_dir
        .larder(&format!("check {}", path_arg(&component_path("echo"))))
        .expect_success();
    assert!(fine.contains("ok      read      echo://blob: "), "{fine}");
    let found = work_dir
        .larder("check plugins/endless_list.wasm --json")
        .json();
    assert_eq!(found["ok"], false, "{found}");
    let output = work_dir.larder("check text.wasm");
    assert!(
        output.code == Some(1) && output.stdout.starts_with("FAILED  load"),
        "{}",
        output.stdout
    );
    work_dir.larder("check gone.wasm").expect_exit(64);
}

/// The component is built for another contract, in which a field or a case has another name.
#[test]
fn check_names_the_type_that_does_not_match_the_contract() {
    let work_dir = WorkDir::with_guests("");
    let built = std::fs::read(component_path("full")).unwrap();
    for (field, other, message) in [
        (
            "summary",
            "summery",
            "record field named summary, found summery",
        ),
        (
            "not-found",
            "not-there",
            "variant case named not-found, found not-there",
        ),
        // This field is in an optional interface.
        (
            "filled",
            "fillet",
            "record field named filled, found fillet",
        ),
    ] {
        let renamed_path = work_dir.path(&format!("{other}.wasm"));
        std::fs::write(&renamed_path, renamed(&built, field, other)).unwrap();
        let output = work_dir.larder(&format!("check {}", path_arg(&renamed_path)));
        let begins = "FAILED  load      its types do not match the contract: ";
        assert!(
            output.code == Some(1) && output.stdout.starts_with(begins),
            "{}{}",
            output.stdout,
            output.stderr
        );
        assert!(
            output.stdout.contains(message) && output.stdout.contains("`larder bindings wit`"),
            "{}",
            output.stdout
        );
    }
}

/// Replaces a name in the types of a component with another name of the same length.
fn renamed(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut renamed = component.to_vec();
    for at in 0..=renamed.len() - from.len() {
        if renamed[at..].starts_with(from.as_bytes()) {
            renamed[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    assert_ne!(renamed, component, "{from} is not in the component");
    renamed
}

/// A project in the folder `project` that this script builds.
pub(crate) fn project(script: &str) -> WorkDir {
    let work_dir = WorkDir::with_guests("");
    std::fs::create_dir(work_dir.path("project")).unwrap();
    std::fs::copy(component_path("echo"), work_dir.path("echo.wasm")).unwrap();
    let settings = "build = [['/bin/sh', 'build.sh']]\ncomponent = 'output'\n";
    let work_dir = work_dir.file("project/larder-dev.toml", settings);
    work_dir.file("project/build.sh", script)
}

/// Waits until the process whose id is in this file has ended. The build script writes the file.
fn wait_for_exit(work_dir: &WorkDir, file: &str) {
    let id = std::fs::read_to_string(work_dir.path(file)).unwrap();
    eventually_blocking(SLOW_WAIT, &format!("process {id} ends"), || {
        !is_running(id.trim())
    });
}

fn is_running(id: &str) -> bool {
    // A process that has ended and was not waited for yet is a zombie. It counts as ended.
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

pub(crate) const BUILD_SCRIPT: &str = "cp ../echo.wasm output";

#[cfg(target_os = "linux")]
#[test]
fn dev_builds_on_every_save_and_shows_errors() {
    let work_dir = project("echo oh no >&2; exit 3");
    let mut dev = work_dir.start("dev project --listen 127.0.0.1:0");
    let line = dev.wait_for_stderr("serves http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    dev.wait_for_stderr("oh no");
    dev.wait_for_stderr("the build failed: `/bin/sh build.sh` exited with exit status: 3");
    let work_dir = work_dir.file("project/build.sh", BUILD_SCRIPT);
    assert_eq!(dev.next(), "project: 4 resources, 4 templates\n");
    assert_eq!(dev.next(), "  echo://blob\n");
    dev.wait_for_stderr("built in");
    let read = format!("read echo://hello --url {url}");
    work_dir.larder(&read).expect_success();
    // The last working component is still served.
    let work_dir = work_dir.file("project/build.sh", "echo text > output");
    let output = dev.wait_for_stderr("project.wasm is rejected");
    assert!(output.contains("not a WebAssembly component"), "{output}");
    work_dir.larder(&read).expect_success();
    let work_dir = work_dir.file("project/build.sh", "rm output");
    dev.wait_for_stderr("the build did not create");
    // A new file starts a build too.
    let work_dir = work_dir.file("project/build.sh", "test -e new && cp ../echo.wasm output");
    dev.wait_for_stderr("the build failed");
    let work_dir = work_dir.file("project/new", "");
    assert_eq!(
        next_summary(&mut dev),
        "project: 4 resources, 4 templates\n"
    );
    let work_dir = work_dir.file(
        "project/larder-dev.toml",
        "build = [['/bin/true']]\ncomponent = 'output'\n",
    );
    dev.wait_for_stderr("larder-dev.toml has changed; restart `larder dev`");
    dev.signal("INT");
    dev.wait();
    work_dir.larder(&read).expect_exit(1);
}

/// The next line with the number of resources, which is not indented.
fn next_summary(running: &mut RunningProcess) -> String {
    loop {
        let line = running.next();
        if !line.starts_with("  ") {
            return line;
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn dev_kills_an_outdated_build_with_all_its_processes() {
    let blocks = "sleep 600 & echo $! > ../child; echo $$ > ../parent; echo waiting >&2; wait";
    let work_dir = project(blocks);
    let mut dev = work_dir.start("dev project --listen 127.0.0.1:0");
    dev.wait_for_stderr("waiting");
    let work_dir = work_dir.file("project/build.sh", BUILD_SCRIPT);
    dev.wait_for_stderr("files changed during the build; building again");
    assert_eq!(dev.next(), "project: 4 resources, 4 templates\n");
    for file in ["child", "parent"] {
        wait_for_exit(&work_dir, file);
    }
    // A signal to `larder dev` ends its build too, as does closing the terminal (SIGHUP).
    let mut work_dir = work_dir.file("project/build.sh", blocks);
    drop(dev);
    for (args, signal) in [
        ("--listen 127.0.0.1:0", "INT"),
        ("--listen 127.0.0.1:0", "HUP"),
        ("--plugins plugins", "HUP"),
        ("--once", "TERM"),
        ("--once", "HUP"),
    ] {
        for file in ["child", "parent"] {
            work_dir = work_dir.file(file, "");
        }
        let mut dev = work_dir.start(&format!("dev project {args}"));
        dev.wait_for_stderr("waiting");
        dev.signal(signal);
        let code = dev.wait().code;
        assert_eq!(code, Some(i32::from(args == "--once")), "{args} {signal}");
        for file in ["child", "parent"] {
            wait_for_exit(&work_dir, file);
        }
    }
}

#[test]
fn dev_copies_only_working_components_to_the_plugins_folder() {
    let work_dir = project("cp ../echo.wasm output");
    let mut dev = work_dir.start("dev project --plugins plugins");
    assert_eq!(dev.next(), "project: 4 resources, 4 templates\n");
    dev.wait_for_stderr("built in");
    let component = std::fs::read(work_dir.path("echo.wasm")).unwrap();
    assert_eq!(
        std::fs::read(work_dir.path("plugins/project.wasm")).unwrap(),
        component
    );
    let work_dir = work_dir.file("project/build.sh", "echo text > output");
    dev.wait_for_stderr("project.wasm is rejected");
    assert_eq!(
        std::fs::read(work_dir.path("plugins/project.wasm")).unwrap(),
        component
    );
    assert_eq!(
        std::fs::read_dir(work_dir.path("plugins")).unwrap().count(),
        1
    );
    dev.signal("TERM");
    assert_eq!(dev.wait().code, Some(0));
}

#[test]
fn dev_once_reports_success_with_its_exit_code() {
    let work_dir = project("cp ../echo.wasm output");
    let ran = work_dir.larder("dev project --once");
    assert!(
        ran.code == Some(0) && ran.stdout.starts_with("project: 4 resources"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    let work_dir = work_dir.file("project/build.sh", "exit 1");
    assert!(
        work_dir
            .larder("dev project --once")
            .expect_exit(1)
            .contains("the build failed")
    );
    let missing = "build = [['no-such-compiler', 'x']]\ncomponent = 'output'\n";
    let work_dir = work_dir.file("project/larder-dev.toml", missing);
    let output = work_dir.larder("dev project --once").expect_exit(1);
    assert!(
        output.contains("cannot run `no-such-compiler x`"),
        "{output}"
    );
    assert!(
        work_dir
            .larder("dev plugins --once")
            .expect_exit(64)
            .contains("larder-dev.toml")
    );
    work_dir.larder("dev gone").expect_exit(64);
}
