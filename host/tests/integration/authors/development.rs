//! `larder dev` with a development component, which loads the program from a folder.

use crate::support::harness::component_path;
use crate::support::process::{RunningProcess, WorkDir};

const SETTINGS: &str = "build = [['/bin/sh', 'build.sh']]\ncomponent = 'output.wasm'\nignore = ['notes']\n\
    [development]\nbuild = [['/bin/sh', 'base/build.sh']]\ncomponent = '.dev/output.wasm'\nbase = ['base']\n";

/// A project whose development component executes the operation in a URI with the files of the program.
fn project() -> WorkDir {
    let work_dir = WorkDir::with_guests("");
    for folder in ["project/base", "project/program", "project/notes", "docs"] {
        std::fs::create_dir_all(work_dir.path(folder)).unwrap();
    }
    std::fs::copy(component_path("dirs"), work_dir.path("dirs.wasm")).unwrap();
    std::fs::copy(component_path("echo"), work_dir.path("echo.wasm")).unwrap();
    work_dir
        .file("project/larder-dev.toml", SETTINGS)
        .file("project/build.sh", "cp ../echo.wasm output.wasm")
        .file("project/base/build.sh", "cp ../dirs.wasm .dev/output.wasm")
        .file("project/program/text", "one")
        .file("project/notes/text", "ignored")
}

fn start_dev(work_dir: &WorkDir, args: &str) -> (RunningProcess, String) {
    let mut dev = work_dir.start(&format!("dev project --listen 127.0.0.1:0 {args}"));
    let line = dev.wait_for_stderr("serves http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap()
        .to_owned();
    (dev, url)
}

/// Executes an operation with a file, and returns the result or the error.
fn act(work_dir: &WorkDir, url: &str, action: &str, path: &str) -> String {
    let ran = work_dir.larder(&format!("read dirs://{action}?path={path} --url {url}"));
    ran.stdout + &ran.stderr
}

#[test]
fn a_save_replaces_the_program_without_a_build() {
    let work_dir = project();
    let (mut dev, url) = start_dev(&work_dir, "");
    dev.wait_for_stderr("`larder dev --once` builds the component that you deploy");
    dev.wait_for_stderr("building the development component of project");
    assert!(
        dev.wait_for_stderr("built in ")
            .contains("compile and test")
    );
    assert!(act(&work_dir, &url, "read", "/larder-dev/program/text").contains("one"));
    for hidden in [
        "/larder-dev/notes/text",
        "/larder-dev/base/build.sh",
        "/larder-dev/.dev/output.wasm",
    ] {
        assert!(
            !act(&work_dir, &url, "read", hidden).contains("ok: "),
            "{hidden}"
        );
    }
    // The program is read-only.
    assert!(!act(&work_dir, &url, "write", "/larder-dev/program/text").contains("ok: "));
    let work_dir = work_dir.file("project/program/text", "two");
    let line = dev.wait_for_stderr("rebuilt in ");
    assert!(
        line.contains("test ") && !line.contains("compile") && !line.contains("build "),
        "{line}"
    );
    assert!(act(&work_dir, &url, "read", "/larder-dev/program/text").contains("two"));
    // A changed base builds the component again. If the base cannot be built, it is not served.
    let work_dir = work_dir.file("project/base/build.sh", "exit 3");
    dev.wait_for_stderr("building the development component of project");
    dev.wait_for_stderr("`/bin/sh base/build.sh` exited with exit status: 3");
    assert!(act(&work_dir, &url, "read", "/larder-dev/program/text").contains("two"));
    let work_dir = work_dir.file("project/base/build.sh", "cp ../echo.wasm .dev/output.wasm");
    dev.wait_for_stderr("rebuilt in ");
    work_dir
        .larder(&format!("read echo://hello --url {url}"))
        .expect_success();
    dev.signal("INT");
    assert_eq!(dev.wait().code, Some(0));
}

#[test]
fn the_program_is_added_to_the_grants_of_the_project() {
    let request_file = "project/project.toml";
    let work_dir = project()
        .file("docs/page", "a page")
        .file(request_file, "dirs = ['../docs']\n");
    let (mut dev, url) = start_dev(&work_dir, "");
    dev.wait_for_stderr("built in ");
    assert!(act(&work_dir, &url, "read", "/docs/page").contains("a page"));
    assert!(act(&work_dir, &url, "read", "/larder-dev/program/text").contains("one"));
    // An error in the file is reported with the line in the file, and the last revision is still served.
    let work_dir = work_dir.file(request_file, "# a comment\ndirs = ['../gone']\n");
    let line = dev.wait_for_stderr("is rejected");
    assert!(
        line.contains("line 2: dirs[0]: there is no folder"),
        "{line}"
    );
    assert!(act(&work_dir, &url, "read", "/docs/page").contains("a page"));
    assert!(act(&work_dir, &url, "read", "/larder-dev/program/text").contains("one"));
    std::fs::remove_file(work_dir.path(request_file)).unwrap();
    dev.wait_for_stderr("rebuilt in ");
    assert!(!act(&work_dir, &url, "read", "/docs/page").contains("a page"));
    assert!(act(&work_dir, &url, "read", "/larder-dev/program/text").contains("one"));
}

#[test]
fn a_team_with_bounds_loads_the_program_too() {
    let config = "[team.red]\nplugins = 'red'\n[team.red.ceiling]\nhosts = ['example.com']\n";
    let work_dir = project().file("larder.toml", config);
    std::fs::create_dir(work_dir.path("red")).unwrap();
    let (mut dev, url) = start_dev(&work_dir, "--config larder.toml --team red");
    dev.wait_for_stderr("built in ");
    assert!(act(&work_dir, &url, "read", "/larder-dev/program/text").contains("one"));
}

#[test]
fn what_is_deployed_is_never_the_development_component() {
    let work_dir = project().file("project/base/build.sh", "exit 3");
    assert!(
        work_dir
            .larder("dev project --once")
            .expect_success()
            .contains("echo://")
    );
    let mut dev = work_dir.start("dev project --plugins plugins");
    dev.wait_for_stderr("built in ");
    let bytes = |path: &str| std::fs::read(work_dir.path(path)).unwrap();
    assert_eq!(bytes("plugins/project.wasm"), bytes("echo.wasm"));
    drop(dev);
    let (mut dev, url) = start_dev(&work_dir, "--packed");
    dev.wait_for_stderr("built in ");
    work_dir
        .larder(&format!("read echo://hello --url {url}"))
        .expect_success();
}

#[test]
fn prepares_the_program_after_each_save() {
    let prepare = "prepare = [['/bin/sh', 'prepare.sh']]\nprogram = '.dev/program'\n";
    let script = "mkdir -p .dev/program; grep -q oops main && exit 4; cp main .dev/program";
    let work_dir = project()
        .file("project/larder-dev.toml", &format!("{SETTINGS}{prepare}"))
        .file("project/prepare.sh", script)
        .file("project/main", "first");
    let (mut dev, url) = start_dev(&work_dir, "");
    assert!(dev.wait_for_stderr("built in ").contains("prepare "));
    assert!(act(&work_dir, &url, "list", "/larder-dev").contains("[\"main\"]"));
    let work_dir = work_dir.file("project/main", "oops");
    dev.wait_for_stderr("`/bin/sh prepare.sh` exited with exit status: 4");
    assert!(act(&work_dir, &url, "read", "/larder-dev/main").contains("first"));
    let work_dir = work_dir.file("project/main", "second");
    dev.wait_for_stderr("rebuilt in ");
    assert!(act(&work_dir, &url, "read", "/larder-dev/main").contains("second"));
}
