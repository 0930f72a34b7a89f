//! A provider that discloses its secret in every text that it can return. No log line, error or status contains the
//! secret.

use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::process::WorkDir;

/// The parts of the secret, none of which may appear.
const PARTS: [&str; 6] = ["AAAA", "BBBB", "CCCC", "DDDD", "EEEE", "FFFF"];

/// Checks that the text contains no part of the secret, and returns it.
fn check_redacted(text: &str) -> &str {
    for part in PARTS {
        assert!(!text.contains(part), "{part} is in {text}");
    }
    text
}

#[tokio::test]
async fn a_secret_appears_nowhere() {
    let config = "[admin]\nlisten = \"127.0.0.1:0\"\n[secret.token]\nfile = \"token\"\n\
                  [provider.leak]\nsecrets = [\"token\"]\n[limits]\nlog = \"1MiB\"\n";
    let work_dir = WorkDir::with_guests("leak")
        .file("larder.toml", config)
        .file("token", &PARTS.concat());
    let (mut admin, url) = AdminClient::open(&work_dir);
    // The status reports each invalid list entry.
    let (_, status) = admin.get("/status").await;
    assert_eq!(
        check_redacted(&status).matches("[secret]").count(),
        3,
        "{status}"
    );
    for (uri, text) in [
        (
            "leak://foreign",
            "it returned content for https://example.com/?key=[secret]",
        ),
        ("leak://bad", "it returned content with an invalid URI: "),
        // The secret crosses the limit at which a log line and the end of stderr are truncated.
        ("leak://print/4084", ""),
        ("leak://trap/4084", "it trapped"),
        ("leak://updated", ""),
    ] {
        let output = work_dir.larder(&format!("read {uri} --url {url}"));
        assert!(
            check_redacted(&output.stderr).contains(text),
            "{}",
            output.stderr
        );
    }
    let (_, status) = admin.get("/status").await;
    check_redacted(&status);
    for path in [
        "overview",
        "providers",
        "providers/leak",
        "providers/leak/log",
        "events",
    ] {
        let (status, body) = admin.get(&format!("/api/{path}")).await;
        assert_eq!(status, 200, "{path}: {}", check_redacted(&body));
        assert!(
            body.contains("leak") || body.contains("[secret]"),
            "{path}: {body}"
        );
    }
    for text in [
        "list entry changed or omitted",
        "ignored an update of a URI",
        "`resource-updated` with an invalid URI",
        "the provider failed",
    ] {
        admin.process.find_stderr(text);
    }
    let no_guests = async || {
        admin
            .get("/metrics")
            .await
            .1
            .contains("larder_guests{team=\"default\",provider=\"leak\"} 0")
    };
    eventually_within(SLOW_WAIT, "all calls have ended", no_guests).await;
    admin.process.signal("TERM");
    let log = admin.process.wait().expect_exit(0);
    assert!(
        check_redacted(&log).matches("[secret]").count() >= 9,
        "{log}"
    );
}
