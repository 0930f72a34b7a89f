//! The real binary: tokens are created, added to the configuration, used, and removed while the server runs.

use serde_json::json;

use crate::support::harness::{SLOW_WAIT, eventually_blocking};
use crate::support::process::WorkDir;

/// Creates a token with `larder token new`, adds its lines to the configuration, and returns it.
fn token(work_dir: &WorkDir, args: &str) -> String {
    let created = work_dir
        .larder(&format!("token new {args}"))
        .expect_success();
    let (token, lines) = created.split_once("\n\n").unwrap();
    assert!(
        lines.starts_with("[[auth.tokens]]\n") && !lines.contains(token),
        "{lines}"
    );
    let before = std::fs::read_to_string(work_dir.path("larder.toml")).unwrap_or_default();
    std::fs::write(work_dir.path("larder.toml"), format!("{before}{lines}")).unwrap();
    token.to_owned()
}

/// Repeats a command until it exits with code 1, and returns its stderr.
fn wait_for_refusal(work_dir: &WorkDir, args: &str) -> String {
    let mut output = None;
    eventually_blocking(SLOW_WAIT, &format!("`larder {args}` is refused"), || {
        let ended = work_dir.larder(args);
        let refused = ended.code == Some(1);
        output = Some(ended);
        refused
    });
    output.unwrap().expect_exit(1)
}

#[test]
fn a_removed_token_is_refused_and_its_streams_end() {
    let work_dir = WorkDir::with_guests("echo");
    let ann = token(&work_dir, "--name ann --scope docs:read --expires 90d");
    let before = std::fs::read_to_string(work_dir.path("larder.toml")).unwrap();
    let bob = token(&work_dir, "--name bob");
    let work_dir = work_dir
        .file("token", &format!("{ann}\n"))
        .file("empty", "\n");
    let (mut server, url) = work_dir.serve("");

    let read = format!("read echo://hello --url {url}");
    let stdout = work_dir
        .larder(&format!("{read} --token-file token"))
        .expect_success();
    assert!(
        stdout.contains("caller: ann of default with [docs:read]"),
        "{stdout}"
    );
    assert!(
        work_dir
            .larder(&format!("{read} --token {bob}"))
            .expect_success()
            .contains("caller: bob of default with []")
    );
    let refused = work_dir.larder(&read).expect_exit(1);
    assert!(
        refused.contains("HTTP 401") && refused.contains("--token-file"),
        "{refused}"
    );
    let mistyped = work_dir
        .larder(&format!("{read} --token {}", &bob[..70]))
        .expect_exit(1);
    assert!(
        mistyped.contains("mistyped") && !mistyped.contains(&bob[..20]),
        "{mistyped}"
    );
    assert!(
        work_dir
            .larder(&format!("{read} --token-file empty"))
            .expect_exit(64)
            .contains("contains no token")
    );

    let mut watch = work_dir.start(&format!("watch --list --url {url} --token {bob}"));
    watch.wait_for_stderr("watching the lists");
    std::fs::write(work_dir.path("larder.toml"), before).unwrap();
    server.wait_for_stderr("credentials reloaded");
    wait_for_refusal(&work_dir, &format!("{read} --token {bob}"));
    assert!(
        watch.wait().expect_exit(1).contains("HTTP 401"),
        "its watch did not end with an error"
    );
    work_dir
        .larder(&format!("{read} --token-file token"))
        .expect_success();
    server.signal("TERM");
    let log = server.wait().expect_exit(0);
    assert!(!log.contains(&ann) && !log.contains(&bob), "{log}");
}

#[test]
fn token_new_has_json_output_for_scripts() {
    let work_dir = WorkDir::with_guests("");
    let created = work_dir
        .larder("token new --name ci --team default --json")
        .json();
    let keys: Vec<_> = created
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        ["digest", "expires", "name", "scopes", "teams", "token"]
    );
    assert_eq!(
        (&created["name"], &created["teams"]),
        (&json!("ci"), &json!(["default"]))
    );
    let other = work_dir.larder("token new --json").json();
    assert!(
        other["teams"].is_null(),
        "without --team there are no teams in the output"
    );
    for (args, message) in [
        ("--name=", "is not a name"),
        ("--scope=ä", "is not a scope"),
        ("--expires 10000y", "9999"),
    ] {
        let refused = work_dir
            .larder(&format!("token new {args}"))
            .expect_exit(64);
        assert!(refused.contains(message), "{refused}");
    }
    assert_ne!(created["token"], other["token"]);
}
