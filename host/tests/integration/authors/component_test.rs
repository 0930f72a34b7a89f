//! `larder test`: the commands of a file, with a component.

use crate::support::harness::component_path;
use crate::support::process::{WorkDir, path_arg};

/// A file with two configurations. The guest `echo` needs no grant.
const CASES: &str = "# Cases\n\n```console\n$ larder list --limit 1\n\
    URI  NAME  TYPE  SIZE\necho://blob  echo://blob\n\
    $ larder read echo://absent\nlarder: the server returned an error: Resource not found (-32602)\n```\n\n\
    ```toml\n[provider.echo.limits]\ntimeout = \"5s\"\n```\n\n```console\n$ larder list --text absent\nno resources\n```\n";

fn work_dir(cases: &str) -> (WorkDir, String) {
    let work_dir = WorkDir::with_guests("").file("session.md", cases);
    let component = component_path("echo");
    let command = format!("test {}", path_arg(&component));
    (work_dir, command)
}

#[test]
fn outputs_are_compared_with_a_file_and_updated() {
    let (work_dir, command) = work_dir(CASES);
    let output = work_dir.larder(&command).expect_success();
    assert!(
        output.contains("ok       larder list --text absent\n\nall 3 outputs are as expected"),
        "{output}"
    );

    let wrong = CASES.replace("no resources", "some resources");
    let (work_dir, command) = self::work_dir(&wrong);
    let failed = work_dir.larder(&command);
    let text = failed.stdout;
    assert_eq!(failed.code, Some(1));
    assert!(
        text.contains(
            "DIFFERS  larder list --text absent\n  expected:\n    some resources\n  actual:\n    no resources\n"
        ),
        "{text}"
    );
    work_dir
        .larder(&format!("{command} --update"))
        .expect_success();
    let updated = std::fs::read_to_string(work_dir.path("session.md")).unwrap();
    assert_eq!(updated, CASES);
    // Nothing else is left in the folder of the cases.
    let left = std::fs::read_dir(work_dir.path("")).unwrap();
    let hidden = left.filter(|file| {
        let name = file.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with(".larder-test")
    });
    assert_eq!(hidden.count(), 0);
}

#[test]
fn a_file_without_cases_is_wrong_usage() {
    let (work_dir, command) = work_dir("# Nothing\n");
    let stderr = work_dir.larder(&command).expect_exit(64);
    assert!(
        stderr.contains("session.md: there is no command"),
        "{stderr}"
    );
    let stderr = work_dir
        .larder("test absent.wasm absent.md")
        .expect_exit(64);
    assert!(stderr.contains("absent.md"), "{stderr}");
}
