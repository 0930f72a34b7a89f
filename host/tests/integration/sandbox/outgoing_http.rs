//! Time limits and concurrency of the HTTP requests of guests, with real servers.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use larder_model::policy::{HostRule, Limits};

use crate::support::harness::TestServer;

/// The time after which a request that waits for others stops waiting.
const BARRIER_WAIT: Duration = Duration::from_secs(50);

/// An HTTP server with a thread for each connection.
struct Upstream {
    port: u16,
}

impl Upstream {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let upstream = Self {
            port: listener.local_addr().unwrap().port(),
        };
        let arrived = Arc::<(Mutex<usize>, Condvar)>::default();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), arrived) = (stream, arrived.clone()) else {
                    return;
                };
                std::thread::spawn(move || respond(stream, &arrived));
            }
        });
        upstream
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The URI of the guest for several requests.
    fn send_all(&self, paths: &[&str]) -> String {
        let urls: Vec<_> = paths
            .iter()
            .map(|path| format!("url={}", encoded(&self.url(path))))
            .collect();
        format!("net://send-all?{}", urls.join("&"))
    }
}

fn encoded(url: &str) -> String {
    url.replace(':', "%3A").replace('/', "%2F")
}

/// Responds to a path: `text/TEXT`, `size/BYTES`, `barrier/COUNT` after this number of requests have arrived, `part`
/// with the beginning of a body only, and `nothing` without a response.
fn respond(mut stream: TcpStream, arrived: &(Mutex<usize>, Condvar)) {
    let mut request = [0; 4096];
    let read = stream.read(&mut request).unwrap_or(0);
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    let path = request
        .split(' ')
        .nth(1)
        .unwrap_or_default()
        .trim_start_matches('/');
    let (what, argument) = path.split_once('/').unwrap_or((path, ""));
    let number = argument.parse().unwrap_or(0);
    let body = match what {
        "text" => argument.to_owned(),
        "size" => "x".repeat(number),
        "barrier" => wait_for_others(arrived, number).to_owned(),
        "part" => "part".to_owned(),
        _ => String::new(),
    };
    if matches!(what, "text" | "size" | "barrier" | "part") {
        let length = body.len() + usize::from(what == "part");
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
        _ = stream.write_all(head.as_bytes());
        _ = stream.write_all(body.as_bytes());
    }
    if !matches!(what, "text" | "size" | "barrier") {
        // Ends when the client closes the connection.
        _ = stream.read_to_end(&mut Vec::new());
    }
}

fn wait_for_others((arrived, changed): &(Mutex<usize>, Condvar), count: usize) -> &'static str {
    let mut arrived = arrived.lock().unwrap();
    *arrived += 1;
    changed.notify_all();
    let (_arrived, waited) = changed
        .wait_timeout_while(arrived, BARRIER_WAIT, |arrived| *arrived < count)
        .unwrap();
    if waited.timed_out() {
        "alone"
    } else {
        "together"
    }
}

async fn server(upstream: &Upstream, change: impl FnOnce(&mut Limits)) -> TestServer {
    let rule = |scheme: &str| HostRule {
        scheme: Some(scheme.into()),
        host: "127.0.0.1".into(),
        port: Some(upstream.port),
        methods: None,
        private: false,
        auth: None,
    };
    let builder = TestServer::builder("net sleep").provider("net", |grant, _| {
        grant.hosts = vec![rule("http"), rule("https")];
        grant.limits.timeout = Duration::from_secs(60);
        grant.limits.http_body = 10_000;
        change(&mut grant.limits);
    });
    builder.start().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_a_timeout_leaves_time_to_answer() {
    let upstream = Upstream::start();
    let server = server(&upstream, |_| {}).await;
    let uri = |path, timeout: &str| {
        format!(
            "net://http-client?url={}&method=GET{timeout}",
            encoded(&upstream.url(path))
        )
    };
    for path in ["nothing", "part"] {
        assert_eq!(
            server.text(&uri(path, "&timeout=100")).await,
            "refused: Failure::TimedOut",
            "{path}"
        );
    }
    assert_eq!(
        server.text(&uri("text/a", "&timeout=30000")).await,
        "ok: (200, \"a\")"
    );
    assert_eq!(
        server
            .text(&uri("text/a", "&timeout=18446744073709551615"))
            .await,
        "ok: (200, \"a\")"
    );
    assert_eq!(
        server.text(&uri("nothing", "&timeout=0")).await,
        "refused: Failure::TimedOut"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_call_limits_every_request() {
    let upstream = Upstream::start();
    let server = server(&upstream, |limits| limits.timeout = Duration::from_secs(2)).await;
    let url = encoded(&upstream.url("nothing"));
    for uri in [
        format!("net://http-client?url={url}&method=GET&timeout=60000"),
        format!("net://send-all?url={url}&url={url}&timeout=60000"),
    ] {
        let expected =
            "error: the provider `net` failed: it did not respond within 2s (`limits.timeout`)";
        assert_eq!(server.text(&uri).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_requests_are_sent_at_once() {
    let upstream = Upstream::start();
    let server = server(&upstream, |_| {}).await;
    let text = server.text(&upstream.send_all(&["barrier/5"; 5])).await;
    assert_eq!(text, ["(200, \"together\")"; 5].join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_are_in_the_order_of_the_requests() {
    let upstream = Upstream::start();
    let server = server(&upstream, |_| {}).await;
    let paths = [
        "barrier/2",
        "nothing",
        "size/20000",
        "text/a",
        "barrier/2",
        "text/b",
    ];
    let denied = format!("&url={}", encoded("http://example.com/"));
    let timeouts = "&timeout=50000&timeout=100&timeout=50000";
    let text = server
        .text(&(upstream.send_all(&paths) + &denied + timeouts))
        .await;
    let lines: Vec<_> = text.lines().collect();
    let expected = [
        "(200, \"together\")",
        "Failure::TimedOut",
        "Failure::TooLarge",
        "(200, \"a\")",
        "(200, \"together\")",
        "(200, \"b\")",
    ];
    assert_eq!(lines[..6], expected);
    assert!(
        lines[6].starts_with("Failure::Denied(\"GET to http://example.com is not granted"),
        "{text}"
    );
    assert_eq!(lines.len(), 7);
    assert_eq!(server.text("net://send-all").await, "", "no requests");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_share_one_limit() {
    let upstream = Upstream::start();
    let server = server(&upstream, |_| {}).await;
    let text = server.text(&upstream.send_all(&["size/3000"; 3])).await;
    assert_eq!(text.matches("(200, ").count(), 3, "{text}");
    let text = server.text(&upstream.send_all(&["size/6000"; 2])).await;
    assert_eq!(
        (
            text.matches("(200, ").count(),
            text.matches("TooLarge").count()
        ),
        (1, 1),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_requests_is_limited() {
    let upstream = Upstream::start();
    let server = server(&upstream, |_| {}).await;
    let text = server.text(&upstream.send_all(&["text/a"; 32])).await;
    assert_eq!(text.matches("(200, \"a\")").count(), 32, "{text}");
    let text = server.text(&upstream.send_all(&["text/a"; 33])).await;
    let refused = "Failure::Denied(\"33 requests at once; the limit is 32\")";
    assert_eq!(text, [refused; 33].join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_open_wasi_http_requests_is_limited() {
    let upstream = Upstream::start();
    let server = server(&upstream, |_| {}).await;
    let text = server
        .text(&format!("net://open/33/{}", upstream.url("text/a")))
        .await;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..32], ["200"; 32]);
    assert_eq!(lines[32], "ErrorCode::ConnectionLimitReached");
    assert_eq!(lines[33], "200", "a request after the others have ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeouts_of_wasi_http_are_honoured() {
    let upstream = Upstream::start();
    let server = server(&upstream, |_| {}).await;
    let uri = |url: &str, timeouts: &str| {
        format!("net://wasi-http?url={}&method=GET{timeouts}", encoded(url))
    };
    let check = async |url: &str, timeouts: &str, expected: &str| {
        let text = server.text(&uri(url, timeouts)).await;
        assert!(text.starts_with(expected), "{timeouts} {url}: {text}");
    };
    let generous = "&connect=30000&first=30000&between=30000";
    check(&upstream.url("text/a"), generous, "ok: (200, \"a\")").await;
    check(
        &upstream.url("nothing"),
        "&first=100",
        "refused: ErrorCode::ConnectionReadTimeout",
    )
    .await;
    check(&upstream.url("part"), "&between=100", "refused: ").await;
    // The server accepts the connection and does not answer the TLS handshake.
    let tls = upstream.url("text/a").replace("http:", "https:");
    check(
        &tls,
        "&connect=100",
        "refused: ErrorCode::ConnectionTimeout",
    )
    .await;
}

#[tokio::test]
async fn a_guest_knows_the_time_that_is_left() {
    let server = TestServer::builder("sleep").start().await;
    let timeout = Limits::default().timeout.as_millis();
    let text = server.text("sleep://left/50").await;
    let (before, after) = text.split_once(' ').unwrap();
    let (before, after): (u128, u128) = (before.parse().unwrap(), after.parse().unwrap());
    assert!(
        before <= timeout && after >= 1 && after <= before - 50,
        "{text} of {timeout}"
    );
}
