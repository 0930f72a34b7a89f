//! Commands show the end of what a guest wrote to stderr when it misbehaves, so that the author of the guest sees the
//! panic message.

use crate::authors::author::project;
use crate::support::process::{ProcessOutput, WorkDir};

/// The message of a panic at the start, as the guest's language runtime wrote it.
const MESSAGE: &str = "trapped at the start";

fn text(output: &ProcessOutput) -> String {
    format!("{}{}", output.stdout, output.stderr)
}

/// Checks that a command shows the message as a line of its own below the heading.
fn check(output: &ProcessOutput, heading: &str, message: &str) {
    let shown = text(output);
    assert_eq!(output.code, Some(1), "{shown}");
    let (_, after) = shown
        .split_once(heading)
        .unwrap_or_else(|| panic!("no `{heading}` in {shown}"));
    let lines: Vec<_> = after
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .collect();
    assert!(lines.iter().any(|line| line.trim() == message), "{shown}");
}

#[test]
fn of_a_read_that_failed() {
    let work_dir = WorkDir::with_guests("trap_nth echo");
    let output = work_dir.larder("read trap://7 --plugins plugins");
    check(
        &output,
        "trap_nth: stderr of the guest:",
        "assertion `left != right` failed: a read of the seventh resource traps",
    );
    assert!(!text(&output).contains("echo: stderr"), "{}", text(&output));
    // Nothing is shown for calls that succeeded, or that the provider answered with an error.
    for read in [
        "read trap://1 --plugins plugins",
        "read echo://nothing --plugins plugins",
    ] {
        let output = work_dir.larder(read);
        assert!(
            !text(&output).contains("stderr of the guest"),
            "{}",
            text(&output)
        );
    }
}

#[test]
fn of_a_component_that_was_rejected() {
    let work_dir = WorkDir::with_guests("trap_start");
    let heading = "trap_start.wasm: stderr of the guest:";
    check(&work_dir.larder("check"), heading, MESSAGE);
    check(
        &work_dir.larder("read x:y --plugins plugins"),
        heading,
        MESSAGE,
    );
    for command in ["check", "inspect"] {
        let output = work_dir.larder(&format!("{command} plugins/trap_start.wasm"));
        check(&output, "stderr of the guest:", MESSAGE);
    }
    let found = work_dir
        .larder("check plugins/trap_start.wasm --json")
        .json();
    let lines = found["checks"][0]["stderr"].as_array().unwrap();
    assert!(lines.iter().any(|line| line == MESSAGE), "{found}");
    let found = work_dir
        .larder("inspect plugins/trap_start.wasm --json")
        .json();
    assert!(
        found["stderr"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line == MESSAGE),
        "{found}"
    );
}

#[test]
fn of_the_first_read_in_a_check() {
    let work_dir = WorkDir::with_guests("trap_reads");
    let output = work_dir.larder("check plugins/trap_reads.wasm");
    assert!(
        output
            .stdout
            .contains("FAILED  read      trap-reads://listed: "),
        "{}",
        output.stdout
    );
    check(&output, "stderr of the guest:", "not today");
}

#[test]
fn of_a_build_in_dev() {
    let work_dir = project("cp ../trap_start.wasm output");
    std::fs::copy(
        crate::support::harness::component_path("trap_start"),
        work_dir.path("trap_start.wasm"),
    )
    .unwrap();
    check(
        &work_dir.larder("dev project --once"),
        "project: stderr of the guest:",
        MESSAGE,
    );
}
