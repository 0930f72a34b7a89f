//! The commands as people and scripts run them: results on stdout, all other output on stderr, and exit codes.

use std::io::Write as _;

use larder_core::reconcile::{Approvals, PendingApprovalRecord};
use larder_model::name::{Digest, ProviderName, TeamName};
use serde_json::{Value, json};

use crate::support::harness::{SLOW_WAIT, component_path, eventually_blocking};
use crate::support::process::{WorkDir, path_arg};

fn texts(list: &Value, key: &str) -> Vec<String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item[key].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn client_commands_send_requests_to_a_server() {
    let work_dir = WorkDir::with_guests("echo");
    let (_server, url) = work_dir.serve("");
    let listed = work_dir.larder(&format!("list --json --url {url}")).json();
    let uris = [
        "echo://blob",
        "echo://hello",
        "echo://many",
        "echo://progress",
    ];
    assert_eq!(texts(&listed["resources"], "uri"), uris);
    let table = work_dir
        .larder(&format!("list --limit 1 --url {url}"))
        .expect_success();
    assert_eq!(
        table
            .lines()
            .map(|line| line.split('\t').next().unwrap())
            .collect::<Vec<_>>(),
        ["URI", "echo://blob"]
    );
    let filtered = |list: &str| {
        work_dir
            .larder(&format!("{list} --json --url {url}"))
            .json()
    };
    assert_eq!(
        texts(
            &filtered("list --text HEL --prefix echo: --provider echo")["resources"],
            "uri"
        ),
        ["echo://hello"]
    );
    assert!(
        texts(
            &filtered("list --kind file --mime text/* --team default")["resources"],
            "uri"
        )
        .is_empty()
    );
    let found = texts(
        &filtered("templates --text touch")["resourceTemplates"],
        "uriTemplate",
    );
    assert_eq!(found, ["echo://touch/{+uri}"]);
    let templates = work_dir
        .larder(&format!("templates --json --url {url}"))
        .json();
    assert_eq!(
        texts(&templates["resourceTemplates"], "uriTemplate")[1],
        "echo://say/{word}"
    );
    let output = work_dir
        .larder(&format!("read echo://say/hi --url {url}"))
        .expect_success();
    assert!(output.contains("value: word=hi"), "{output}");
    let values = work_dir
        .larder(&format!(
            "complete echo://say/{{word}} word hel --url {url}"
        ))
        .expect_success();
    assert_eq!(values, "hello\nhelp\n");
}

#[test]
fn tools_and_prompts_are_listed_and_called() {
    let config = "[provider.defined]\ntools = true\n[provider.interactive]\ntools = ['tell', 'ask']\nprompts = true\nsettings.name = 'x'\n";
    let work_dir = WorkDir::with_guests("defined interactive").file("larder.toml", config);
    let (_server, url) = work_dir.serve("--config larder.toml");
    let larder = |words: &str| work_dir.larder(&format!("{words} --url {url}"));
    let table = larder("tools").expect_success();
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "TOOL\tARGUMENTS\tDESCRIPTION",
            "double\t[mode] n\tDoubles a number.",
            "ask\t\t"
        ]
    );
    assert_eq!(
        texts(&larder("tools --json").json()["tools"], "name"),
        ["double", "ask", "tell"]
    );
    assert_eq!(
        larder("call double --arg n=21").expect_success(),
        "{\"doubled\":42}\n"
    );
    let result = larder("call double --arg n=2 --json").json();
    assert_eq!(result["structuredContent"], json!({ "doubled": 4 }));
    let refused = larder("call double --arg n=none").expect_exit(1);
    assert!(refused.contains("is not of type \"integer\""), "{refused}");
    let unknown = larder("call gone").expect_exit(1);
    assert!(unknown.contains("Unknown tool: gone"), "{unknown}");
    let asks = larder("call ask").expect_exit(1);
    assert!(
        asks.contains("capabilities that the client does not have"),
        "{asks}"
    );
    assert!(asks.contains("--answer NAME=VALUE"), "{asks}");
    assert_eq!(
        larder("call ask --answer name=Ada").expect_success(),
        "asked; name: {\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}\n"
    );
    assert_eq!(
        texts(&larder("prompts --json").json()["prompts"], "name"),
        ["greet", "interview"]
    );
    assert!(
        larder("prompts")
            .expect_success()
            .contains("greet\tname [tone]\t")
    );
    let messages = larder("prompt greet --arg name=Ada").expect_success();
    assert_eq!(messages, "user: Greet Ada.\nassistant: Hello.\n");
    let missing = larder("prompt greet").expect_exit(1);
    assert!(
        missing.contains("the argument `name` is required"),
        "{missing}"
    );
}

#[test]
fn read_writes_binary_contents_unchanged() {
    let work_dir = WorkDir::with_guests("echo");
    work_dir
        .larder("read echo://blob --plugins plugins --output blob.bin")
        .expect_success();
    assert_eq!(
        std::fs::read(work_dir.path("blob.bin")).unwrap(),
        [0, 159, 146, 150]
    );
    let whole = work_dir
        .larder("read echo://blob --plugins plugins --json")
        .json();
    assert_eq!(whole["contents"][0]["blob"], "AJ+Slg==");
}

#[test]
fn errors_exit_with_1_and_wrong_usage_with_64() {
    let work_dir = WorkDir::with_guests("echo")
        .file("bad.toml", "colour = 'red'\n[server]\npage_size = 'many'\n");
    let (_server, url) = work_dir.serve("");
    let gone = work_dir
        .larder(&format!("read nobody:x --url {url}"))
        .expect_exit(1);
    assert!(gone.contains("Resource not found"), "{gone}");
    let unused = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let down = work_dir
        .larder(&format!("list --url http://{unused}/mcp"))
        .expect_exit(1);
    assert!(down.contains("is `larder serve` running?"), "{down}");
    for args in [
        "list --url nowhere",
        "lst",
        "read",
        "inspect gone.wasm",
        "list --plugins gone",
    ] {
        assert!(!work_dir.larder(args).expect_exit(64).is_empty(), "{args}");
    }
    let faults = work_dir
        .larder("serve --config bad.toml --listen 127.0.0.1:0")
        .expect_exit(64);
    assert!(
        faults.contains("bad.toml:1: colour") && faults.contains("bad.toml:3: server.page_size"),
        "{faults}"
    );
    assert!(
        work_dir
            .larder("--help")
            .expect_success()
            .contains("larder <COMMAND>")
    );
}

#[test]
fn serve_reports_that_the_address_is_in_use() {
    let work_dir = WorkDir::with_guests("");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let output = work_dir
        .larder(&format!("serve --listen {address}"))
        .expect_exit(1);
    assert!(
        output.contains("is another server running there?"),
        "{output}"
    );
}

#[test]
fn check_reports_problems() {
    let work_dir = WorkDir::with_guests("echo");
    let fine = work_dir.larder("check");
    assert!(
        fine.stderr.contains("no problems found")
            && fine.stdout.contains("4 resources, 4 templates"),
        "{}",
        fine.stderr
    );
    assert_eq!(fine.code, Some(0));
    let work_dir = work_dir
        .file("plugins/odd.wasm", "not wasm")
        .file("larder.toml", "[provider.ehco]\n");
    let wrong = work_dir.larder("check");
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.stderr.contains("odd.wasm is rejected")
            && wrong.stderr.contains("[provider.ehco] has no component"),
        "{}",
        wrong.stderr
    );
    let found = work_dir.larder("check --json").json();
    assert_eq!(
        (&found["ok"], &found["rejected"][0]["file"]),
        (&json!(false), &json!("odd.wasm"))
    );
    let work_dir = work_dir.file("larder.toml", "colour = 'red'\n");
    let output = work_dir.larder("check --json");
    assert!(
        output.json()["faults"][0]
            .as_str()
            .unwrap()
            .contains("unknown field `colour`"),
        "{}",
        output.stdout
    );
    // The exit code is the same as for `larder serve` with this configuration.
    assert_eq!(output.code, Some(64));
    assert!(
        work_dir
            .larder("check")
            .expect_exit(64)
            .contains("unknown field `colour`")
    );
    // Valid, but the server could not be used with it: there are several teams and no credentials.
    std::fs::create_dir(work_dir.path("other")).unwrap();
    let teams = "team.a = { plugins = 'plugins' }\nteam.b = { plugins = 'other' }\n";
    let work_dir = work_dir.file("larder.toml", teams);
    let output = work_dir.larder("check");
    assert_eq!(output.code, Some(64), "{}", output.stderr);
    assert!(
        output.stderr.contains("there are several teams"),
        "{}",
        output.stderr
    );
}

#[test]
fn inspect_describes_a_component() {
    let work_dir = WorkDir::with_guests("").file("not.wasm", "text");
    let echo = component_path("echo");
    let found = work_dir
        .larder(&format!("inspect {} --json", path_arg(&echo)))
        .json();
    assert_eq!(
        (&found["rejected"], &found["offers"]["title"]),
        (&Value::Null, &json!("Echo"))
    );
    let rejected = work_dir.larder("inspect not.wasm");
    assert_eq!(rejected.code, Some(1));
    assert!(
        rejected.stdout.contains("not a WebAssembly component"),
        "{}",
        rejected.stdout
    );
}

#[test]
fn with_stdio_stdout_carries_only_the_protocol() {
    let work_dir = WorkDir::with_guests("echo flood").file("plugins/odd.wasm", "not wasm");
    let mut server = work_dir.start("serve --stdio --plugins plugins");
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
    assert_eq!(
        (&answer["id"], answer["result"].is_object()),
        (&json!(1), true)
    );
    // The guest's log and the list of served resources are on stderr instead of stdout.
    server.stdin = None;
    let ended = server.wait();
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), ""),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("rejected: odd.wasm") && ended.stderr.contains("read echo://hello"),
        "{}",
        ended.stderr
    );
}

#[test]
fn sigterm_lets_requests_in_flight_finish() {
    let work_dir = WorkDir::with_guests("sleep");
    let (mut server, url) = work_dir.serve("");
    let client = work_dir.start(&format!("read sleep://ms/700 --url {url}"));
    server.wait_for_stderr("sleeping");
    server.signal("TERM");
    assert_eq!(client.wait().expect_success(), "slept");
    server.wait().expect_exit(0);
}

#[test]
fn a_second_signal_stops_immediately() {
    let work_dir = WorkDir::with_guests("sleep").file(
        "larder.toml",
        "server.shutdown_grace = '1h'\nlimits.timeout = '1h'\n",
    );
    let (mut server, url) = work_dir.serve("");
    let _client = work_dir.start(&format!("read sleep://hour --url {url}"));
    server.wait_for_stderr("sleeping");
    server.signal("INT");
    server.wait_for_stderr("a second signal stops immediately");
    server.signal("INT");
    server.wait_for_stderr("stopped immediately");
    server.wait().expect_exit(0);
}

/// Watches `echo://hello`, has the provider signal an update, and returns the line that `watch` printed.
fn watch_once(work_dir: &WorkDir, url: &str, json: &str) -> String {
    let mut watch = work_dir.start(&format!(
        "watch echo://hello nobody:x --count 1 {json} --url {url}"
    ));
    watch.wait_for_stderr("nobody:x cannot be watched");
    watch.wait_for_stderr("watching echo://hello");
    work_dir
        .larder(&format!("read echo://touch/echo://hello --url {url}"))
        .expect_success();
    let line = watch.next();
    assert_eq!(watch.wait().expect_success(), "");
    line
}

#[test]
fn watch_prints_updates_as_they_come() {
    let work_dir = WorkDir::with_guests("echo");
    let (server, url) = work_dir.serve("");
    let line = watch_once(&work_dir, &url, "");
    assert!(line.ends_with("updated       echo://hello\n"), "{line}");
    let line: Value = serde_json::from_str(&watch_once(&work_dir, &url, "--json")).unwrap();
    assert_eq!(
        (&line["event"], &line["uri"]),
        (&json!("updated"), &json!("echo://hello"))
    );
    work_dir
        .larder(&format!("watch nobody:x --url {url}"))
        .expect_exit(1);
    work_dir
        .larder(&format!(
            "watch echo://hello --count 1 --for 100ms --url {url}"
        ))
        .expect_exit(1);
    work_dir
        .larder(&format!("watch echo://hello --for 100ms --url {url}"))
        .expect_exit(0);
    let mut watch = work_dir.start(&format!("watch --list echo://hello --url {url}"));
    watch.wait_for_stderr("watching echo://hello and the lists");
    watch.signal("INT");
    watch.wait().expect_exit(0);
    drop(server);
    work_dir
        .larder(&format!("watch echo://hello --url {url}"))
        .expect_exit(1);
}

#[test]
fn watch_reconnects_after_a_server_restart() {
    let work_dir = WorkDir::with_guests("echo");
    let (server, url) = work_dir.serve("");
    let mut watch = work_dir.start(&format!("watch echo://hello --count 1 --url {url}"));
    watch.wait_for_stderr("watching echo://hello");
    server.signal("TERM");
    server.wait().expect_exit(0);
    watch.wait_for_stderr("retry in");
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut server = work_dir.start(&format!("serve --listen {address}"));
    server.wait_for_stderr("serves http://");
    watch.wait_for_stderr("watching echo://hello");
    work_dir
        .larder(&format!("read echo://touch/echo://hello --url {url}"))
        .expect_success();
    assert!(watch.next().ends_with("echo://hello\n"));
    watch.wait().expect_success();
}

#[test]
fn watch_works_on_a_folder() {
    let work_dir = WorkDir::with_guests("echo");
    let mut watch = work_dir.start("watch --list echo://hello --plugins plugins");
    watch.wait_for_stderr("watching echo://hello and the lists");
    watch.signal("TERM");
    watch.wait().expect_exit(0);
}

#[test]
fn request_sends_any_method() {
    let work_dir = WorkDir::with_guests("echo")
        .file("larder.toml", "[server]\nextensions = ['resources-get']\n");
    let (_server, url) = work_dir.serve("");
    let get = |uri: &str| {
        work_dir.larder(&format!(
            "request resources/get {{\"uri\":\"{uri}\"}} --url {url}"
        ))
    };
    let got = get("echo://blob");
    assert_eq!(
        (
            got.json()["contents"]["blob"].clone(),
            got.stdout.lines().count()
        ),
        (json!("AJ+Slg=="), 1)
    );
    let refused: Value = serde_json::from_str(&get("nobody:x").expect_exit(1)).unwrap();
    assert_eq!(
        (&refused["code"], &refused["data"]),
        (&json!(-32602), &json!({ "uri": "nobody:x" }))
    );
    // The `Mcp-Name` header is set too.
    let read = work_dir.larder(&format!(
        "request resources/read {{\"uri\":\"echo://blob\"}} --url {url}"
    ));
    assert_eq!(read.json()["contents"][0]["blob"], "AJ+Slg==");
    assert_eq!(
        work_dir
            .larder("request ping --protocol 2025-11-25 --plugins plugins")
            .expect_success(),
        "{}\n"
    );

    let uris = "{\"uris\":[\"echo://hello\"]}";
    let args = format!(
        "request resources/subscribe {uris} --listen --then resources/unsubscribe --url {url}"
    );
    let mut listening = work_dir.start(&format!("{args} --count 1"));
    assert_eq!(listening.next(), "{}\n");
    work_dir
        .larder(&format!("read echo://touch/echo://hello --url {url}"))
        .expect_success();
    let output: Value = serde_json::from_str(&listening.next()).unwrap();
    assert_eq!(output["method"], "notifications/resources/content_changed");
    assert_eq!(output["params"]["resource"]["uri"], "echo://hello");
    assert_eq!(listening.wait().expect_success(), "{}\n");
    // SIGINT also ends the command in order: the command still unsubscribes.
    let mut listening = work_dir.start(&args);
    assert_eq!(listening.next(), "{}\n");
    listening.signal("INT");
    assert_eq!(listening.wait().expect_success(), "{}\n");
    let nowhere = work_dir
        .larder(&args.replace("echo://hello", "nobody:x"))
        .expect_exit(1);
    assert!(nowhere.contains("-32002"), "{nowhere}");
    assert!(
        work_dir
            .larder(&format!("{args} --protocol 2026-07-28"))
            .expect_exit(64)
            .contains("has no sessions")
    );
}

#[test]
fn approve_shows_and_approves_pending_requests() {
    let work_dir = WorkDir::with_guests("echo");
    assert!(
        work_dir
            .larder("approve")
            .expect_exit(0)
            .contains("nothing is pending approval")
    );
    assert!(
        work_dir
            .larder("approve wiki --yes")
            .expect_exit(1)
            .contains("nothing is pending approval for wiki")
    );
    let approvals = Approvals::new(&work_dir.path("state/larder"), &work_dir.path("plugins"));
    let (team, wiki) = (
        TeamName::default_team(),
        ProviderName::parse("wiki").unwrap(),
    );
    let lines = [
        "variable HOME".to_owned(),
        "folder /srv as /srv, read".to_owned(),
    ]
    .into();
    approvals
        .set_pending(vec![PendingApprovalRecord::new(
            &team,
            &wiki,
            Digest::of(b"x"),
            lines,
        )])
        .unwrap();
    let shown = work_dir.larder("approve").expect_success();
    assert!(
        shown.contains("+ folder /srv as /srv, read\n  + variable HOME\n"),
        "{shown}"
    );
    assert_eq!(
        work_dir.larder("approve --json").json()["pending_approval"][0]["provider"],
        "wiki"
    );
    let unconfirmed = work_dir.larder("approve wiki");
    assert_eq!(unconfirmed.code, Some(1), "{}", unconfirmed.stderr);
    let lines = ["variable HOME".to_owned()].into();
    assert_eq!(approvals.unapproved(&team, &wiki, &lines).unwrap(), lines);
    assert!(
        work_dir
            .approve("wiki", "")
            .expect_success()
            .contains("+ variable HOME")
    );
    assert!(
        approvals
            .unapproved(&team, &wiki, &lines)
            .unwrap()
            .is_empty()
    );
    std::fs::write(approvals.file(), "{").unwrap();
    approvals
        .set_pending(vec![PendingApprovalRecord::new(
            &team,
            &wiki,
            Digest::of(b"y"),
            lines,
        )])
        .unwrap();
    assert!(work_dir.approve("wiki", "").stderr.contains("is damaged"));
}

#[cfg(unix)]
#[test]
fn check_shows_granted_and_pending_requests() {
    let work_dir = WorkDir::with_guests("echo").file(
        "larder.toml",
        "[provider.echo]\nhosts = ['https://api.example.com']\n",
    );
    let fine = work_dir.larder("check");
    assert_eq!(fine.code, Some(0), "{}", fine.stderr);
    assert!(
        fine.stdout
            .contains("granted    http https://api.example.com GET,HEAD"),
        "{}",
        fine.stdout
    );
    let work_dir = work_dir.file(
        "plugins/echo.toml",
        "hosts = ['https://api.example.com']\nenv = ['HOME', 'PATH']\n",
    );
    let pending = work_dir.larder("check --json").json();
    let home = ["variable HOME", "variable PATH"];
    assert_eq!(
        (&pending["ok"], &pending["grants"][0]["pending_approval"]),
        (&json!(false), &json!(home))
    );
    assert!(
        work_dir
            .larder("check")
            .stderr
            .contains("larder approve echo")
    );
    let approvals = Approvals::new(&work_dir.path("state/larder"), &work_dir.path("plugins"));
    let (team, echo) = (
        TeamName::default_team(),
        ProviderName::parse("echo").unwrap(),
    );
    let lines = home.map(ToOwned::to_owned).into();
    approvals
        .approve(
            &PendingApprovalRecord::new(&team, &echo, Digest::of(b"x"), lines),
            "me",
        )
        .unwrap();
    let approved = work_dir.larder("check --json").json();
    assert_eq!(approved["grants"][0]["approved"], json!(home));
    assert_eq!(approved["grants"][0]["pending_approval"], json!([]));
    let work_dir = work_dir.file("plugins/echo.toml", "raw_values = true\n");
    let wrong = work_dir.larder("check");
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.stderr.contains("echo.toml: line 1: raw_values"),
        "{}",
        wrong.stderr
    );
}

/// Repeats a command until its stdout matches.
fn wait_for_stdout(work_dir: &WorkDir, args: &str, matches: impl Fn(&str) -> bool) {
    let what = format!("the expected output of `larder {args}`");
    eventually_blocking(SLOW_WAIT, &what, || matches(&work_dir.larder(args).stdout));
}

#[test]
fn a_reload_applies_added_and_removed_grants() {
    let work_dir = WorkDir::with_guests("dirs echo").file("secret", "content");
    let folder = work_dir.path("data");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("file"), "content").unwrap();
    let without = std::fs::read_to_string(work_dir.path("larder.toml")).unwrap_or_default();
    let with = format!("{without}\n[provider.dirs]\ndirs = [\"data\"]\n");
    std::fs::write(work_dir.path("larder.toml"), &without).unwrap();
    let (_server, url) = work_dir.serve("");
    let read = format!("read dirs://read?path=%2Fdata%2Ffile --url {url}");
    wait_for_stdout(&work_dir, &read, |out| out.starts_with("refused"));
    std::fs::write(work_dir.path("larder.toml"), &with).unwrap();
    wait_for_stdout(&work_dir, &read, |out| out == "ok: \"content\"");
    // An invalid file changes nothing.
    std::fs::write(work_dir.path("larder.toml"), "oops").unwrap();
    std::fs::write(work_dir.path("larder.toml"), &with).unwrap();
    wait_for_stdout(&work_dir, &read, |out| out == "ok: \"content\"");
    std::fs::write(work_dir.path("larder.toml"), &without).unwrap();
    wait_for_stdout(&work_dir, &read, |out| out.starts_with("refused"));
}

#[test]
fn a_removed_grant_is_revoked_even_if_the_new_configuration_cannot_be_served() {
    let work_dir = WorkDir::with_guests("dirs echo");
    for name in ["data", "more"] {
        std::fs::create_dir(work_dir.path(name)).unwrap();
        std::fs::write(work_dir.path(name).join("file"), "content").unwrap();
    }
    let base = std::fs::read_to_string(work_dir.path("larder.toml")).unwrap_or_default();
    let with =
        |dir: &str, more: &str| format!("{base}\n[provider.dirs]\ndirs = [\"{dir}\"]\n{more}");
    std::fs::write(work_dir.path("larder.toml"), with("data", "")).unwrap();
    let (_server, url) = work_dir.serve("");
    let read = format!("read dirs://read?path=%2Fdata%2Ffile --url {url}");
    wait_for_stdout(&work_dir, &read, |out| out == "ok: \"content\"");
    // No component is that small, so no component can be served with the new configuration.
    std::fs::write(
        work_dir.path("larder.toml"),
        with("more", "limits.component_size = \"1KiB\"\n"),
    )
    .unwrap();
    wait_for_stdout(&work_dir, &read, |out| !out.contains("content"));
    assert!(
        work_dir
            .larder(&format!("read echo://hello --url {url}"))
            .expect_success()
            .starts_with("uri: echo://hello")
    );
}

#[test]
fn answers_of_a_call_are_checked_before_they_are_sent() {
    let question = json!({ "message": "How many?", "requestedSchema": {
        "type": "object",
        "required": ["count"],
        "properties": {
            "count": { "type": "integer" },
            "size": { "type": "string", "enum": ["s", "m"], "default": "m" },
        },
    } });
    let config = format!(
        "[provider.interactive]\ntools = ['ask']\nsettings.name = 'x'\nsettings.question = '{question}'\n"
    );
    let work_dir = WorkDir::with_guests("interactive").file("larder.toml", &config);
    let (_server, url) = work_dir.serve("--config larder.toml");
    let ask = |answers: &str| work_dir.larder(&format!("call ask {answers} --url {url}"));
    let wrong = ask("--answer count=many").expect_exit(64);
    assert!(
        wrong.contains("`count`: expected a whole number"),
        "{wrong}"
    );
    let missing = ask("--answer size=s").expect_exit(64);
    assert!(
        missing.contains("`count`: a value is required"),
        "{missing}"
    );
    assert_eq!(
        ask("--answer count=2").expect_success(),
        "asked; name: {\"action\":\"accept\",\"content\":{\"count\":2,\"size\":\"m\"}}\n"
    );
}
