//! The commands as people and scripts run them: answers on stdout, everything else on stderr, and exit codes.

use std::io::Write as _;

use larder_core::reconcile::{Approvals, PendingApprovalRecord};
use larder_model::name::{Digest, ProviderName, TeamName};
use serde_json::{Value, json};

use crate::house::component;
use crate::process::{Place, word};

fn texts(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn client_commands_ask_a_server() {
    let place = Place::of("echo");
    let (_server, url) = place.serve("");
    let listed = place.larder(&format!("list --json --url {url}")).json();
    let uris = ["echo://blob", "echo://hello", "echo://many", "echo://progress"];
    assert_eq!(texts(&listed["resources"], "uri"), uris);
    let table = place.larder(&format!("list --limit 1 --url {url}")).yes();
    assert_eq!(
        table.lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["URI", "echo://blob"]
    );
    let narrow = |list: &str| place.larder(&format!("{list} --json --url {url}")).json();
    assert_eq!(
        texts(&narrow("list --text HEL --prefix echo: --provider echo")["resources"], "uri"),
        ["echo://hello"]
    );
    assert!(texts(&narrow("list --kind file --mime text/* --team default")["resources"], "uri").is_empty());
    let found = texts(&narrow("templates --text touch")["resourceTemplates"], "uriTemplate");
    assert_eq!(found, ["echo://touch/{+uri}"]);
    let templates = place.larder(&format!("templates --json --url {url}")).json();
    assert_eq!(texts(&templates["resourceTemplates"], "uriTemplate")[1], "echo://say/{word}");
    let said = place.larder(&format!("read echo://say/hi --url {url}")).yes();
    assert!(said.contains("value: word=hi"), "{said}");
    let values = place.larder(&format!("complete echo://say/{{word}} word hel --url {url}")).yes();
    assert_eq!(values, "hello\nhelp\n");
}

#[test]
fn a_read_keeps_bytes_as_they_are() {
    let place = Place::of("echo");
    place.larder("read echo://blob --plugins plugins --output blob.bin").yes();
    assert_eq!(std::fs::read(place.path("blob.bin")).unwrap(), [0, 159, 146, 150]);
    let whole = place.larder("read echo://blob --plugins plugins --json").json();
    assert_eq!(whole["contents"][0]["blob"], "AJ+Slg==");
}

#[test]
fn no_is_one_and_wrong_is_sixty_four() {
    let place = Place::of("echo").file("bad.toml", "colour = 'red'\n[server]\npage_size = 'many'\n");
    let (_server, url) = place.serve("");
    let gone = place.larder(&format!("read nobody:x --url {url}")).no(1);
    assert!(gone.contains("Resource not found"), "{gone}");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let down = place.larder(&format!("list --url http://{nobody}/mcp")).no(1);
    assert!(down.contains("is `larder serve` running?"), "{down}");
    for wrong in ["list --url nowhere", "lst", "read", "inspect gone.wasm", "list --plugins gone"] {
        assert!(!place.larder(wrong).no(64).is_empty(), "{wrong}");
    }
    let faults = place.larder("serve --config bad.toml --listen 127.0.0.1:0").no(64);
    assert!(
        faults.contains("bad.toml:1: colour") && faults.contains("bad.toml:3: server.page_size"),
        "{faults}"
    );
    assert!(place.larder("--help").yes().contains("larder <COMMAND>"));
}

#[test]
fn an_address_that_is_taken_is_said_so() {
    let place = Place::of("");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let said = place.larder(&format!("serve --listen {address}")).no(1);
    assert!(said.contains("is another server running there?"), "{said}");
}

#[test]
fn check_finds_what_is_wrong_before_serving() {
    let place = Place::of("echo");
    let fine = place.larder("check");
    assert!(
        fine.err.contains("no problems found") && fine.out.contains("4 resources, 4 templates"),
        "{}",
        fine.err
    );
    assert_eq!(fine.code, Some(0));
    let place = place.file("plugins/odd.wasm", "not wasm").file("larder.toml", "[provider.ehco]\n");
    let wrong = place.larder("check");
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.err.contains("odd.wasm is rejected") && wrong.err.contains("[provider.ehco] has no component"),
        "{}",
        wrong.err
    );
    let found = place.larder("check --json").json();
    assert_eq!((&found["ok"], &found["rejected"][0]["file"]), (&json!(false), &json!("odd.wasm")));
    let place = place.file("larder.toml", "colour = 'red'\n");
    let faults = place.larder("check --json").json();
    assert!(faults["faults"][0].as_str().unwrap().contains("unknown field `colour`"), "{faults}");
}

#[test]
fn inspect_tells_what_a_component_is() {
    let place = Place::of("").file("not.wasm", "text");
    let echo = component("echo");
    let found = place.larder(&format!("inspect {} --json", word(&echo))).json();
    assert_eq!((&found["rejected"], &found["offers"]["title"]), (&Value::Null, &json!("Echo")));
    let rejected = place.larder("inspect not.wasm");
    assert_eq!(rejected.code, Some(1));
    assert!(rejected.out.contains("not a WebAssembly component"), "{}", rejected.out);
}

#[test]
fn stdout_belongs_to_the_protocol() {
    let place = Place::of("echo flood").file("plugins/odd.wasm", "not wasm");
    let mut server = place.start("serve --stdio --plugins plugins");
    let read = |id: u32, uri: &str| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "uri": uri, "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": params })
    };
    let stdin = server.stdin.as_mut().unwrap();
    writeln!(stdin, "{}", read(1, "echo://hello")).unwrap();
    let answer: Value = serde_json::from_str(&server.next()).unwrap();
    assert_eq!((&answer["id"], answer["result"].is_object()), (&json!(1), true));
    // The guest wrote into its log, and the start said what is served; none of it stands here.
    server.stdin = None;
    let ended = server.end();
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{}", ended.err);
    assert!(
        ended.err.contains("rejected: odd.wasm") && ended.err.contains("read echo://hello"),
        "{}",
        ended.err
    );
}

#[test]
fn sigterm_lets_what_is_in_flight_finish() {
    let place = Place::of("sleep");
    let (mut server, url) = place.serve("");
    let client = place.start(&format!("read sleep://ms/700 --url {url}"));
    server.told("sleeping");
    server.signal("TERM");
    assert_eq!(client.end().yes(), "slept");
    server.end().no(0);
}

#[test]
fn a_second_signal_ends_at_once() {
    let place =
        Place::of("sleep").file("larder.toml", "server.shutdown_grace = '1h'\nlimits.timeout = '1h'\n");
    let (mut server, url) = place.serve("");
    let _client = place.start(&format!("read sleep://hour --url {url}"));
    server.told("sleeping");
    server.signal("INT");
    server.told("a second signal stops immediately");
    server.signal("INT");
    server.told("stopped immediately");
    server.end().no(0);
}

/// Watches `echo://hello`, lets the provider say that it was updated, and gives the line that came.
fn watch_once(place: &Place, url: &str, json: &str) -> String {
    let mut watch = place.start(&format!("watch echo://hello nobody:x --count 1 {json} --url {url}"));
    watch.told("nobody:x cannot be watched");
    watch.told("watching echo://hello");
    place.larder(&format!("read echo://touch/echo://hello --url {url}")).yes();
    let line = watch.next();
    assert_eq!(watch.end().yes(), "");
    line
}

#[test]
fn watch_prints_updates_as_they_come() {
    let place = Place::of("echo");
    let (server, url) = place.serve("");
    let line = watch_once(&place, &url, "");
    assert!(line.ends_with("updated       echo://hello\n"), "{line}");
    let line: Value = serde_json::from_str(&watch_once(&place, &url, "--json")).unwrap();
    assert_eq!((&line["event"], &line["uri"]), (&json!("updated"), &json!("echo://hello")));
    place.larder(&format!("watch nobody:x --url {url}")).no(1);
    place.larder(&format!("watch echo://hello --count 1 --for 100ms --url {url}")).no(1);
    place.larder(&format!("watch echo://hello --for 100ms --url {url}")).no(0);
    let mut watch = place.start(&format!("watch --list echo://hello --url {url}"));
    watch.told("watching echo://hello and the lists");
    watch.signal("INT");
    watch.end().no(0);
    drop(server);
    place.larder(&format!("watch echo://hello --url {url}")).no(1);
}

#[test]
fn watch_comes_back_after_the_server_did() {
    let place = Place::of("echo");
    let (server, url) = place.serve("");
    let mut watch = place.start(&format!("watch echo://hello --count 1 --url {url}"));
    watch.told("watching echo://hello");
    server.signal("TERM");
    server.end().no(0);
    watch.told("retry in");
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut server = place.start(&format!("serve --listen {address}"));
    server.told("serves http://");
    watch.told("watching echo://hello");
    place.larder(&format!("read echo://touch/echo://hello --url {url}")).yes();
    assert!(watch.next().ends_with("echo://hello\n"));
    watch.end().yes();
}

#[test]
fn watch_works_on_a_folder() {
    let place = Place::of("echo");
    let mut watch = place.start("watch --list echo://hello --plugins plugins");
    watch.told("watching echo://hello and the lists");
    watch.signal("TERM");
    watch.end().no(0);
}

#[test]
fn what_no_command_knows_is_asked_by_its_name() {
    let place = Place::of("echo").file("larder.toml", "[server]\nextensions = ['resources-get']\n");
    let (_server, url) = place.serve("");
    let get = |uri: &str| place.larder(&format!("request resources/get {{\"uri\":\"{uri}\"}} --url {url}"));
    let got = get("echo://blob");
    assert_eq!((got.json()["contents"]["blob"].clone(), got.out.lines().count()), (json!("AJ+Slg=="), 1));
    let refused: Value = serde_json::from_str(&get("nobody:x").no(1)).unwrap();
    assert_eq!((&refused["code"], &refused["data"]), (&json!(-32602), &json!({ "uri": "nobody:x" })));
    // The names that HTTP's headers repeat are there.
    let read = place.larder(&format!("request resources/read {{\"uri\":\"echo://blob\"}} --url {url}"));
    assert_eq!(read.json()["contents"][0]["blob"], "AJ+Slg==");
    assert_eq!(place.larder("request ping --protocol 2025-11-25 --plugins plugins").yes(), "{}\n");

    let uris = "{\"uris\":[\"echo://hello\"]}";
    let words =
        format!("request resources/subscribe {uris} --listen --then resources/unsubscribe --url {url}");
    let mut listening = place.start(&format!("{words} --count 1"));
    assert_eq!(listening.next(), "{}\n");
    place.larder(&format!("read echo://touch/echo://hello --url {url}")).yes();
    let said: Value = serde_json::from_str(&listening.next()).unwrap();
    assert_eq!(said["method"], "notifications/resources/content_changed");
    assert_eq!(said["params"]["resource"]["uri"], "echo://hello");
    assert_eq!(listening.end().yes(), "{}\n");
    // Who ends it earlier leaves as orderly.
    let mut listening = place.start(&words);
    assert_eq!(listening.next(), "{}\n");
    listening.signal("INT");
    assert_eq!(listening.end().yes(), "{}\n");
    let nowhere = place.larder(&words.replace("echo://hello", "nobody:x")).no(1);
    assert!(nowhere.contains("-32002"), "{nowhere}");
    assert!(place.larder(&format!("{words} --protocol 2026-07-28")).no(64).contains("has no sessions"));
}

#[test]
fn approve_shows_and_records_what_is_held_back() {
    let place = Place::of("echo");
    assert!(place.larder("approve").no(0).contains("nothing is pending approval"));
    assert!(place.larder("approve wiki --yes").no(1).contains("nothing is pending approval for wiki"));
    let approvals = Approvals::new(&place.path("state/larder"), &place.path("plugins"));
    let (team, wiki) = (TeamName::default_team(), ProviderName::parse("wiki").unwrap());
    let lines = ["variable HOME".to_owned(), "folder /srv as /srv, read".to_owned()].into();
    approvals.set_pending(vec![PendingApprovalRecord::new(&team, &wiki, Digest::of(b"x"), lines)]).unwrap();
    let shown = place.larder("approve").yes();
    assert!(shown.contains("+ folder /srv as /srv, read\n  + variable HOME\n"), "{shown}");
    assert_eq!(place.larder("approve --json").json()["pending_approval"][0]["provider"], "wiki");
    let unasked = place.larder("approve wiki");
    assert_eq!(unasked.code, Some(1), "{}", unasked.err);
    let lines = ["variable HOME".to_owned()].into();
    assert_eq!(approvals.unapproved(&team, &wiki, &lines).unwrap(), lines);
    assert!(place.larder("approve wiki --yes").yes().contains("+ variable HOME"));
    assert!(approvals.unapproved(&team, &wiki, &lines).unwrap().is_empty());
    std::fs::write(approvals.file(), "{").unwrap();
    approvals.set_pending(vec![PendingApprovalRecord::new(&team, &wiki, Digest::of(b"y"), lines)]).unwrap();
    assert!(place.larder("approve wiki --yes").err.contains("is damaged"));
}

#[cfg(unix)]
#[test]
fn check_shows_what_is_asked_granted_and_held_back() {
    let place =
        Place::of("echo").file("larder.toml", "[provider.echo]\nhosts = ['https://api.example.com']\n");
    let fine = place.larder("check");
    assert_eq!(fine.code, Some(0), "{}", fine.err);
    assert!(fine.out.contains("granted    http https://api.example.com GET,HEAD"), "{}", fine.out);
    let place =
        place.file("plugins/echo.toml", "hosts = ['https://api.example.com']\nenv = ['HOME', 'PATH']\n");
    let held = place.larder("check --json").json();
    let home = ["variable HOME", "variable PATH"];
    assert_eq!((&held["ok"], &held["grants"][0]["pending_approval"]), (&json!(false), &json!(home)));
    assert!(place.larder("check").err.contains("larder approve echo"));
    let approvals = Approvals::new(&place.path("state/larder"), &place.path("plugins"));
    let (team, echo) = (TeamName::default_team(), ProviderName::parse("echo").unwrap());
    let lines = home.map(ToOwned::to_owned).into();
    approvals.approve(&PendingApprovalRecord::new(&team, &echo, Digest::of(b"x"), lines), "me").unwrap();
    let approved = place.larder("check --json").json();
    assert_eq!(approved["grants"][0]["approved"], json!(home));
    assert_eq!(approved["grants"][0]["pending_approval"], json!([]));
    let place = place.file("plugins/echo.toml", "raw_values = true\n");
    let wrong = place.larder("check");
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("echo.toml: line 1: raw_values"), "{}", wrong.err);
}

/// Asks again until the answer is this one.
fn comes(place: &Place, words: &str, fits: impl Fn(&str) -> bool) {
    let began = std::time::Instant::now();
    loop {
        let ran = place.larder(words);
        if fits(&ran.out) {
            return;
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{words}: {} {}", ran.out, ran.err);
    }
}

#[test]
fn a_grant_takes_effect_when_it_is_given_and_when_it_is_taken_back() {
    let place = Place::of("dirs echo").file("secret", "content");
    let folder = place.path("data");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("file"), "content").unwrap();
    let without = std::fs::read_to_string(place.path("larder.toml")).unwrap_or_default();
    let with = format!("{without}\n[provider.dirs]\ndirs = [\"data\"]\n");
    std::fs::write(place.path("larder.toml"), &without).unwrap();
    let (_server, url) = place.serve("");
    let read = format!("read dirs://read?path=%2Fdata%2Ffile --url {url}");
    comes(&place, &read, |out| out.starts_with("refused"));
    std::fs::write(place.path("larder.toml"), &with).unwrap();
    comes(&place, &read, |out| out == "ok: \"content\"");
    // Faults leave it as it was.
    std::fs::write(place.path("larder.toml"), "oops").unwrap();
    std::fs::write(place.path("larder.toml"), &with).unwrap();
    comes(&place, &read, |out| out == "ok: \"content\"");
    std::fs::write(place.path("larder.toml"), &without).unwrap();
    comes(&place, &read, |out| out.starts_with("refused"));
}

#[test]
fn what_is_taken_back_is_gone_even_if_nothing_newer_can_serve() {
    let place = Place::of("dirs echo");
    for name in ["data", "more"] {
        std::fs::create_dir(place.path(name)).unwrap();
        std::fs::write(place.path(name).join("file"), "content").unwrap();
    }
    let base = std::fs::read_to_string(place.path("larder.toml")).unwrap_or_default();
    let with = |dir: &str, more: &str| format!("{base}\n[provider.dirs]\ndirs = [\"{dir}\"]\n{more}");
    std::fs::write(place.path("larder.toml"), with("data", "")).unwrap();
    let (_server, url) = place.serve("");
    let read = format!("read dirs://read?path=%2Fdata%2Ffile --url {url}");
    comes(&place, &read, |out| out == "ok: \"content\"");
    // No component is as small as that, so the newer terms can serve nothing.
    std::fs::write(place.path("larder.toml"), with("more", "limits.component_size = \"1KiB\"\n")).unwrap();
    comes(&place, &read, |out| !out.contains("content"));
    assert!(place.larder(&format!("read echo://hello --url {url}")).yes().starts_with("uri: echo://hello"));
}
