//! `larder up`: the real program with its built-in providers, as users and clients start it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::harness::{SLOW_WAIT, eventually_blocking};
use crate::support::process::{RunningProcess, WorkDir, path_arg};

/// A working directory with `docs`, a folder with a note, and `project`, a repository.
fn work_dir() -> WorkDir {
    let work_dir = WorkDir::with_guests("");
    for folder in ["docs", "project"] {
        std::fs::create_dir(work_dir.path(folder)).unwrap();
    }
    std::fs::write(work_dir.path("docs/plan.md"), "# The plan\n").unwrap();
    std::fs::write(work_dir.path("project/code.txt"), "committed\n").unwrap();
    let project = work_dir.path("project");
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    git(&project, &["add", "code.txt"]);
    git(&project, &["commit", "--quiet", "-m", "first"]);
    work_dir
}

fn git(folder: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let status = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(identity)
        .args(args)
        .status()
        .unwrap();
    assert!(status.success(), "git {args:?}");
}

/// Starts `larder up`, and returns the URL of its endpoint.
fn up(work_dir: &WorkDir, args: &str) -> (RunningProcess, String) {
    let mut server = work_dir.start(&format!("up {args}"));
    let line = server.wait_for_stderr("serves http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    (server, url.unwrap().to_owned())
}

/// The URIs that a server lists, sorted.
fn uris(work_dir: &WorkDir, url: &str) -> Vec<String> {
    let listed = work_dir.larder(&format!("list --json --url {url}")).json();
    let mut uris: Vec<_> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["uri"].as_str().unwrap().to_owned())
        .collect();
    uris.sort();
    uris
}

#[test]
fn serves_files_notes_and_repositories() {
    let work_dir = work_dir();
    let started = Instant::now();
    let (_server, url) = up(&work_dir, "docs project");
    let listed = uris(&work_dir, &url);
    eprintln!("from the start to the first list: {:?}", started.elapsed());
    for uri in [
        "file:///docs/plan.md",
        "file:///project/code.txt",
        "git://project",
        "notes:///plan",
    ] {
        assert!(
            listed.iter().any(|listed| listed == uri),
            "{uri}: {listed:?}"
        );
    }
    let read = |uri: &str| work_dir.larder(&format!("read {uri} --url {url}"));
    assert_eq!(read("notes:///plan").expect_success(), "# The plan\n");
    assert_eq!(
        read("git://project/HEAD/code.txt").expect_success(),
        "committed\n"
    );
    // Only the named folders are granted. The components of the working directory are not served.
    read("file:///plugins/").expect_exit(1);
    // Models reach resources through tools.
    let called = work_dir.larder(&format!(
        "call read_resource --arg uri=file:///docs/plan.md --url {url}"
    ));
    assert_eq!(called.expect_success(), "# The plan\n");
    std::fs::write(work_dir.path("docs/new.txt"), "").unwrap();
    eventually_blocking(SLOW_WAIT, "the new file is in the list", || {
        uris(&work_dir, &url).contains(&"file:///docs/new.txt".to_owned())
    });
}

#[test]
fn two_servers_run_at_the_same_time() {
    let work_dir = work_dir();
    let (_docs, first) = up(&work_dir, "docs");
    let (_project, second) = up(&work_dir, "project");
    assert_ne!(first, second);
    assert_eq!(
        uris(&work_dir, &first),
        ["file:///docs/plan.md", "notes:///plan", "notes://tags"]
    );
    assert!(uris(&work_dir, &second).contains(&"file:///project/code.txt".to_owned()));
}

#[test]
fn prints_the_configuration_for_which_it_stands() {
    let work_dir = work_dir();
    // A name that a configuration would replace, and two folders of the same name.
    std::fs::create_dir_all(work_dir.path("$HOME/docs")).unwrap();
    std::fs::write(work_dir.path("$HOME/docs/other.md"), "other").unwrap();
    let folders = "docs $HOME/docs project";
    let config = work_dir.larder(&format!("up --print-config {folders}"));
    let work_dir = work_dir.file("larder.toml", &config.expect_success());
    work_dir.larder("check").expect_success();
    let (_up, of_up) = up(&work_dir, folders);
    let (_serve, of_serve) = work_dir.serve("--admin off");
    let listed = uris(&work_dir, &of_up);
    assert!(
        listed.contains(&"file:///docs-2/other.md".to_owned()),
        "{listed:?}"
    );
    assert_eq!(listed, uris(&work_dir, &of_serve));
}

#[test]
fn refuses_folders_that_it_must_not_or_cannot_serve() {
    let work_dir = work_dir();
    for (folder, reason) in [
        ("missing", "cannot read the folder missing: No such file"),
        (
            "docs/plan.md",
            "docs/plan.md is a file: name the folder that contains it",
        ),
        ("/", "the whole file system"),
        // The working directory of the tests is the home folder.
        (
            "",
            "contains your home folder, in which programs keep keys and passwords",
        ),
    ] {
        let error = work_dir.larder(&format!("up {folder}")).expect_exit(64);
        assert!(error.contains(reason), "{folder}: {error}");
    }
}

#[test]
fn serves_one_client_over_stdio() {
    let work_dir = work_dir();
    let mut server = work_dir.start("up --stdio docs");
    let mut request = |id: u64, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        server.write_line(&request.to_string());
        let response: Value = serde_json::from_str(&server.next()).unwrap();
        response["result"].clone()
    };
    let client = json!({"name": "test", "version": "1"});
    let initialize =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialized = request(1, "initialize", initialize);
    assert_eq!(initialized["serverInfo"]["name"], "larder");
    let read = request(2, "resources/read", json!({"uri": "file:///docs/plan.md"}));
    assert_eq!(read["contents"][0]["text"], "# The plan\n");
}

#[test]
fn clients_are_found_and_connected() {
    let work_dir = work_dir();
    std::fs::create_dir(work_dir.path(".cursor")).unwrap();
    let (mut server, _) = up(&work_dir, "docs");
    let docs = work_dir.path("docs").canonicalize().unwrap();
    let command = format!(
        "larder connect cursor --name larder-docs --up {} --write",
        path_arg(&docs)
    );
    let line = server.find_stderr("to add this server to Cursor");
    assert!(line.contains(&command), "{line}");
    drop(server);
    assert!(!work_dir.path(".cursor/mcp.json").exists());
    work_dir
        .larder(command.strip_prefix("larder ").unwrap())
        .expect_success();
    let entry: Value =
        serde_json::from_slice(&std::fs::read(work_dir.path(".cursor/mcp.json")).unwrap()).unwrap();
    let args = &entry["mcpServers"]["larder-docs"]["args"];
    assert_eq!(*args, json!(["up", "--stdio", path_arg(&docs)]));
    // The same entry is not written twice.
    let (mut server, _) = up(&work_dir, "docs --connect cursor");
    drop(server.find_stderr("serves http://"));
    drop(server);
    let (mut server, _) = up(&work_dir, "docs --yes");
    server.find_stderr("Cursor starts this server: entry `larder-docs`");
}

#[test]
fn configurations_name_built_in_providers() {
    let config =
        "plugins = 'none'\n[provider.mine]\ncomponent = 'builtin:files'\ndirs = ['docs']\n";
    let work_dir = work_dir();
    work_dir
        .larder("list --plugins builtin:git")
        .expect_success();
    let work_dir = work_dir.file("larder.toml", config);
    let checked = work_dir.larder("check").expect_success();
    assert!(checked.contains("mine"), "{checked}");
    let inspected = work_dir.larder("inspect --json builtin:files").json();
    assert_eq!(inspected["file"], "builtin:files");
    work_dir.larder("check builtin:files").expect_success();
    let (_server, url) = work_dir.serve("--admin off");
    assert_eq!(uris(&work_dir, &url), ["file:///docs/plan.md"]);
    // Changes of the file take effect while the server runs.
    let notes = config.replace("builtin:files", "builtin:notes");
    let work_dir = work_dir.file("larder.toml", &notes);
    eventually_blocking(SLOW_WAIT, "the other provider is served", || {
        uris(&work_dir, &url) == ["notes:///plan", "notes://tags"]
    });
}

#[test]
fn a_name_that_is_not_built_in_is_an_error() {
    let config = "[provider.a]\ncomponent = 'builtin:nothing'\n[provider.b]\ncomponent = 'builtin:files'\nupdate = 'auto'\n";
    let work_dir = WorkDir::with_guests("").file("larder.toml", config);
    let error = work_dir.larder("check").expect_exit(64);
    assert!(
        error.contains(
            "larder.toml:2: provider.a.component: there is no built-in provider `nothing`"
        ),
        "{error}"
    );
    let error = work_dir.larder("inspect builtin:nothing").expect_exit(64);
    assert!(error.contains("use one of"), "{error}");
}
