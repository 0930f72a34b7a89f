//! Completion in a real bash, and the calls of the scripts of the other shells.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::harness::{SLOW_WAIT, eventually_blocking};
use crate::support::process::WorkDir;

/// Returns the text that bash inserts for the last word of a line, one candidate per line, and the additional output.
fn complete(work_dir: &WorkDir, line: &str) -> String {
    let script = work_dir.larder("completions bash").expect_success();
    // The interactive part of bash calls the function with these variables.
    let call = r#"
        COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
        COMP_WORDS=($LINE) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _larder
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_larder"))
        .parent()
        .unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &format!("{script}{call}")])
        .current_dir(work_dir.path(""));
    bash.env_clear()
        .env("PATH", path)
        .env("HOME", work_dir.path(""))
        .env("LINE", line);
    let output = bash.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success());
    format!(
        "{}{}",
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap()
    )
}

/// Returns the candidates of other shells, in the form for fish.
fn candidates(work_dir: &WorkDir, words: &[&str]) -> Vec<String> {
    let mut command = work_dir.command(&[("_LARDER_COMPLETE", "fish")], "-- larder");
    let output = command.args(words).output().unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap().as_str()
        ),
        (Some(0), "")
    );
    let candidates = String::from_utf8(output.stdout).unwrap();
    candidates
        .lines()
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

/// Requests candidates until there are some. A busy server may need longer than a completion waits.
fn served(work_dir: &WorkDir, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    eventually_blocking(SLOW_WAIT, "there are candidates", || {
        found = candidates(work_dir, words);
        !found.is_empty()
    });
    found
}

#[test]
fn completes_uris_of_a_running_server() {
    let work_dir = WorkDir::with_guests("echo");
    let (_server, url) = work_dir.serve("--admin off");
    let work_dir = work_dir.file("larder.toml", &format!("[client]\nurl = '{url}'\n"));
    let all: Vec<_> = work_dir
        .larder("list")
        .expect_success()
        .lines()
        .skip(1)
        .map(first_word)
        .collect();
    assert!(
        all.len() > 2 && all.contains(&"echo://hello".to_owned()),
        "{all:?}"
    );
    assert_eq!(served(&work_dir, &["read", "echo://he"]), ["echo://hello"]);
    let mut found = served(&work_dir, &["read", "echo:"]);
    found.sort();
    assert_eq!(found, all);
    assert_eq!(
        served(&work_dir, &["watch", "echo://hello", "echo://he"]),
        ["echo://hello"]
    );
    // The options on the line select the server, and cannot cause any output.
    assert_eq!(
        served(&work_dir, &["read", "-v", "--url", &url, "echo://he"]),
        ["echo://hello"]
    );
    assert!(
        candidates(
            &work_dir,
            &["read", "--url", "http://127.0.0.1:1/mcp", "echo:"]
        )
        .is_empty()
    );
    let templates = served(&work_dir, &["complete", "echo:"]);
    assert!(
        templates.iter().all(|template| template.contains('{')),
        "{templates:?}"
    );

    // Bash inserts only the text after the last colon.
    for (line, inserted) in [
        ("larder read echo://he", "//hello\n"),
        ("larder read 'echo://he", "echo://hello\n"),
    ] {
        eventually_blocking(SLOW_WAIT, line, || complete(&work_dir, line) == inserted);
    }
    assert_eq!(complete(&work_dir, "larder list --kind=fil"), "file\n");
    assert_eq!(complete(&work_dir, "larder templ"), "templates\n");
}

#[test]
fn a_server_that_does_not_answer_costs_half_a_second_and_prints_nothing() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let work_dir = WorkDir::with_guests("").file(
        "larder.toml",
        &format!(
            "[client]\nurl = 'http://{}/mcp'\n",
            silent.local_addr().unwrap()
        ),
    );
    let began = Instant::now();
    assert!(candidates(&work_dir, &["read", "x:"]).is_empty());
    let elapsed = began.elapsed();
    // Without the limit, the completion would wait for a minute.
    assert!(
        elapsed >= Duration::from_millis(500) && elapsed < Duration::from_secs(30),
        "{elapsed:?}"
    );
    assert_eq!(complete(&work_dir, "larder read x:"), "\n");
    // An invalid file is an error of the command, not of the completion.
    let work_dir = work_dir.file("larder.toml", "[client\n");
    assert_eq!(complete(&work_dir, "larder read x:"), "\n");
    assert_eq!(complete(&work_dir, "larder templ"), "templates\n");
}

fn first_word(line: &str) -> String {
    line.split_whitespace().next().unwrap().to_owned()
}
