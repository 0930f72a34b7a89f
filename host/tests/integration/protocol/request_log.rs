//! The request log: refused requests, all requests, and the addresses of clients behind a proxy.

use reqwest::RequestBuilder;

use crate::administration::admin::AdminClient;
use crate::administration::metrics::{parse_samples, sample_value};
use crate::support::process::{WorkDir, http_client};

const ADMIN: &str = "[admin]\nlisten = \"127.0.0.1:0\"\n";

/// Starts a server whose only token is `a`.
fn start(more: &str) -> (AdminClient, RequestBuilder, WorkDir) {
    let digest = larder_model::name::Digest::of(b"a");
    let token = format!("[[auth.tokens]]\nname = \"ann\"\ndigest = \"sha256:{digest}\"\n");
    let config = format!("{ADMIN}{more}{token}");
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &config);
    let (admin, url) = AdminClient::open(&work_dir);
    (admin, http_client().post(url), work_dir)
}

#[tokio::test]
async fn a_flood_of_refused_requests_has_one_line_and_is_counted() {
    let (mut admin, request, _work_dir) = start("");
    for _ in 0..200 {
        assert_eq!(
            request.try_clone().unwrap().send().await.unwrap().status(),
            401
        );
    }
    let line = admin.process.find_stderr("request refused");
    for part in [
        "INFO",
        "reason=\"credential-missing\"",
        "peer=127.0.0.1",
        "method=\"POST\"",
        "status=401",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let foreign = request
        .try_clone()
        .unwrap()
        .header("origin", "https://evil.example")
        .send()
        .await
        .unwrap();
    assert_eq!(foreign.status(), 403);
    let line = admin.process.wait_for_stderr("request refused");
    assert!(line.contains("reason=\"origin\""), "{line}");
    let samples = parse_samples(&admin.get("/metrics").await.1);
    for (reason, count) in [
        ("credential-missing", 200.0),
        ("origin", 1.0),
        ("quota", 0.0),
    ] {
        let key = format!("larder_requests_refused_total{{reason=\"{reason}\"}}");
        assert_eq!(sample_value(&samples, &key), count, "{reason}");
    }
    admin.process.signal("TERM");
    let stderr = admin.process.wait().expect_exit(0);
    assert_eq!(stderr.matches("request refused").count(), 2, "{stderr}");
    assert!(
        stderr.contains("more requests were refused") && stderr.contains("more=199"),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_flood_of_one_team_does_not_hide_the_refusals_of_another() {
    let mut config = format!("{ADMIN}[audit]\nfile = 'audit.log'\n");
    let mut work_dir = WorkDir::with_guests("");
    for team in ["noisy", "quiet"] {
        let digest = larder_model::name::Digest::of(team.as_bytes());
        config += &format!(
            "[[auth.tokens]]\nname = '{team}'\ndigest = 'sha256:{digest}'\nteams = ['{team}']\n"
        );
        config += &format!("[team.{team}]\nplugins = '{team}'\nquota = {{ requests = 1 }}\n");
        std::fs::create_dir(work_dir.path(team)).unwrap();
    }
    work_dir = work_dir.file("larder.toml", &config);
    let (admin, url) = AdminClient::open(&work_dir);
    for (team, requests) in [("noisy", 50), ("quiet", 10)] {
        for _ in 0..requests {
            let sent = http_client()
                .post(&url)
                .bearer_auth(team)
                .send()
                .await
                .unwrap();
            assert!(
                [415, 429].contains(&sent.status().as_u16()),
                "{}",
                sent.status()
            );
        }
    }
    let events = admin.get("/api/events?kind=refusal&team=quiet").await.1;
    assert!(events.contains("\"reason\":\"quota\""), "{events}");
    admin.process.signal("TERM");
    let stderr = admin.process.wait().expect_exit(0);
    let audit = std::fs::read_to_string(work_dir.path("audit.log")).unwrap();
    for team in ["noisy", "quiet"] {
        let of_team = |line: &&str| {
            line.contains("\"quota\"") && line.contains(&format!("\"team\":\"{team}\""))
        };
        let lines: Vec<_> = audit.lines().filter(of_team).collect();
        let [first, more] = lines[..] else {
            panic!("{audit}")
        };
        assert!(
            first.contains("\"status\":429") && more.contains("\"more\":"),
            "{lines:?}"
        );
        assert!(
            stderr.contains(&format!("reason=\"quota\" team=\"{team}\" more=")),
            "{stderr}"
        );
    }
}

#[tokio::test]
async fn the_address_of_a_client_comes_from_trusted_proxies_only() {
    for (trusted, client) in [
        ("", "127.0.0.1"),
        ("trusted_proxies = [\"127.0.0.0/8\"]\n", "2.2.2.2"),
    ] {
        let (mut admin, request, _work_dir) = start(&format!("[server]\n{trusted}"));
        let request = request.header("x-forwarded-for", "1.1.1.1, 2.2.2.2");
        assert_eq!(request.send().await.unwrap().status(), 401);
        let line = admin.process.find_stderr("request refused");
        assert!(line.contains(&format!("peer={client}")), "{line}");
    }
}

#[tokio::test]
async fn all_requests_or_none_are_logged() {
    let (mut admin, request, work_dir) = start("[server.log]\nrequests = \"all\"\n");
    let url = request
        .try_clone()
        .unwrap()
        .build()
        .unwrap()
        .url()
        .to_string();
    let mut reading = work_dir.start_with(
        &[("LARDER_TOKEN", "a")],
        &format!("read echo://hello --url {url}"),
    );
    let line = admin.process.wait_for_stderr("method=\"resources/read\"");
    for part in [
        "provider=echo",
        "status=200",
        "subject=\"ann\"",
        "peer=127.0.0.1",
        "bytes=",
        "ms=",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(reading.next().contains("uri:"));
    let (admin, request, _work_dir) = start("[server.log]\nrequests = \"off\"\n");
    assert_eq!(request.send().await.unwrap().status(), 401);
    admin.process.signal("TERM");
    let stderr = admin.process.wait().expect_exit(0);
    assert!(!stderr.contains("refused"), "{stderr}");
}
