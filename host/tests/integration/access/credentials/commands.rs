//! Credentials in the configuration, with the real binary and a server with TLS.

use std::fs;

use serde_json::{Value, json};

use super::server::{EchoServer, certificate};
use super::{SECRET, encoded, uri};
use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, component_path, eventually_within};
use crate::support::process::{WorkDir, path_arg};

fn config(upstream: &EchoServer) -> String {
    let origin = upstream.origin();
    format!(
        "[admin]\nlisten = '127.0.0.1:0'\n[audit]\nfile = 'audit.log'\n\
         [secret.token]\nfile = 'token'\nhosts = ['{origin}']\n\
         [provider.credentials]\nhosts = [{{ host = '{origin}', auth = {{ bearer = 'token' }} }}]\n"
    )
}

fn work_dir(config: &str) -> WorkDir {
    WorkDir::with_guests("credentials")
        .file("larder.toml", config)
        .file("token", &format!("{SECRET}\n"))
}

/// Starts a server that trusts the certificate of the upstream server.
fn open(work_dir: &WorkDir) -> (AdminClient, String) {
    AdminClient::open_with(work_dir, |command| {
        let mut changed = std::process::Command::new(command.get_program());
        changed.args(command.get_args());
        changed.env("SSL_CERT_FILE", certificate());
        changed
    })
}

fn read(work_dir: &WorkDir, uri: &str, url: &str) -> String {
    let output = work_dir.larder(&format!("read {uri} --url {url}"));
    format!("{}{}", output.stdout, output.stderr)
}

fn metric(outcome: &str, count: u64) -> String {
    format!(
        "larder_credential_requests_total{{team=\"default\",provider=\"credentials\",outcome=\"{outcome}\"}} {count}"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_are_in_the_audit_log_and_metrics_without_their_values() {
    let upstream = EchoServer::start_tls();
    let work_dir = work_dir(&config(&upstream));
    let (admin, url) = open(&work_dir);
    let text = read(&work_dir, &uri("wasi-http", &upstream.url("ok")), &url);
    assert!(
        text.starts_with("200 ") && text.contains("not found"),
        "{text}"
    );
    let bearer = format!("authorization: Bearer {SECRET}");
    assert!(upstream.take_requests()[0].contains(&bearer));
    for path in ["echo", "unauthorized"] {
        read(&work_dir, &uri("http-client", &upstream.url(path)), &url);
    }
    let metrics = admin.get("/metrics").await.1;
    for expected in [metric("ok", 2), metric("echoed", 1), metric("rejected", 1)] {
        assert!(metrics.contains(&expected), "{expected}: {metrics}");
    }
    let status = admin.get("/status").await.1;
    assert!(
        status.contains("GET,HEAD (private), bearer with secret token"),
        "{status}"
    );
    admin.process.signal("TERM");
    let log = admin.process.wait().expect_exit(0);
    let audit = fs::read_to_string(work_dir.path("audit.log")).unwrap();
    for text in [&metrics, &status, &log, &audit] {
        assert!(!text.contains("hush"), "{text}");
    }
    let lines = audit.lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let reads = lines.filter(|line| line["operation"] == "read");
    let used: Vec<_> = reads.map(|line| line["credentials"].clone()).collect();
    let record = |outcome: &str| json!({ "secret": "token", "host": upstream.origin(), "outcome": outcome, "count": 1 });
    let expected = [
        json!([record("ok")]),
        json!([record("ok"), record("echoed")]),
        json!([record("rejected")]),
    ];
    assert_eq!(used, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotated_secret_is_used_and_a_removed_one_is_not() {
    let upstream = EchoServer::start_tls();
    let text = config(&upstream);
    let work_dir = work_dir(&text);
    let (admin, url) = open(&work_dir);
    let uri = uri("http-client", &upstream.url("ok"));
    assert!(read(&work_dir, &uri, &url).starts_with("200 "));
    upstream.take_requests();
    let work_dir = work_dir.file("token", "another-secret-value\n");
    let is_rotated = async || {
        read(&work_dir, &uri, &url);
        upstream.take_requests()[0].contains("Bearer another-secret-value")
    };
    eventually_within(SLOW_WAIT, "the new value is sent", is_rotated).await;
    let elsewhere = text.replacen(&upstream.origin(), "https://elsewhere.example", 1);
    let work_dir = work_dir.file("larder.toml", &elsewhere);
    let is_refused = async || read(&work_dir, &uri, &url).contains("Denied");
    eventually_within(SLOW_WAIT, "the secret is not sent any more", is_refused).await;
    drop(admin);
}

/// Returns the problems that `larder check` finds.
fn checked(work_dir: &WorkDir) -> String {
    let output = work_dir.larder("check");
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    output.stderr
}

#[test]
fn a_component_cannot_send_a_secret_to_a_host_of_its_own() {
    let own = EchoServer::start();
    let config = "approve = 'always'\n[secret.token]\nfile = 'token'\nhosts = ['https://api.example.com']\n\
                  [secret.setting]\nfile = 'token'\n";
    let work_dir = work_dir(config);
    let request = |secret: &str| {
        let origin = own.origin();
        format!(
            "hosts = [{{ host = '{origin}', auth = {{ bearer = '{secret}' }}, plain_http = true }}]\nsecrets = ['token']\n"
        )
    };
    for secret in ["token", "setting", "unknown"] {
        fs::write(work_dir.path("plugins/credentials.toml"), request(secret)).unwrap();
        let uri = uri("http-client", &own.url("ok"));
        let text = work_dir.larder(&format!("read --in-process {uri}"));
        assert!(
            text.stdout.contains("is not granted"),
            "{}{}",
            text.stdout,
            text.stderr
        );
        let setting = format!("credentials://setting?name=token&reversed={}", encoded("x"));
        let text = work_dir.larder(&format!("read --in-process {setting}"));
        assert!(text.stdout.starts_with("None"), "{}", text.stdout);
        let check = checked(&work_dir);
        assert!(
            check.contains("for a host that it may not be sent to"),
            "{check}"
        );
    }
    assert!(own.take_requests().is_empty());
}

#[test]
fn a_team_uses_only_the_secrets_of_its_ceiling() {
    let upstream = EchoServer::start_tls();
    let origin = upstream.origin();
    let provider = format!(
        "provider.credentials.hosts = [{{ host = '{origin}', auth = {{ bearer = 'token' }} }}]\n"
    );
    let config = format!(
        "[stdio]\nteams = ['alpha', 'beta']\n[secret.token]\nfile = 'token'\nhosts = ['{origin}']\n\
         [team.alpha]\nplugins = 'alpha'\nceiling = {{ hosts = ['{origin}'], secrets = ['token'] }}\n{provider}\
         [team.beta]\nplugins = 'beta'\nceiling = {{ hosts = ['{origin}'] }}\n{provider}"
    );
    let work_dir = work_dir(&config);
    for team in ["alpha", "beta"] {
        fs::create_dir(work_dir.path(team)).unwrap();
        let copy = work_dir.path(team).join("credentials.wasm");
        fs::copy(component_path("credentials"), copy).unwrap();
    }
    let uri = uri("http-client", &upstream.url("ok"));
    let certificate = certificate();
    let env = [("SSL_CERT_FILE", path_arg(&certificate))];
    let read = |team: &str| {
        let args = format!("read --in-process --team {team} {uri}");
        work_dir.start_with(&env, &args).wait().stdout
    };
    let text = read("alpha");
    assert!(text.starts_with("200 "), "{text}");
    let text = read("beta");
    assert!(text.contains("is not granted"), "{text}");
    assert_eq!(upstream.take_requests().len(), 1);
    let check = checked(&work_dir);
    assert!(
        check.contains("beta/credentials exceeds [team.beta.ceiling]"),
        "{check}"
    );
}

#[test]
fn check_warns_of_secrets_that_are_not_safe() {
    let addresses = "server.listen = '127.0.0.1:0'\nadmin.listen = '127.0.0.1:0'\n";
    let config = "[secret.token]\nfile = 'token'\nhosts = ['http://localhost:9']\n[secret.setting]\nfile = 'token'\n\
                  [provider.credentials]\nsecrets = ['setting']\n\
                  hosts = [{ host = 'http://localhost:9', auth = { bearer = 'token' }, plain_http = true }]\n";
    let work_dir = work_dir(&format!("{addresses}{config}"));
    let check = work_dir.larder("check");
    let warnings: Vec<_> = check
        .stderr
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .collect();
    assert_eq!(warnings.len(), 2, "{}", check.stderr);
    assert!(warnings[0].contains("`token` is sent to localhost without TLS"));
    assert!(warnings[1].contains("credentials: the secret setting enters the provider"));
    assert_eq!(check.code, Some(0), "{}", check.stderr);
    assert_eq!(work_dir.larder("check --strict").code, Some(1));
    // A provider can need a secret, so this warning is no problem.
    let only_setting =
        "[secret.setting]\nfile = 'token'\n[provider.credentials]\nsecrets = ['setting']\n";
    let work_dir = work_dir.file("larder.toml", &format!("{addresses}{only_setting}"));
    let strict = work_dir.larder("check --strict");
    assert_eq!(strict.code, Some(0), "{}", strict.stderr);
    assert!(
        strict.stderr.contains("but one warning"),
        "{}",
        strict.stderr
    );
}

/// The outcome and the exit code of `larder secret test token URL`.
fn tested(work_dir: &WorkDir, url: &str) -> (String, Option<i32>) {
    let certificate = certificate();
    let env = [("SSL_CERT_FILE", path_arg(&certificate))];
    let args = format!("secret test token {url}");
    let output = work_dir.start_with(&env, &args).wait();
    let text = format!("{}{}", output.stdout, output.stderr);
    assert!(!text.contains("hush"), "{text}");
    (text, output.code)
}

#[test]
fn a_secret_can_be_tried() {
    let upstream = EchoServer::start_tls();
    let work_dir = work_dir(&config(&upstream));
    let origin = upstream.origin();
    let (text, code) = tested(&work_dir, &upstream.url("echo"));
    assert_eq!(
        text,
        format!("credentials {origin}/echo, bearer with secret token: accepted (status 200 OK)\n")
    );
    assert_eq!(code, Some(0));
    assert!(upstream.take_requests()[0].contains(&format!("Bearer {SECRET}")));
    let (text, code) = tested(&work_dir, &upstream.url("unauthorized"));
    assert!(text.contains("refused (status 401"), "{text}");
    assert_eq!(code, Some(1));
    let (text, code) = tested(&work_dir, "https://elsewhere.example");
    assert!(
        text.contains("no provider sends the secret `token` to https://elsewhere.example"),
        "{text}"
    );
    assert_eq!(code, Some(64));
    let unreachable = "https://127.0.0.1:1";
    let config = config(&upstream).replace(&origin, unreachable);
    let work_dir = work_dir.file("larder.toml", &config);
    let (text, code) = tested(&work_dir, unreachable);
    assert!(text.contains(": failed: "), "{text}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_secret_that_a_component_requests_can_be_tried() {
    let upstream = EchoServer::start_tls();
    let origin = upstream.origin();
    let config = |approve: &str, ceiling: &str| {
        format!(
            "[stdio]\nteams = ['alpha']\n[secret.token]\nfile = 'token'\nhosts = ['{origin}']\n\
             [team.alpha]\nplugins = 'plugins'\napprove = '{approve}'\nceiling = {{ hosts = [{ceiling}], secrets = ['token'] }}\n"
        )
    };
    let allowed = format!("'{origin}'");
    let request = format!("hosts = [{{ host = '{origin}', auth = {{ bearer = 'token' }} }}]\n");
    let mut work_dir =
        work_dir(&config("always", &allowed)).file("plugins/credentials.toml", &request);
    let (text, code) = tested(&work_dir, &upstream.url("ok"));
    assert_eq!(
        text,
        format!("credentials {origin}/ok, bearer with secret token: accepted (status 200 OK)\n")
    );
    assert_eq!(code, Some(0));
    assert!(upstream.take_requests()[0].contains(&format!("Bearer {SECRET}")));
    // Neither a request beyond the ceiling nor one without an approval has an effect.
    for (approve, ceiling) in [("always", ""), ("ask", &allowed)] {
        work_dir = work_dir.file("larder.toml", &config(approve, ceiling));
        let (text, code) = tested(&work_dir, &upstream.url("ok"));
        assert!(text.contains("sends the secret `token` to"), "{text}");
        assert_eq!(code, Some(64));
    }
    assert!(upstream.take_requests().is_empty());
}
