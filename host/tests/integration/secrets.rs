//! A provider that says its secret wherever it can: it stands in no log line, no error, and no status.

use crate::admin::Seen;
use crate::process::Place;
use crate::revision::until;

/// Any part of it would be a part too much.
const PARTS: [&str; 6] = ["AAAA", "BBBB", "CCCC", "DDDD", "EEEE", "FFFF"];

fn clean(text: &str) -> &str {
    for part in PARTS {
        assert!(!text.contains(part), "{part} stands in {text}");
    }
    text
}

#[tokio::test]
async fn a_secret_stands_nowhere() {
    let config = "[admin]\nlisten = \"127.0.0.1:0\"\n[secret.token]\nfile = \"token\"\n\
                  [provider.tattle]\nsecrets = [\"token\"]\n[limits]\nlog = \"1MiB\"\n";
    let place = Place::of("tattle").file("larder.toml", config).file("token", &PARTS.concat());
    let (mut seen, url) = Seen::open(&place);
    // Each of the bad ones is in the lists' notes.
    let (_, status) = seen.get("/status").await;
    assert_eq!(clean(&status).matches("[secret]").count(), 3, "{status}");
    for (uri, words) in [
        ("tattle://foreign", "it returned content for https://example.com/?key=[secret]"),
        ("tattle://bad", "it returned content with an invalid URI: "),
        // Where a line, and what is kept of stderr, is cut.
        ("tattle://print/4084", ""),
        ("tattle://trap/4084", "it trapped"),
        ("tattle://updated", ""),
    ] {
        let ran = place.larder(&format!("read {uri} --url {url}"));
        assert!(clean(&ran.err).contains(words), "{}", ran.err);
    }
    let (_, status) = seen.get("/status").await;
    clean(&status);
    for words in [
        "list entry changed or omitted",
        "ignored an update of a URI that the provider does not own",
        "ignored an update of an invalid URI",
        "the provider failed",
    ] {
        seen.running.has_told(words);
    }
    let numbers = async || {
        seen.get("/metrics").await.1.contains("larder_guests{team=\"default\",provider=\"tattle\"} 0")
    };
    until("all calls have ended", numbers).await;
    seen.running.signal("TERM");
    let said = seen.running.end().no(0);
    assert!(clean(&said).matches("[secret]").count() >= 9, "{said}");
}
