//! The log of a server stays small, also if guests write much or fail often.

use std::time::Instant;

use serde_json::json;
use tokio::task::JoinSet;

use crate::administration::admin::AdminClient;
use crate::support::http_server::{ACCEPT, JSON, MODERN, meta};
use crate::support::process::{ProcessOutput, RunningProcess, WorkDir, http_client};

/// The number of bytes that a provider may log per second by default: `limits.log`.
const PROVIDER_LIMIT: usize = 64 << 10;
/// Space for the lines of the host about its start, its stop, and the limits.
const HOST_LINES: usize = 16 << 10;

/// The maximum size of the shortened form of lists with thousands of elements.
const SHORT: usize = 32 << 10;

/// Makes these reads, with four callers at a time. Returns the number of bytes that a log with `per_second` may have
/// after these reads: the bytes of one second are available at once, and a line may exceed these bytes.
async fn read_all(url: &str, uris: Vec<String>, per_second: usize) -> usize {
    let (client, began, mut callers) = (http_client(), Instant::now(), JoinSet::new());
    for uris in uris.chunks(uris.len().div_ceil(4)) {
        let (client, url, uris) = (client.clone(), url.to_owned(), uris.to_vec());
        callers.spawn(async move {
            for uri in uris {
                let params = json!({ "uri": uri, "_meta": meta() });
                let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
                let mut request = client.post(&url).body(body.to_string());
                for (name, value) in
                    [JSON, ACCEPT, MODERN, ("mcp-method", "resources/read"), ("mcp-name", &uri)]
                {
                    request = request.header(name, value);
                }
                request.send().await.unwrap().bytes().await.unwrap();
            }
        });
    }
    callers.join_all().await;
    per_second * (began.elapsed().as_secs() as usize + 3) + HOST_LINES
}

fn stop(server: RunningProcess) -> ProcessOutput {
    server.signal("TERM");
    server.wait()
}

/// The sum of this field in all lines with this text.
fn sum(stderr: &str, text: &str, field: &str) -> u64 {
    let values = stderr
        .lines()
        .filter(|line| line.contains(text))
        .filter_map(|line| line.split_once(field));
    values
        .map(|(_, rest)| {
            rest.split(|c: char| !c.is_ascii_digit())
                .next()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        })
        .sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_has_a_limit_per_second() {
    for (format, uri) in [
        ("text", "lines"),
        ("text", "controls"),
        ("json", "controls"),
    ] {
        let config = format!("[server.log]\nformat = \"{format}\"\n");
        let work_dir = WorkDir::with_guests("flood").file("larder.toml", &config);
        let mut server = work_dir.start("serve --listen 127.0.0.1:0 --config larder.toml");
        let line = server.wait_for_stderr("/mcp");
        let url = line
            .split(['"', ' '])
            .find(|word| word.starts_with("http://127"))
            .unwrap()
            .trim()
            .to_owned();
        let uris: Vec<_> = (0..24)
            .map(|n| format!("flood://{uri}/{}", 1_000 + n))
            .collect();
        let bound = read_all(&url, uris, PROVIDER_LIMIT).await;
        let stderr = stop(server).stderr;
        assert!(
            stderr.len() > PROVIDER_LIMIT / 2,
            "it logs something: {stderr}"
        );
        assert!(
            stderr.len() < bound,
            "{format} {uri}: {} bytes of {bound}",
            stderr.len()
        );
        let reports = stderr
            .lines()
            .filter(|line| line.contains("log lines suppressed"))
            .count();
        assert!((2..10).contains(&reports), "{reports} reports");
        if format == "text" {
            let logged = stderr
                .lines()
                .filter(|line| line.contains("provider log"))
                .count() as u64;
            let suppressed =
                sum(&stderr, "log lines suppressed", "lines=") + sum(&stderr, "repeated", "times=");
            let written: u64 = (0..24).map(|n| 3 * (1_000 + n)).sum();
            assert_eq!(logged + suppressed, written, "every line is counted");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_has_a_limit_and_a_reserve_for_its_own_warnings() {
    const LIMIT: usize = 64 << 10;
    let config = "limits.log = \"1MiB\"\n[server.log]\nbytes_per_second = \"64KiB\"\n";
    let work_dir = WorkDir::with_guests("flood").file("larder.toml", config);
    let (mut server, url) = work_dir.serve("--config larder.toml");
    let uris: Vec<_> = (0..12)
        .map(|n| format!("flood://lines/{}", 3_000 + n))
        .collect();
    let changed = config.replace("64KiB", "65KiB");
    let reload = std::thread::spawn(move || {
        server.wait_for_stderr("provider log");
        std::fs::write(work_dir.path("larder.toml"), changed).unwrap();
        server.signal("HUP");
        server.wait_for_stderr("takes effect after a restart");
        (server, work_dir)
    });
    let bound = read_all(&url, uris, LIMIT).await;
    let (server, _work_dir) = reload.join().unwrap();
    let stderr = stop(server).stderr;
    assert!(stderr.len() < bound, "{} bytes of {bound}", stderr.len());
    let suppressed = sum(&stderr, "server.log.bytes_per_second", "lines=");
    assert!(suppressed > 1_000, "{suppressed} lines are reported");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_uri_that_always_fails_is_logged_once_and_then_summarized() {
    let work_dir = WorkDir::with_guests("trap_nth");
    let (server, url) = work_dir.serve("");
    read_all(&url, vec!["trap://7".into(); 400], 0).await;
    let stderr = stop(server).stderr;
    let lines: Vec<_> = stderr
        .lines()
        .filter(|line| line.contains("failed"))
        .collect();
    assert!(lines.len() < 6, "{lines:#?}");
    assert!(
        lines[0].contains("the seventh resource traps"),
        "the first line has all details: {lines:?}"
    );
    let last = lines.last().unwrap();
    assert!(
        last.contains("repeated: the provider failed") && last.contains("trap://7"),
        "{last}"
    );
    assert!(stderr.len() < 2 * HOST_LINES, "{} bytes", stderr.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_collisions_and_rejections_are_summarized() {
    let names: Vec<_> = (0..10).map(|n| format!("m{n}")).collect();
    let guests: Vec<_> = names.iter().map(|name| format!("{name}@million")).collect();
    let settings = |name| format!("[provider.{name}]\nsettings = {{ count = \"1000\" }}\n");
    let config = "[admin]\nlisten = \"127.0.0.1:0\"\n".to_owned();
    let config = names
        .iter()
        .map(settings)
        .fold(config, |config, section| config + &section);
    let work_dir = WorkDir::with_guests(&guests.join(" ")).file("larder.toml", &config);
    for n in 0..1_000 {
        std::fs::write(
            work_dir.path(&format!("plugins/unrelated-{n}.wasm")),
            "unrelated",
        )
        .unwrap();
    }
    let (admin, _) = AdminClient::open(&work_dir);
    let status = admin.get("/status").await.1;
    assert!(status.len() < 2 * SHORT, "{} bytes", status.len());
    assert!(
        status.contains("1000 URIs and templates, such as `million://0`, are offered by both"),
        "{status}"
    );
    assert!(status.contains("\"more_rejected\":900"), "{status}");
    // A later pass reports only new problems.
    for n in 1_000..2_000 {
        std::fs::write(
            work_dir.path(&format!("plugins/unrelated-{n}.wasm")),
            "unrelated",
        )
        .unwrap();
    }
    let AdminClient { mut process, .. } = admin;
    process.wait_for_stderr("more rejected");
    let stderr = stop(process).stderr;
    assert!(stderr.len() < SHORT, "{} bytes: {stderr}", stderr.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_of_foreign_uris_are_summarized() {
    let work_dir = WorkDir::with_guests("flood");
    let (server, url) = work_dir.serve("");
    read_all(
        &url,
        (0..12)
            .map(|n| format!("flood://foreign/{}", 500 + n))
            .collect(),
        0,
    )
    .await;
    let stderr = stop(server).stderr;
    assert!(
        stderr.contains("ignored an update") && stderr.contains("sends signals too often"),
        "{stderr}"
    );
    assert!(
        stderr.len() < HOST_LINES,
        "{} bytes: {stderr}",
        stderr.len()
    );
}
