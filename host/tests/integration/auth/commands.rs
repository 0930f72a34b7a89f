//! The real binary: tokens are made, pasted, used, and taken back while the server runs.

use serde_json::json;

use crate::process::Place;

/// Makes a token, writes its lines into the configuration, and gives it.
fn token(place: &Place, words: &str) -> String {
    let made = place.larder(&format!("token new {words}")).yes();
    let (token, lines) = made.split_once("\n\n").unwrap();
    assert!(lines.starts_with("[[auth.tokens]]\n") && !lines.contains(token), "{lines}");
    let before = std::fs::read_to_string(place.path("larder.toml")).unwrap_or_default();
    std::fs::write(place.path("larder.toml"), format!("{before}{lines}")).unwrap();
    token.to_owned()
}

/// Asks again until it is refused.
fn is_refused(place: &Place, words: &str) -> String {
    let began = std::time::Instant::now();
    loop {
        let ran = place.larder(words);
        if ran.code == Some(1) {
            return ran.no(1);
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{words} is answered");
    }
}

#[test]
fn a_token_is_made_used_and_taken_back() {
    let place = Place::of("echo");
    let ann = token(&place, "--name ann --scope docs:read --expires 90d");
    let before = std::fs::read_to_string(place.path("larder.toml")).unwrap();
    let bob = token(&place, "--name bob");
    let place = place.file("token", &format!("{ann}\n")).file("empty", "\n");
    let (mut server, url) = place.serve("");

    let read = format!("read echo://hello --url {url}");
    let said = place.larder(&format!("{read} --token-file token")).yes();
    assert!(said.contains("caller: ann of default with [docs:read]"), "{said}");
    assert!(place.larder(&format!("{read} --token {bob}")).yes().contains("caller: bob of default with []"));
    let refused = place.larder(&read).no(1);
    assert!(refused.contains("HTTP 401") && refused.contains("--token-file"), "{refused}");
    let mistyped = place.larder(&format!("{read} --token {}", &bob[..70])).no(1);
    assert!(mistyped.contains("mistyped") && !mistyped.contains(&bob[..20]), "{mistyped}");
    assert!(place.larder(&format!("{read} --token-file empty")).no(64).contains("contains no token"));

    let mut watch = place.start(&format!("watch --list --url {url} --token {bob}"));
    watch.told("watching the lists");
    std::fs::write(place.path("larder.toml"), before).unwrap();
    server.told("credentials reloaded");
    is_refused(&place, &format!("{read} --token {bob}"));
    assert!(watch.end().no(1).contains("HTTP 401"), "who watched with it is told");
    place.larder(&format!("{read} --token-file token")).yes();
    server.signal("TERM");
    let log = server.end().no(0);
    assert!(!log.contains(&ann) && !log.contains(&bob), "{log}");
}

#[test]
fn a_token_for_scripts() {
    let place = Place::of("");
    let made = place.larder("token new --name ci --team default --json").json();
    let keys: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["digest", "expires", "name", "scopes", "teams", "token"]);
    assert_eq!((&made["name"], &made["teams"]), (&json!("ci"), &json!(["default"])));
    let other = place.larder("token new --json").json();
    assert!(other["teams"].is_null(), "the file decides");
    for (words, said) in
        [("--name=", "is not a name"), ("--scope=ä", "is not a scope"), ("--expires 10000y", "9999")]
    {
        let refused = place.larder(&format!("token new {words}")).no(64);
        assert!(refused.contains(said), "{refused}");
    }
    assert_ne!(made["token"], other["token"]);
}
