//! A panic of a Rust guest is one log entry with its message, and the entry of a timeout says what the guest did.

use crate::support::process::WorkDir;

/// Reads these URIs from a server, and returns the lines of its log with this text.
fn log_lines(guest: &str, config: &str, uris: &[&str], text: &str) -> Vec<String> {
    let work_dir = WorkDir::with_guests(guest).file("larder.toml", config);
    let (server, url) = work_dir.serve("--plugins plugins --config larder.toml");
    for uri in uris {
        work_dir.larder(&format!("read {uri} --url {url}"));
    }
    server.signal("TERM");
    let stderr = server.wait().stderr;
    stderr
        .lines()
        .filter(|line| line.contains(text))
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn with_the_standard_panic_hook() {
    let lines = log_lines("trap_reads", "", &["trap-reads://word"], "panicked at");
    assert!(
        lines.len() == 1 && lines[0].contains("the provider failed"),
        "{lines:?}"
    );
    assert!(lines[0].contains("not today"), "{lines:?}");
    let lines = log_lines("trap_reads", "", &["trap-reads://word"], "not today");
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[test]
fn with_the_hook_of_the_sdk_and_a_retry() {
    let config = "[provider.again]\nguests = \"reuse\"\n";
    let lines = log_lines(
        "again",
        config,
        &["again://left", "again://left"],
        "in two lines",
    );
    assert!(
        lines.len() == 1 && lines[0].contains("calling a fresh one"),
        "{lines:?}"
    );
    assert!(lines[0].contains("the reused guest panics"), "{lines:?}");
}

/// The test guests have no names of functions.
#[test]
fn a_timeout_names_the_functions_that_ran() {
    let config = "[provider.spin]\nlimits = { timeout = '2s', cpu_time = '30s' }\n";
    let lines = log_lines("spin", config, &["spin://forever"], "the provider failed");
    assert!(
        lines.len() == 1 && lines[0].contains("wasm function"),
        "{lines:?}"
    );
}
