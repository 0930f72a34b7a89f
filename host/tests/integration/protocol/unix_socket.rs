//! The endpoint and the admin address on a Unix socket: requests of both eras, and when the file of the socket is
//! created and removed.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use larder_mcp::auth::Authenticator;
use larder_mcp::{self as endpoint, Endpoint, EndpointParts, ListenAddress, Listener};
use serde_json::{Value, json};

use crate::support::harness::{SLOW_WAIT, TestServer, eventually_blocking};
use crate::support::http_server::{config, meta};
use crate::support::process::{RunningProcess, WorkDir};

const CONFIG: &str = "[server]\nlisten = 'unix:larder.sock'\n[admin]\nlisten = 'off'\n";
const ADMIN_CONFIG: &str =
    "[server]\nlisten = '127.0.0.1:0'\n[admin]\nlisten = 'unix:admin.sock'\n";

const HOST: [(&str, &str); 1] = [("host", "localhost")];

/// Starts a server that listens on `larder.sock`.
fn serve(work_dir: &WorkDir) -> RunningProcess {
    let mut server = work_dir.start("serve");
    let line = server.wait_for_stderr("serves unix:/");
    assert!(line.trim_end().ends_with("/larder.sock"), "{line}");
    server
}

/// Sends a request, and returns the whole response. The headers must include the headers under test.
fn send(socket: &Path, headers: &[(&str, &str)], body: &Value) -> String {
    let body = body.to_string();
    let mut request = format!("POST /mcp HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    let common = [
        ("content-type", "application/json"),
        ("connection", "close"),
    ];
    for (name, value) in common.iter().chain(headers) {
        request += &format!("{name}: {value}\r\n");
    }
    send_text(socket, &format!("{request}\r\n{body}"))
}

/// Sends a request, and returns the whole response.
fn send_text(socket: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(SLOW_WAIT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Sends a modern `resources/read` with these additional headers.
fn read(socket: &Path, headers: &[(&str, &str)]) -> String {
    let routing = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "resources/read"),
        ("mcp-name", "echo://hello"),
    ];
    let headers: Vec<_> = routing.iter().chain(headers).copied().collect();
    send(
        socket,
        &headers,
        &request(
            "resources/read",
            json!({ "uri": "echo://hello", "_meta": meta() }),
        ),
    )
}

fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn serves_both_eras_and_checks_host_and_origin() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", CONFIG);
    let socket = work_dir.path("larder.sock");
    let server = serve(&work_dir);
    let initialize = request("initialize", json!({ "protocolVersion": "2025-06-18" }));
    let response = send(&socket, &[("host", "localhost")], &initialize);
    let session = response
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "))
        .unwrap();
    let ping = send(
        &socket,
        &[("host", "localhost"), ("mcp-session-id", session)],
        &request("ping", json!({})),
    );
    assert!(
        status(&ping) == "200" && ping.ends_with(r#""result":{}}"#),
        "{ping}"
    );

    let origin = |origin| [("host", "localhost"), ("origin", origin)];
    for (headers, expected) in [
        (&[][..], "400"),
        (&[("host", "")], "200"),
        (&[("host", "localhost")], "200"),
        (&[("host", "evil.example")], "403"),
        (&[("host", "localhost"), ("host", "localhost")], "403"),
        (&origin("http://localhost:3000"), "200"),
        (&origin("https://evil.example"), "403"),
        (&[("host", ""), ("origin", "https://evil.example")], "403"),
    ] {
        let response = read(&socket, headers);
        assert_eq!(status(&response), expected, "{headers:?}: {response}");
        assert_eq!(
            response.contains(r#""resultType":"complete""#),
            expected == "200",
            "{response}"
        );
    }
    server.signal("TERM");
    assert_eq!(server.wait().code, Some(0));
}

#[test]
fn commands_reach_the_server_through_the_socket() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", CONFIG);
    let _server = serve(&work_dir);
    let url = format!("unix:{}", work_dir.path("larder.sock").display());
    for protocol in ["2026-07-28", "2025-11-25"] {
        let listed = work_dir
            .larder(&format!("list --url {url} --protocol {protocol}"))
            .expect_success();
        assert!(listed.contains("echo://hello"), "{listed}");
    }
    let error = work_dir
        .larder("list --url unix:/no/such.sock")
        .expect_exit(1);
    assert!(error.contains("cannot reach unix:/no/such.sock"), "{error}");
}

#[test]
fn the_file_exists_as_long_as_the_server_listens() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", CONFIG);
    let socket = work_dir.path("larder.sock");
    let server = serve(&work_dir);
    assert_eq!(
        std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let second = work_dir.larder("serve").expect_exit(1);
    assert!(
        second.contains("larder.sock: another server is listening there"),
        "{second}"
    );
    assert_eq!(
        status(&read(&socket, &HOST)),
        "200",
        "the first server still listens"
    );

    // A killed server leaves the file, and the next server replaces it.
    server.signal("KILL");
    server.wait();
    assert!(socket.exists() && UnixStream::connect(&socket).is_err());
    let server = serve(&work_dir);
    assert_eq!(status(&read(&socket, &HOST)), "200");
    server.signal("TERM");
    eventually_blocking(SLOW_WAIT, "the file is removed", || !socket.exists());
    assert_eq!(server.wait().code, Some(0));

    std::fs::write(&socket, "data").unwrap();
    let refused = work_dir.larder("serve").expect_exit(1);
    assert!(
        refused.contains("a file that is not a socket is there"),
        "{refused}"
    );
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "data");
}

#[test]
fn check_reports_a_missing_folder() {
    for config in [
        "server.listen = 'unix:gone/larder.sock'",
        "server.listen = '127.0.0.1:0'\nadmin.listen = 'unix:gone/larder.sock'",
    ] {
        let work_dir = WorkDir::with_guests("").file("larder.toml", config);
        let checked = work_dir.larder("check").expect_exit(1);
        assert!(
            checked.contains("/gone/larder.sock: there is no folder"),
            "{checked}"
        );
        let served = work_dir.larder("serve").expect_exit(1);
        assert!(served.contains("create the folder first"), "{served}");
    }
}

#[test]
fn check_reports_two_listeners_on_one_path() {
    let config = "server.listen = 'unix:larder.sock'\nadmin.listen = 'unix:larder.sock'\nadmin.socket_mode = '0660'";
    let work_dir = WorkDir::with_guests("").file("larder.toml", config);
    let checked = work_dir.larder("check").expect_exit(1);
    assert!(
        checked.contains("is the address of `server.listen` too: choose another path"),
        "{checked}"
    );
}

/// Starts a server whose admin address is `admin.sock`.
fn serve_admin(work_dir: &WorkDir) -> RunningProcess {
    let mut server = work_dir.start("serve");
    let line = server.wait_for_stderr("serving /livez");
    assert!(
        line.contains("url=unix:/") && line.trim_end().ends_with("/admin.sock"),
        "{line}"
    );
    server.wait_for_stderr("serves http://");
    server
}

#[test]
fn commands_reach_the_admin_address_through_a_socket() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", ADMIN_CONFIG);
    let socket = work_dir.path("admin.sock");
    let server = serve_admin(&work_dir);
    assert_eq!(
        std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777,
        0o600
    );
    // The address is the one in larder.toml.
    assert_eq!(work_dir.larder("health").expect_exit(0), "larder: ready\n");
    assert_eq!(
        work_dir.larder("reload").expect_exit(0),
        "larder: reloaded\n"
    );
    let status = work_dir.larder("status").expect_success();
    assert!(
        status.contains("/admin.sock (from admin.listen in larder.toml)\n"),
        "{status}"
    );
    let mut watch = work_dir.start("watch --events");
    watch.wait_for_stderr("watching the events of");
    watch.signal("INT");
    assert_eq!(watch.wait().code, Some(0));
    let url = format!("unix:{}", socket.display());
    let pending = work_dir
        .larder(&format!("approve --json --admin {url}"))
        .json();
    assert_eq!(pending["pending_approval"], json!([]));
    let forgotten = work_dir
        .larder(&format!("forget echo --yes --admin {url}"))
        .expect_exit(1);
    assert!(
        forgotten.contains("nothing is stored for echo"),
        "{forgotten}"
    );

    let second = work_dir.larder("serve").expect_exit(1);
    let expected =
        "another server is listening there; choose another path with `admin.listen` or `--admin`";
    assert!(second.contains(expected), "{second}");
    server.signal("TERM");
    assert_eq!(server.wait().code, Some(0));
    assert!(!socket.exists());
}

#[test]
fn the_admin_address_on_a_socket_has_the_rules_of_a_loopback_address() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", ADMIN_CONFIG);
    let socket = work_dir.path("admin.sock");
    let server = serve_admin(&work_dir);
    let send = |request: &str, headers: &str| {
        send_text(
            &socket,
            &format!("{request} HTTP/1.1\r\nhost: {headers}\r\n\r\n"),
        )
    };
    for (request, headers, expected) in [
        ("GET /livez", "localhost", "200"),
        ("GET /api/session", "localhost", "200"),
        ("GET /api/session", "evil.example", "403"),
        (
            "GET /api/session",
            "localhost\r\norigin: https://evil.example",
            "403",
        ),
        (
            "GET /api/session",
            "localhost\r\nx-forwarded-for: 10.0.0.7",
            "403",
        ),
        (
            "POST /api/approvals/echo",
            "localhost\r\ncontent-length: 0",
            "403",
        ),
    ] {
        assert_eq!(
            status(&send(request, headers)),
            expected,
            "{request} {headers}"
        );
    }
    let session = send("GET /api/session", "localhost");
    assert!(session.contains(r#""may_approve":false"#), "{session}");
    server.signal("TERM");
    server.wait();

    let digest = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let work_dir = work_dir.file(
        "larder.toml",
        &format!("{ADMIN_CONFIG}token = '{digest}'\n"),
    );
    let _server = serve_admin(&work_dir);
    let refused = work_dir.larder("status").expect_exit(1);
    assert!(refused.contains("HTTP 401"), "{refused}");
    work_dir.larder("status --token secret").expect_success();
}

#[tokio::test]
async fn limits_connections() {
    let server = TestServer::builder("").start().await;
    let path = server.folder.path().join("larder.sock");
    let config = endpoint::Config {
        connections: 1,
        ..config()
    };
    let authenticator = Authenticator::new(
        config.auth.clone(),
        config.caller.clone(),
        server.drain.clone(),
    );
    let endpoint = Endpoint::new(
        config,
        EndpointParts::new(
            authenticator,
            server.gateway.clone(),
            server.drain.clone(),
            server.metrics.clone(),
        ),
    );
    let listener = Listener::bind(&ListenAddress::Unix {
        path: path.clone(),
        mode: 0o600,
    })
    .await
    .unwrap();
    server
        .drain
        .spawn(async move { endpoint.serve_http(listener).await });
    let exchange = move || {
        let discover = request("server/discover", json!({ "_meta": meta() }));
        // A connection without a request would be replaced.
        let mut held = UnixStream::connect(&path).unwrap();
        held.write_all(b"GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .unwrap();
        assert!(held.read(&mut [0; 1024]).unwrap() > 0);
        send(
            &path,
            &[
                HOST[0],
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "server/discover"),
            ],
            &discover,
        )
    };
    let response = server.drain.spawn_blocking(exchange).await.unwrap();
    assert!(
        status(&response) == "503" && response.contains("retry-after: 1"),
        "{response}"
    );
}
