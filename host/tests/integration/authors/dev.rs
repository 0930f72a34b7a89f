//! `larder dev`: grant request files, teams, the provider's log, and saves during a build.

use crate::authors::author::{BUILD_SCRIPT, project};
use crate::support::harness::component_path;
use crate::support::process::{RunningProcess, WorkDir};

/// Reads the provider's setting `greeting` from the endpoint.
fn setting(work_dir: &WorkDir, url: &str) -> String {
    work_dir
        .larder(&format!("read echo://setting/greeting --url {url}"))
        .expect_success()
        .trim()
        .to_owned()
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

#[test]
fn a_changed_grant_request_file_reloads_the_component() {
    let request_file = "project/project.toml";
    let work_dir = project(BUILD_SCRIPT).file(request_file, "settings.greeting = 1 = 2\n");
    let (mut dev, url) = start_dev(&work_dir, "");
    assert!(
        dev.wait_for_stderr("project.wasm is rejected")
            .contains("is invalid: line 1")
    );
    // After it is corrected, the old error is not reported again.
    let work_dir = work_dir.file(request_file, "settings.greeting = 'hello'\n");
    dev.wait_for_stderr("built in");
    assert_eq!(setting(&work_dir, &url), "hello");
    // Another request file for the same component is in effect when `loaded` is logged.
    let work_dir = work_dir.file(request_file, "settings.greeting = 'good evening'\n");
    dev.wait_for_stderr("built in");
    assert_eq!(setting(&work_dir, &url), "good evening");
    // An error in the request file is reported, and the last working version is still served.
    let work_dir = work_dir.file(request_file, "setting.greeting = 'bye'\n");
    assert!(
        dev.wait_for_stderr("is rejected")
            .contains("unknown field `setting`")
    );
    assert_eq!(setting(&work_dir, &url), "good evening");
    // When the file is removed from the project, it is not in effect any more.
    std::fs::remove_file(work_dir.path(request_file)).unwrap();
    dev.wait_for_stderr("built in");
    assert_eq!(setting(&work_dir, &url), "unset");
    // A request file that cannot be read is an error. It is not ignored.
    std::fs::create_dir(work_dir.path(request_file)).unwrap();
    let work_dir = work_dir.file("project/build.sh", &format!("{BUILD_SCRIPT} # again"));
    assert!(dev.wait_for_stderr("cannot read ").contains("project.toml"));
    drop(work_dir);
}

#[test]
fn relative_folders_are_below_the_project_or_the_plugins_folder() {
    let request_file = "project/project.toml";
    let work_dir = project(BUILD_SCRIPT).file(request_file, "dirs = ['docs']\n");
    let output = work_dir.larder("dev project --once").expect_exit(1);
    let docs = work_dir
        .path("project")
        .canonicalize()
        .unwrap()
        .join("docs");
    assert!(
        output.contains(&format!("there is no folder {}: create it", docs.display())),
        "{output}"
    );
    std::fs::create_dir(&docs).unwrap();
    work_dir.larder("dev project --once").expect_success();
    let (mut dev, _) = start_dev(&work_dir, "");
    dev.wait_for_stderr("built in");
    // With `--plugins`, the folder is relative to the plugins folder, as it is for the server.
    let output = work_dir
        .start("dev project --plugins plugins")
        .wait_for_stderr("is rejected");
    let there = work_dir
        .path("plugins")
        .canonicalize()
        .unwrap()
        .join("docs");
    assert!(
        output.contains(&format!("there is no folder {}", there.display())),
        "{output}"
    );
}

#[test]
fn shows_the_log_of_the_provider() {
    let work_dir = project(BUILD_SCRIPT);
    let (mut dev, url) = start_dev(&work_dir, "");
    dev.wait_for_stderr("built in");
    work_dir
        .larder(&format!("read echo://hello --url {url}"))
        .expect_success();
    dev.wait_for_stderr("text=\"read echo://hello\"");
}

#[test]
fn removes_only_its_own_request_file_from_the_plugins_folder() {
    let request_file = "project/project.toml";
    let work_dir =
        project(BUILD_SCRIPT).file("plugins/project.toml", "settings.greeting = 'theirs'\n");
    let mut dev = work_dir.start("dev project --plugins plugins");
    dev.wait_for_stderr("project.toml does not belong to this project, and remains in effect");
    dev.wait_for_stderr("built in");
    let work_dir = work_dir.file(request_file, "settings.greeting = 'ours'\n");
    dev.wait_for_stderr("built in");
    let copy = work_dir.path("plugins/project.toml");
    assert_eq!(
        std::fs::read_to_string(&copy).unwrap(),
        "settings.greeting = 'ours'\n"
    );
    std::fs::remove_file(work_dir.path(request_file)).unwrap();
    dev.wait_for_stderr("built in");
    assert!(!copy.exists());
}

#[test]
fn uses_the_grants_of_the_selected_team() {
    let config =
        "[team.red.provider.project.settings]\ngreeting = 'red'\n[team.blue]\nplugins = 'blue'\n";
    let work_dir = project(BUILD_SCRIPT).file("larder.toml", config);
    for (args, message) in [
        (
            "--config larder.toml",
            "--team: the configuration has teams: specify with `--team NAME`",
        ),
        (
            "--config larder.toml --team green",
            "there is no team green",
        ),
        (
            "--team red",
            "there is no team red: the configuration has no [team.red]",
        ),
    ] {
        let output = work_dir
            .larder(&format!("dev project --once {args}"))
            .expect_exit(64);
        assert!(output.contains(message), "{args}: {output}");
    }
    let once = work_dir
        .larder("dev project --once --config larder.toml --team red")
        .expect_success();
    assert!(once.starts_with("project: 4 resources"), "{once}");
    let (mut dev, url) = start_dev(&work_dir, "--config larder.toml --team red");
    dev.wait_for_stderr("built in");
    assert_eq!(setting(&work_dir, &url), "red");
    dev.signal("INT");
    assert_eq!(dev.wait().code, Some(0));
}

#[test]
fn refuses_a_public_address_and_leaves_no_state() {
    let work_dir = project(BUILD_SCRIPT);
    let output = work_dir
        .larder("dev project --listen 0.0.0.0:0")
        .expect_exit(64);
    assert!(output.contains("auth"), "{output}");
    let (mut dev, _) = start_dev(&work_dir, "");
    dev.wait_for_stderr("built in");
    dev.signal("INT");
    assert_eq!(dev.wait().code, Some(0));
    assert!(!work_dir.path("state").exists());
}

#[test]
fn builds_the_last_save_if_files_change_during_each_build() {
    // The build script changes a source file, as a save during the build would.
    let work_dir = project(
        "read -r text < text; test -e ../stop-saving || echo \"$text.\" > text; cp ../echo.wasm output",
    );
    let work_dir = work_dir.file("project/text", "text\n");
    let (mut dev, _) = start_dev(&work_dir, "");
    dev.wait_for_stderr("text changed during each of the last builds");
    dev.wait_for_stderr("during each of the last 10 builds; waiting until they stop changing");
    dev.wait_for_stderr("building project");
    dev.wait_for_stderr(
        "text changed during this build as well; the next build starts after the next save",
    );
    // Eleven builds, and no more until the next save.
    let text = std::fs::read_to_string(work_dir.path("project/text")).unwrap();
    assert_eq!(text, "text...........\n");
    let work_dir = work_dir
        .file("stop-saving", "")
        .file("project/text", "saved\n");
    dev.wait_for_stderr("building project");
    dev.wait_for_stderr("built in");
    drop(work_dir);
}

/// The second of two failures may have another reason, which a server would only count.
#[test]
fn shows_each_failure_of_the_provider() {
    let work_dir = project("cp ../plugins/trap_nth.wasm output");
    let guest = component_path("trap_nth");
    std::fs::copy(guest, work_dir.path("plugins/trap_nth.wasm")).unwrap();
    let (mut dev, url) = start_dev(&work_dir, "");
    dev.wait_for_stderr("built in");
    for _ in 0..3 {
        work_dir
            .larder(&format!("read trap://7 --url {url}"))
            .expect_exit(1);
        dev.wait_for_stderr("a read of the seventh resource traps");
    }
}

#[test]
fn says_what_is_not_granted() {
    let work_dir = project("cp ../plugins/interactive.wasm output");
    let guest = component_path("interactive");
    std::fs::copy(guest, work_dir.path("plugins/interactive.wasm")).unwrap();
    let (mut dev, url) = start_dev(&work_dir, "");
    dev.wait_for_stderr("write `tools = true` and `prompts = true` into project.toml");
    let work_dir = work_dir.file("project/project.toml", "tools = true\nprompts = true\n");
    dev.wait_for_stderr("rebuilt in");
    let tools = work_dir
        .larder(&format!("tools --url {url}"))
        .expect_success();
    assert!(tools.lines().count() > 1, "{tools}");
}
