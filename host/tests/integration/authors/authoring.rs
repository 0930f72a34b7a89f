//! Features for authors of providers: which tools are missing, what `larder dev` watches and serves, what `larder
//! check` finds in a component, `larder sdk` and `larder upgrade`.

use std::fs;
use std::path::Path;

use crate::authors::author::{BUILD_SCRIPT, project};
use crate::support::harness::component_path;
use crate::support::process::{RunningProcess, WorkDir, path_arg};

fn start_dev(work_dir: &WorkDir) -> (RunningProcess, String) {
    let mut dev = work_dir.start("dev project --listen 127.0.0.1:0");
    let line = dev.wait_for_stderr("serves http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap()
        .to_owned();
    dev.wait_for_stderr("built in");
    (dev, url)
}

#[test]
fn dev_says_how_to_install_a_missing_tool() {
    for (language, expected) in [
        (
            "rust",
            "there is no program `cargo`: install Rust from https://rustup.rs",
        ),
        (
            "python",
            "there is no program `componentize-py`: run `pip install componentize-py==",
        ),
        (
            "javascript",
            "there is no program `npm`: install Node 20 or newer",
        ),
        (
            "go",
            "there is no program `make`: install make from the packages of your system",
        ),
        (
            "typescript",
            "there is no program `npm`: install Node 20 or newer",
        ),
        ("c", "there is no program `make`: install make"),
        ("cpp", "there is no program `make`: install make"),
    ] {
        let work_dir = WorkDir::with_guests("");
        work_dir
            .larder(&format!("new notes --lang {language} --path project"))
            .expect_success();
        let empty = work_dir.path("plugins").display().to_string();
        let output = work_dir
            .start_with(&[("PATH", &empty)], "dev project --once")
            .wait();
        assert_eq!(output.code, Some(1));
        assert!(
            output.stderr.contains(expected),
            "{language}: {}",
            output.stderr
        );
    }
    let work_dir = project("no-such-program");
    let output = work_dir.larder("dev project --once").expect_exit(1);
    assert!(
        output.contains("exited with exit status: 127; a program was not found"),
        "{output}"
    );
}

#[test]
fn dev_does_not_build_when_the_provider_writes() {
    let grant =
        "[provider.project]\ndirs = [{ host = 'data', guest = '/data', access = 'write' }]\n";
    let work_dir = project("cp ../dirs.wasm output").file("project/larder.toml", grant);
    fs::copy(component_path("dirs"), work_dir.path("dirs.wasm")).unwrap();
    fs::create_dir(work_dir.path("project/data")).unwrap();
    let (mut dev, url) = start_dev(&work_dir);
    let write = format!("read dirs://write?path=%2Fdata%2Fnew --url {url}");
    assert_eq!(work_dir.larder(&write).expect_success().trim(), "ok: ()");
    assert!(work_dir.path("project/data/new").exists());
    // These steps take longer than a scan of the project.
    (0..8).for_each(|_| {
        drop(
            work_dir
                .larder(&format!("templates --url {url}"))
                .expect_success(),
        )
    });
    let _work_dir = work_dir.file("project/text", "saved");
    dev.wait_for_stderr("built in");
    dev.signal("INT");
    let output = dev.wait().stderr;
    assert_eq!(
        output.matches("larder: building project").count(),
        2,
        "{output}"
    );
}

#[test]
fn dev_serves_the_configured_admin_address() {
    let work_dir =
        project(BUILD_SCRIPT).file("project/larder.toml", "[admin]\nlisten = '127.0.0.1:0'\n");
    let mut dev = work_dir.start("dev project --listen 127.0.0.1:0");
    let line = dev.wait_for_stderr("admin address http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap()
        .to_owned();
    dev.wait_for_stderr("built in");
    let status = work_dir
        .larder(&format!("status --admin {url}"))
        .expect_success();
    assert!(
        status.starts_with(&format!("server {url} (from the command line)\nlarder ")),
        "{status}"
    );
    assert!(status.contains("\n  project  "), "{status}");
}

#[test]
fn check_reports_what_the_host_corrects() {
    let work_dir = WorkDir::with_guests("invalid_entries");
    let output = work_dir.larder("check plugins/invalid_entries.wasm");
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    for expected in [
        "FAILED  list      omitted or changed: an empty name became \"invalid-entries://no-name\"",
        "FAILED  list      omitted or changed: an invalid media type \"markdown\": write `type/subtype`",
        "`invalid_entries` lists 2 URIs twice, such as `invalid-entries://again`; the first ones are served",
        "FAILED  read      invalid-entries://again: omitted or changed: an invalid media type \"text\"",
    ] {
        assert!(
            output.stdout.contains(expected),
            "{expected}: {}",
            output.stdout
        );
    }
    let work_dir = project("cp ../invalid_entries.wasm output");
    fs::copy(
        component_path("invalid_entries"),
        work_dir.path("invalid_entries.wasm"),
    )
    .unwrap();
    let output = work_dir.larder("dev project --once");
    assert_eq!(output.code, Some(1));
    let expected = "`project` lists 2 URIs twice, such as `invalid-entries://again`";
    assert!(output.stderr.contains(expected), "{}", output.stderr);
}

#[test]
fn check_reports_unknown_settings_of_the_files() {
    let config = "[provider.files.settings]\ncolour = 'red'\nhiden = true\n";
    let work_dir = WorkDir::with_guests("files").file("larder.toml", config);
    let check = format!(
        "check {} --config larder.toml",
        path_arg(&component_path("files"))
    );
    let output = work_dir.larder(&check).expect_success();
    let unknown = "warning: setting `colour` is unknown; the settings are `hidden`";
    assert!(
        output.contains(unknown) && output.contains("did you mean `hidden`?"),
        "{output}"
    );
    // If a provider does not declare its settings, they are unknown.
    let work_dir = work_dir.file("larder.toml", "[provider.echo.settings]\ncolour = 'red'\n");
    let check = format!(
        "check {} --config larder.toml",
        path_arg(&component_path("echo"))
    );
    let output = work_dir.larder(&check).expect_success();
    assert!(
        output.contains("it declares none, so that these are not checked: colour"),
        "{output}"
    );
}

#[test]
fn sdk_writes_what_a_new_project_contains() {
    let work_dir = WorkDir::with_guests("");
    for language in [
        "rust",
        "python",
        "javascript",
        "typescript",
        "go",
        "c",
        "cpp",
    ] {
        let folder = if language == "python" {
            "larder_provider"
        } else {
            "larder-provider"
        };
        work_dir
            .larder(&format!("new notes --lang {language} --path {language}"))
            .expect_success();
        let expected = files(&work_dir.path(&format!("{language}/{folder}")));
        fs::create_dir(work_dir.path("copy")).unwrap();
        let listed = work_dir
            .larder(&format!("sdk {language} copy"))
            .expect_success();
        assert_eq!(listed, format!("copy/{folder}\n"));
        assert!(expected.len() > 5 && files(&work_dir.path(&format!("copy/{folder}"))) == expected);
        fs::remove_dir_all(work_dir.path("copy")).unwrap();
    }
    // A file of an earlier version stays, and is named.
    fs::write(work_dir.path("c/larder-provider/old.c"), "").unwrap();
    fs::write(work_dir.path("c/larder-provider/larder.h"), "old").unwrap();
    let output = work_dir.larder("sdk c c");
    assert!(
        output
            .stderr
            .contains("c/larder-provider/old.c is not part of this version"),
        "{}",
        output.stderr
    );
    assert!(
        fs::read_to_string(work_dir.path("c/larder-provider/larder.h"))
            .unwrap()
            .len()
            > 100
    );
    let output = work_dir.larder("sdk c gone").expect_exit(64);
    assert!(output.contains("cannot read gone"), "{output}");
}

#[test]
fn upgrade_keeps_what_was_edited() {
    let work_dir = WorkDir::with_guests("");
    let output = work_dir.larder("upgrade").expect_exit(64);
    assert!(
        output.contains("run `larder sdk LANGUAGE` once"),
        "{output}"
    );
    work_dir.larder("new notes --lang go").expect_success();
    let text = work_dir.larder("upgrade notes").expect_success();
    assert!(text.contains("and no file differs"), "{text}");
    let record = work_dir.path("notes/larder-provider/larder-sdk.txt");
    let earlier = fs::read_to_string(&record).unwrap().replace(
        &format!("version {}", env!("CARGO_PKG_VERSION")),
        "version 0.0.9",
    );
    // The digest of another version of `http.go`, which was edited.
    let digest = earlier
        .lines()
        .find(|line| line.ends_with("/http.go"))
        .unwrap();
    let changed = format!("{} larder-provider/http.go", "0".repeat(64));
    fs::write(&record, earlier.replace(digest, &changed)).unwrap();
    let work_dir = work_dir.file("notes/larder-provider/http.go", "package larder");
    let listed = work_dir.larder("upgrade notes --dry-run");
    assert_eq!(listed.code, Some(1));
    assert!(!work_dir.path("notes/larder-provider/http.go.new").exists());
    assert!(
        listed.stdout.starts_with("the SDK: 0.0.9 -> "),
        "{}",
        listed.stdout
    );
    assert!(
        listed
            .stdout
            .contains("edited   larder-provider/http.go (kept"),
        "{}",
        listed.stdout
    );
    assert_eq!(work_dir.larder("upgrade notes").code, Some(1));
    assert!(work_dir.path("notes/larder-provider/http.go.new").exists());
    let kept = fs::read_to_string(work_dir.path("notes/larder-provider/http.go"));
    assert_eq!(kept.unwrap(), "package larder");
    work_dir.larder("upgrade notes").expect_success();
}

/// The relative paths below a folder, and the content of the files.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = folders.pop() {
        for item in fs::read_dir(at).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            found.push((name, fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}
