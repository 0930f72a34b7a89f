//! Deeply nested data and data that refer to themselves very often never end the process.

use std::process::Command;

use wasm_encoder::{ComponentSectionId, Encode as _, NameMap, NameSection, Section as _};

use crate::administration::admin::AdminClient;
use crate::support::harness::component_path;
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, MODERN, meta};
use crate::support::process::{WorkDir, http_client};

const HEADER: &[u8] = b"\0asm\x0d\0\x01\0";

/// A section of a component or a module.
fn section(id: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![id];
    content.encode(&mut bytes);
    bytes
}

/// Checks that each command rejects this component, and that a server serves the other components.
fn check_rejected(component: &[u8]) {
    let work_dir = WorkDir::with_guests("echo");
    std::fs::write(work_dir.path("plugins/bad.wasm"), component).unwrap();
    let inspected = work_dir.larder("inspect plugins/bad.wasm");
    assert!(
        inspected.code.is_some(),
        "{}{}",
        inspected.stdout,
        inspected.stderr
    );
    let checked = work_dir.larder("check");
    assert_eq!(
        checked.code,
        Some(1),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
    let (server, url) = work_dir.serve("");
    work_dir
        .larder(&format!("read echo://hello --url {url}"))
        .expect_success();
    drop(server);
}

#[test]
fn types_of_components_in_each_other_are_rejected() {
    // A component with one type: a component with one type, and so on.
    let types = [&[1], [0x41, 1, 1].repeat(100_000).as_slice(), &[0x7f]].concat();
    check_rejected(&[HEADER, &section(7, &types)].concat());
}

#[test]
fn components_in_each_other_are_rejected() {
    let nest = |inner: Vec<u8>, _| {
        [
            HEADER,
            &section(ComponentSectionId::Component as u8, &inner),
        ]
        .concat()
    };
    check_rejected(&(0..5_000).fold(HEADER.to_vec(), nest));
}

/// Gives each function of a component, or of a module, this name.
fn with_function_names(binary: &[u8], name: &str) -> Vec<u8> {
    let (head, mut rest) = binary.split_at(HEADER.len());
    let mut out = head.to_vec();
    while let Some((&id, after)) = rest.split_first() {
        let mut reader = wasmparser::BinaryReader::new(after, 0);
        let size = reader.read_var_u32().unwrap() as usize;
        let (content, next) = after[reader.original_position()..].split_at(size);
        rest = next;
        match id {
            // A module of a component.
            1 if binary.starts_with(HEADER) => {
                out.extend(section(id, &with_function_names(content, name)))
            }
            // The names that the binary has.
            0 if content.starts_with(b"\x04name") => {}
            _ => out.extend(section(id, content)),
        }
    }
    if !binary.starts_with(HEADER) {
        let mut functions = NameMap::new();
        (0..2_000).for_each(|function| functions.append(function, name));
        let mut names = NameSection::new();
        names.functions(&functions);
        names.append_to(&mut out);
    }
    out
}

/// A name in the format of C++: a type with eight arguments, each of which is a type with eight arguments, and so on.
fn expanding_name() -> String {
    let arguments = |argument: &str| format!("I{}E", argument.repeat(8));
    let types = [
        "S0_", "S1_", "S2_", "S3_", "S4_", "S5_", "S6_", "S7_", "S8_", "S9_",
    ]
    .map(arguments);
    format!("_Z1f1p{}S_{}", arguments("i"), types.join("S_"))
}

#[test]
fn the_name_of_a_function_cannot_fill_the_memory() {
    let work_dir = WorkDir::with_guests("echo");
    let component = std::fs::read(component_path("trap_nth")).unwrap();
    let component = with_function_names(&component, &expanding_name());
    std::fs::write(work_dir.path("plugins/trap_nth.wasm"), component).unwrap();
    let larder = work_dir.command(&[], "");
    let mut limited = Command::new("sh");
    let serve = "ulimit -d 2000000; exec \"$0\" serve --listen 127.0.0.1:0";
    limited
        .args(["-c", serve])
        .arg(larder.get_program())
        .current_dir(work_dir.path(""))
        .env_clear();
    limited.envs(
        larder
            .get_envs()
            .filter_map(|(key, value)| Some((key, value?))),
    );
    limited.stdin(std::process::Stdio::piped());
    limited
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut server = WorkDir::spawn(limited);
    let line = server.wait_for_stderr("serves http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    let trapped = work_dir
        .larder(&format!("read trap://7 --url {url}"))
        .expect_exit(1);
    assert!(trapped.contains("it trapped"), "{trapped}");
    work_dir
        .larder(&format!("read trap://8 --url {url}"))
        .expect_success();
    let fault = server.wait_for_stderr("_Z1f1p");
    assert!(fault.len() < 16 << 10, "{} bytes", fault.len());
}

/// Nested lists.
fn lists(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

#[tokio::test]
async fn deep_json_of_clients_is_refused() {
    let http = HttpTestServer::start("interactive").await;
    for depth in [126, 100_000] {
        let deep = lists(depth);
        let meta = meta().to_string();
        let meta_with = format!(
            "{},\"example.com/x\":{deep}}}",
            meta.strip_suffix('}').unwrap()
        );
        for params in [
            format!(r#"{{"name":"x","arguments":{{"x":{deep}}},"_meta":{meta}}}"#),
            format!(r#"{{"name":"x","arguments":{deep},"_meta":{meta}}}"#),
            format!(r#"{{"name":"x","other":{deep},"_meta":{meta}}}"#),
            format!(r#"{{"name":"x","_meta":{meta_with}}}"#),
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            let headers = [
                JSON,
                ACCEPT,
                MODERN,
                ("mcp-method", "tools/call"),
                ("mcp-name", "x"),
            ];
            let response = http.post(&headers, body).await;
            assert!(response.body.contains("deep"), "{depth}: {}", response.body);
        }
    }
    let deep = lists(100_000);
    for member in ["clientInfo", "capabilities", "protocolVersion"] {
        let params = format!(r#"{{"{member}":{deep}}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
        let response = http.post(&[JSON, ACCEPT], body).await;
        assert!(
            response.body.contains("deep"),
            "{member}: {}",
            response.body
        );
    }
    assert_eq!(
        http.modern("tools/list", serde_json::json!({}))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn deep_json_on_the_admin_address_is_refused() {
    let token = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let config = format!("[admin]\nlisten = \"127.0.0.1:0\"\ntoken = \"sha256:{token}\"\n");
    let (admin, _) = AdminClient::open(&WorkDir::with_guests("echo").file("larder.toml", &config));
    let deep = lists(30_000);
    for body in [
        deep.clone(),
        format!(r#"{{"uri":{deep}}}"#),
        format!(r#"{{"uri":"x:y","caller":{deep}}}"#),
    ] {
        let request = http_client()
            .post(format!("http://{}/api/read", admin.address()))
            .body(body);
        let request = request.header("authorization", "Bearer secret");
        let response = request
            .header("content-type", "application/json")
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 400);
    }
    assert_eq!(admin.get("/livez").await.0, 200);
}

#[test]
fn deep_toml_is_refused() {
    let key = vec!["x"; 79].join(".");
    let tables = format!(
        "{}x = 1{}\n",
        format!("{key} = {{").repeat(78),
        "}".repeat(78)
    );
    for deep in [
        format!("settings.{tables}"),
        format!("settings.x = {}\n", "[".repeat(60_000)),
    ] {
        let work_dir = WorkDir::with_guests("echo").file("plugins/echo.toml", &deep);
        let checked = work_dir.larder("check");
        let output = format!("{}{}", checked.stdout, checked.stderr);
        assert!(output.contains("nested more than"), "{output}");
        let (server, _) = work_dir.serve("");
        drop(server);
        let refused = WorkDir::with_guests("echo")
            .file("larder.toml", &deep)
            .larder("check");
        assert!(
            refused.code.is_some_and(|code| code > 0),
            "{}{}",
            refused.stdout,
            refused.stderr
        );
        check_edits(&deep);
    }
}

#[test]
fn deep_files_of_clients_are_not_edited() {
    let work_dir = WorkDir::with_guests("").file("larder.toml", "");
    let file = work_dir.path("mcp.json");
    for (depth, expected) in [(500, 0), (100_000, 64)] {
        let text = format!("{{\n  \"other\": {}\n}}\n", lists(depth));
        std::fs::write(&file, &text).unwrap();
        let connected = work_dir.larder("connect cursor --file mcp.json --write");
        assert_eq!(
            connected.code,
            Some(expected),
            "{depth}: {}{}",
            connected.stdout,
            connected.stderr
        );
        let is_unchanged = std::fs::read_to_string(&file).unwrap() == text;
        assert_eq!(is_unchanged, expected != 0, "{depth}");
    }
}

/// Checks the commands that edit this text.
fn check_edits(deep: &str) {
    let work_dir = WorkDir::with_guests("");
    let lock = work_dir.path("larder.lock");
    std::fs::write(&lock, format!("version = 1\n{deep}")).unwrap();
    let locked = work_dir.file("larder.toml", "[registry]\nlocked = true\n");
    assert!(locked.larder("check").code.is_some(), "a lock file");
    let codex = locked.path("config.toml");
    std::fs::write(&codex, deep).unwrap();
    let connected = locked.larder("connect codex --file config.toml --write");
    assert!(
        connected.code.is_some_and(|code| code > 0),
        "{}{}",
        connected.stdout,
        connected.stderr
    );
    assert_eq!(std::fs::read_to_string(&codex).unwrap(), deep);
}
