//! The grant for TCP connections in the configuration, the requests of a component, commands, status, metrics and the
//! audit log.

use std::fs;

use serde_json::{Value, json};

use super::server::TcpServer;
use crate::administration::admin::AdminClient;
use crate::support::process::{WorkDir, path_arg};

fn config(port: u16) -> String {
    format!(
        "[admin]\nlisten = \"127.0.0.1:0\"\n[audit]\nfile = \"audit.log\"\n[provider.tcp]\n\
         tcp = [{{ host = \"localhost\", port = {port}, private = true }}, \"db.example.com:5432\"]\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_in_status_metrics_and_the_audit_log() {
    let peer = TcpServer::answering();
    let work_dir = WorkDir::with_guests("tcp").file("larder.toml", &config(peer.port));
    let (admin, url) = AdminClient::open(&work_dir);
    for uri in [
        format!("tcp://ask/localhost%3A{}", peer.port),
        format!("tcp://ask/127.0.0.1%3A{}", peer.port),
        "tcp://resolve/example.org".to_owned(),
    ] {
        work_dir
            .larder(&format!("read {uri} --url {url}"))
            .expect_success();
    }
    let (_, status) = admin.get("/status").await;
    let status: Value = serde_json::from_str(&status).unwrap();
    let granted = format!("localhost:{} (private)", peer.port);
    assert_eq!(
        status["teams"][0]["providers"][0]["grants"]["tcp"],
        json!([granted, "db.example.com:5432"])
    );
    let (_, metrics) = admin.get("/metrics").await;
    for expected in [
        "larder_tcp_connections_total{team=\"default\",provider=\"tcp\",outcome=\"ok\"} 1",
        "larder_tcp_connections_total{team=\"default\",provider=\"tcp\",outcome=\"denied\"} 2",
        "larder_tcp_connections_open{team=\"default\",provider=\"tcp\"} 0",
        "larder_tcp_bytes_total{team=\"default\",provider=\"tcp\",direction=\"received\"} 8",
    ] {
        assert!(metrics.contains(expected), "{expected}: {metrics}");
    }
    admin.process.signal("TERM");
    assert_eq!(admin.process.wait().code, Some(0));
    let lines = fs::read_to_string(work_dir.path("audit.log")).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let reads = lines
        .filter(|line| line["operation"] == "read")
        .map(|line| line["connections"].clone());
    let expected = [
        json!([{ "to": format!("localhost:{}", peer.port), "outcome": "ok" }]),
        json!([{ "to": format!("127.0.0.1:{}", peer.port), "outcome": "denied" }]),
        json!([{ "to": "example.org", "outcome": "denied" }]),
    ];
    assert_eq!(reads.collect::<Vec<_>>(), expected);
}

#[test]
fn a_component_can_request_connections() {
    let request =
        "tcp = [\"db.example.com:5432\", { host = \"10.0.0.5\", port = 6379, private = true }]\n";
    let work_dir = WorkDir::with_guests("tcp")
        .file("plugins/tcp.toml", request)
        .file("larder.toml", "");
    let checked = work_dir.larder("check");
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    for expected in [
        "pending    tcp 10.0.0.5:6379, private",
        "pending    tcp db.example.com:5432",
    ] {
        assert!(checked.stdout.contains(expected), "{}", checked.stdout);
    }
    let file = work_dir.path("plugins/tcp.wasm");
    let inspected = work_dir
        .larder(&format!("inspect {}", path_arg(&file)))
        .stdout;
    for expected in [
        "TCP connections (grant: `tcp`): wasi:sockets/",
        "  tcp 10.0.0.5:6379, private",
    ] {
        assert!(inspected.contains(expected), "{inspected}");
    }
    // Connections that the operator grants need no approval.
    let wide = "[provider.tcp]\ntcp = [\"*.example.com:5432\", { host = \"10.0.0.5\", port = 6379, private = true }]\n";
    let work_dir = work_dir.file("larder.toml", wide);
    let checked = work_dir.larder("check");
    assert!(
        checked.stdout.contains("granted    tcp *.example.com:5432"),
        "{}",
        checked.stdout
    );
    assert!(!checked.stdout.contains("pending"), "{}", checked.stdout);
    // The ceiling of a team limits both.
    let team = "[team.a]\nplugins = \"plugins\"\napprove = \"always\"\n[team.a.ceiling]\ntcp = [\"*.example.com:5432\"]\n";
    let work_dir = work_dir.file("larder.toml", team);
    let checked = work_dir.larder("check");
    for expected in [
        "approved   tcp db.example.com:5432",
        "denied     tcp 10.0.0.5:6379, private",
    ] {
        assert!(checked.stdout.contains(expected), "{}", checked.stdout);
    }
}

#[test]
fn check_says_how_to_write_the_grant() {
    let config = "[provider.tcp]\ntcp = [\"10.0.0.5:6379\", \"db.example.com\", { host = \"db\", port = 0 }]\n";
    let work_dir = WorkDir::with_guests("tcp").file("larder.toml", config);
    let checked = work_dir.larder("check");
    assert_eq!(checked.code, Some(64));
    for expected in [
        "provider.tcp.tcp[0]: `10.0.0.5:6379` is inside this network or machine: write { host = \"10.0.0.5\", port = 6379, private = true }",
        "provider.tcp.tcp[1]: `db.example.com`: write the port as well, such as \"db.example.com:5432\"",
        "provider.tcp.tcp[2]: `db`: the port is not a number from 1 to 65535",
    ] {
        assert!(checked.stderr.contains(expected), "{}", checked.stderr);
    }
}
