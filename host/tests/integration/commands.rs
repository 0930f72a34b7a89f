//! The commands as people and scripts run them: answers on stdout, everything else on stderr, and exit codes.

use std::io::Write as _;

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
        fine.err.contains("nothing is wrong") && fine.out.contains("4 resources, 4 templates"),
        "{}",
        fine.err
    );
    assert_eq!(fine.code, Some(0));
    let place = place.file("plugins/odd.wasm", "not wasm").file("larder.toml", "[provider.ehco]\n");
    let wrong = place.larder("check");
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.err.contains("odd.wasm is rejected") && wrong.err.contains("[provider.ehco] is for nobody"),
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
    let place = Place::of("sleep").file("larder.toml", "server.grace = '1h'\nlimits.wall = '1h'\n");
    let (mut server, url) = place.serve("");
    let _client = place.start(&format!("read sleep://hour --url {url}"));
    server.told("sleeping");
    server.signal("INT");
    server.told("once more ends at once");
    server.signal("INT");
    server.told("ended at once");
    server.end().no(0);
}
