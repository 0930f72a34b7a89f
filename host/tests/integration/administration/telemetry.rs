//! Traces that a collector receives from the real server.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use larder_core::telemetry::{Collector, Telemetry};
use larder_model::name::{TeamName, Teams};
use larder_model::policy::Secret;
use larder_model::resource::{Call, Caller};
use larder_runtime::drain::Drain;
use larder_runtime::ledger::SeveralTeams;
use larder_runtime::metrics::{Metrics, TextFormat};
use larder_runtime::shares::{ShareLimits, Shares};
use serde_json::{Value, json};

use crate::protocol::trace_context::{PARENT, echo_server};
use crate::support::harness::{SLOW_WAIT, anonymous_call, eventually_within};
use crate::support::http_server::{ACCEPT, JSON, MODERN, meta};
use crate::support::process::{RunningProcess, WorkDir, http_client};

/// A trace collector. It answers with the given statuses, then with `200 OK`, and runs until the process
/// ends.
#[derive(Clone)]
struct TestCollector {
    url: String,
    request_heads: Arc<Mutex<Vec<String>>>,
    spans: Arc<Mutex<Vec<Value>>>,
}

impl TestCollector {
    fn new(statuses: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let collector = Self {
            url,
            request_heads: Arc::default(),
            spans: Arc::default(),
        };
        let (own, mut statuses) = (collector.clone(), VecDeque::from(statuses.to_vec()));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut input = BufReader::new(&stream);
                let lines = (&mut input).lines().map_while(Result::ok);
                let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
                let length = head
                    .iter()
                    .find_map(|line| line.strip_prefix("content-length: "));
                let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
                input.read_exact(&mut body).unwrap();
                let status = statuses.pop_front().unwrap_or("200 OK");
                if status == "200 OK" {
                    own.spans
                        .lock()
                        .unwrap()
                        .extend(spans(&serde_json::from_slice(&body).unwrap()));
                }
                own.request_heads.lock().unwrap().push(head.join("\n"));
                let rest = "content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
                _ = (&stream).write_all(format!("HTTP/1.1 {status}\r\n{rest}").as_bytes());
            }
        });
        collector
    }

    /// The spans of this name, in the order of their start times.
    fn named(&self, name: &str) -> Vec<Value> {
        let mut named: Vec<_> = self.spans.lock().unwrap().clone();
        named.retain(|span| span["name"] == name);
        named.sort_by_key(|span| {
            span["startTimeUnixNano"]
                .as_str()
                .unwrap()
                .parse::<u128>()
                .unwrap()
        });
        named
    }
}

/// Returns the spans of a request body, each with the `service.name` of its resource.
fn spans(body: &Value) -> Vec<Value> {
    let all = |json: &Value| json.as_array().unwrap().clone();
    let of_resource = all(&body["resourceSpans"])
        .into_iter()
        .flat_map(|resource| {
            let of = attribute(&resource["resource"], "service.name");
            let scopes = all(&resource["scopeSpans"])
                .into_iter()
                .flat_map(|scope| all(&scope["spans"]));
            scopes.collect::<Vec<_>>().into_iter().map(move |mut span| {
                span["service"] = of.clone();
                span
            })
        });
    of_resource.collect()
}

fn attribute(of: &Value, key: &str) -> Value {
    let all = of["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key);
    found.map_or(Value::Null, |found| found["value"]["stringValue"].clone())
}

/// Starts a server that sends its traces to the URL `otlp`.
fn serve(guests: &str, otlp: &str, more_config: &str) -> (WorkDir, RunningProcess, String) {
    let config = format!("[telemetry]\notlp = \"{otlp}\"\nservice = \"pantry\"\n{more_config}");
    let work_dir = WorkDir::with_guests(guests).file("larder.toml", &config);
    let (running, url) = work_dir.serve("--config larder.toml");
    (work_dir, running, url)
}

/// Reads a URI as a client whose trace context is `parent`. Returns the body of the response.
async fn read(url: &str, uri: &str, parent: Option<&str>) -> String {
    let params = json!({ "uri": uri, "_meta": meta() });
    let body =
        json!({ "jsonrpc": "2.0", "id": "7\"", "method": "resources/read", "params": params })
            .to_string();
    let client = http_client();
    let mut request = client.post(url).body(body).timeout(Duration::from_secs(60));
    for (name, value) in [
        JSON,
        ACCEPT,
        MODERN,
        ("mcp-method", "resources/read"),
        ("mcp-name", uri),
    ] {
        request = request.header(name, value);
    }
    if let Some(parent) = parent {
        request = request
            .header("traceparent", parent)
            .header("tracestate", "vendor=1");
    }
    request.send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn records_the_request_and_the_call_in_the_clients_trace() {
    let collector = TestCollector::new(&[]);
    let port = echo_server();
    let more = format!(
        "headers = {{ authorization = \"Bearer key\" }}\n[provider.net]\nhosts = [{{ host = \"http://127.0.0.1:{port}\", private = true }}]\n"
    );
    let (_place, running, url) = serve("echo net trap_nth", &collector.url, &more);
    let response = read(&url, "echo://hello", Some(PARENT)).await;
    let outgoing = read(
        &url,
        &format!("net://http-client/http://127.0.0.1:{port}/"),
        Some(PARENT),
    )
    .await;
    read(&url, "trap://7", Some(PARENT)).await;
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));

    // The last spans are sent before the server exits.
    let (requests, calls) = (
        collector.named("resources/read"),
        collector.named("provider read"),
    );
    assert_eq!(
        (requests.len(), calls.len()),
        (3, 3),
        "{requests:#?} {calls:#?}"
    );
    let (trace, client) = (&PARENT[3..35], &PARENT[36..52]);
    for (request, call) in requests.iter().zip(&calls) {
        assert_eq!(
            (request["traceId"].as_str(), call["traceId"].as_str()),
            (Some(trace), Some(trace))
        );
        assert_eq!(
            (request["parentSpanId"].as_str(), request["kind"].as_u64()),
            (Some(client), Some(2))
        );
        assert_eq!(
            (&call["parentSpanId"], call["kind"].as_u64()),
            (&request["spanId"], Some(1))
        );
        assert_ne!(call["spanId"], request["spanId"]);
        assert_eq!(
            (request["traceState"].as_str(), request["service"].as_str()),
            (Some("vendor=1"), Some("pantry"))
        );
        let at = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
        assert!(at(request, "startTimeUnixNano") <= at(call, "startTimeUnixNano"));
        assert!(at(call, "startTimeUnixNano") < at(call, "endTimeUnixNano"));
        assert!(at(call, "endTimeUnixNano") <= at(request, "endTimeUnixNano"));
        assert_eq!(attribute(request, "mcp.method.name"), "resources/read");
        assert_eq!(attribute(request, "jsonrpc.request.id"), "7\"");
    }
    assert_eq!(attribute(&requests[0], "mcp.resource.uri"), "echo://hello");
    assert_eq!(attribute(&calls[0], "larder.provider"), "echo");
    assert_eq!(
        (
            &requests[0]["status"],
            attribute(&requests[0], "error.type")
        ),
        (&json!({}), Value::Null)
    );
    // The spans of the provider and of the requests that it sends are children of the span of the call.
    let child_of = |call: &Value| format!("00-{trace}-{}-01", call["spanId"].as_str().unwrap());
    assert!(response.contains(&child_of(&calls[0])), "{response}");
    assert!(
        !response.contains(client),
        "only the parent span is passed on: {response}"
    );
    assert!(
        outgoing.contains(&format!("traceparent: {}", child_of(&calls[1]))),
        "{outgoing}"
    );
    // Errors are recorded with the host's own names.
    assert_eq!(
        (
            attribute(&calls[2], "error.type"),
            &calls[2]["status"]["code"]
        ),
        ("trap".into(), &json!(2))
    );
    assert_eq!(
        (
            attribute(&requests[2], "error.type"),
            &requests[2]["status"]["code"]
        ),
        ("-32603".into(), &json!(2))
    );
    let request_heads = collector.request_heads.lock().unwrap();
    assert!(
        request_heads
            .iter()
            .all(|head| head.starts_with("POST /v1/traces HTTP/1.1\n")),
        "{request_heads:?}"
    );
    assert!(
        request_heads
            .iter()
            .all(|head| head.contains("authorization: Bearer key")),
        "{request_heads:?}"
    );
}

#[tokio::test]
async fn the_client_decides_on_sampling_or_the_configured_rate_does() {
    let collector = TestCollector::new(&[]);
    let unsampled = PARENT.replace("-01", "-00");
    let (_place, running, url) = serve("echo", &collector.url, "");
    assert!(
        read(&url, "echo://hello", Some(&unsampled))
            .await
            .contains(&unsampled)
    );
    read(&url, "echo://many", None).await;
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let requests = collector.named("resources/read");
    let uris: Vec<_> = requests
        .iter()
        .map(|span| attribute(span, "mcp.resource.uri"))
        .collect();
    assert_eq!(uris, ["echo://many"]);
    assert_eq!(
        requests[0]["parentSpanId"],
        Value::Null,
        "the request starts a trace"
    );

    let collector = TestCollector::new(&[]);
    let (_place, running, url) = serve("echo", &collector.url, "sample = 0.0\n");
    assert!(
        !read(&url, "echo://hello", None)
            .await
            .contains("traceparent")
    );
    read(&url, "echo://many", Some(PARENT)).await;
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let uris: Vec<_> = collector
        .named("resources/read")
        .iter()
        .map(|span| attribute(span, "mcp.resource.uri"))
        .collect();
    assert_eq!(uris, ["echo://many"]);
}

#[tokio::test]
async fn serves_and_exits_without_a_reachable_collector() {
    let unreachable = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    // The connections to this listener are never accepted.
    let unresponsive = TcpListener::bind("127.0.0.1:0").unwrap();
    for (at, log_text) in [
        (
            unreachable,
            "cannot send spans to `telemetry.otlp`: they are retried, then dropped",
        ),
        (
            unresponsive.local_addr().unwrap(),
            "the collector did not accept the last spans in time lost=",
        ),
    ] {
        let (_place, running, url) = serve("echo", &format!("http://{at}"), "");
        for _ in 0..10 {
            assert!(
                read(&url, "echo://hello", Some(PARENT))
                    .await
                    .contains("uri: echo://hello")
            );
        }
        running.signal("TERM");
        let ended = running.wait();
        assert!(
            ended.code == Some(0) && ended.stderr.contains(log_text),
            "{}",
            ended.stderr
        );
        assert!(
            ended.stderr.matches("cannot send spans").count() <= 1,
            "{}",
            ended.stderr
        );
    }
}

fn span_count(metrics: &Metrics, outcome: &str) -> u64 {
    let text = metrics.encode(TextFormat::Prometheus, None).unwrap();
    let key = format!("larder_spans_total{{outcome=\"{outcome}\"}} ");
    text.lines()
        .find_map(|line| line.strip_prefix(&key))
        .unwrap()
        .parse()
        .unwrap()
}

fn open(url: &str, teams: &[TeamName]) -> (Telemetry, Metrics, Drain) {
    let headers = vec![("x-key".to_owned(), Secret::new("key"))];
    let collector = Collector {
        url: url.into(),
        headers,
        service: "pantry".into(),
        sample: 1.0,
    };
    let (metrics, drain) = (Metrics::default(), Drain::new());
    let several_teams = SeveralTeams::default();
    several_teams.set_team_count(teams.len());
    let teams = Shares::new(ShareLimits::default(), &several_teams).teams(teams);
    let telemetry = Telemetry::open(&Some(collector), teams, &metrics, &drain).unwrap();
    (telemetry, metrics, drain)
}

fn record_span(telemetry: &Telemetry) {
    record_span_for(telemetry, &TeamName::default_team());
}

fn record_span_for(telemetry: &Telemetry, team: &TeamName) {
    let caller: Caller = anonymous_call().caller.clone().unwrap();
    let caller = Caller {
        teams: Teams::from(team.clone()),
        ..caller
    };
    telemetry
        .start_request(&mut Call::from_caller(caller), "ping")
        .expect("every request is recorded")
        .end(None);
}

#[tokio::test]
async fn counts_written_failed_and_dropped_spans() {
    let collector = TestCollector::new(&["503 Service Unavailable", "200 OK", "400 Bad Request"]);
    let (telemetry, metrics, drain) = open(&collector.url, &[TeamName::default_team()]);
    record_span(&telemetry);
    eventually_within(SLOW_WAIT, "the spans are sent again", async || {
        span_count(&metrics, "written") == 1
    })
    .await;
    record_span(&telemetry);
    eventually_within(SLOW_WAIT, "sending the spans fails", async || {
        span_count(&metrics, "failed") == 1
    })
    .await;
    record_span(&telemetry);
    assert!(drain.finish(Duration::from_secs(60)).await);
    assert_eq!(
        (
            span_count(&metrics, "written"),
            collector.named("ping").len()
        ),
        (2, 2)
    );
    assert_eq!(
        (
            span_count(&metrics, "failed"),
            span_count(&metrics, "dropped")
        ),
        (1, 0)
    );
}

#[tokio::test]
async fn limits_the_number_of_queued_spans() {
    let unresponsive = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", unresponsive.local_addr().unwrap());
    let (telemetry, metrics, drain) = open(&url, &[TeamName::default_team()]);
    for _ in 0..20_000 {
        record_span(&telemetry);
    }
    assert!(
        span_count(&metrics, "dropped") > 10_000,
        "{}",
        span_count(&metrics, "dropped")
    );
    assert!(drain.finish(Duration::from_secs(60)).await);
    record_span(&telemetry);
    let (dropped, failed) = (
        span_count(&metrics, "dropped"),
        span_count(&metrics, "failed"),
    );
    assert_eq!(
        (dropped + failed, span_count(&metrics, "written")),
        (20_001, 0)
    );
}

#[tokio::test]
async fn one_team_cannot_use_the_whole_span_queue() {
    let unresponsive = TcpListener::bind("127.0.0.1:0").unwrap();
    let [busy, quiet] = ["alpha", "beta"].map(|name| TeamName::parse(name).unwrap());
    let url = format!("http://{}", unresponsive.local_addr().unwrap());
    let (telemetry, metrics, drain) = open(&url, &[busy.clone(), quiet.clone()]);
    (0..10_000).for_each(|_| record_span_for(&telemetry, &busy));
    let dropped = span_count(&metrics, "dropped");
    assert!(dropped > 5_000, "{dropped}");
    (0..1_000).for_each(|_| record_span_for(&telemetry, &quiet));
    assert_eq!(span_count(&metrics, "dropped"), dropped);
    drain.finish(Duration::from_secs(60)).await;
}

#[tokio::test]
async fn expected_errors_are_not_span_errors() {
    let collector = TestCollector::new(&[]);
    let more = "[provider.trap_reads]\ndirs = [{ host = \"mood\", guest = \"/mood\" }]\n";
    let config = format!("[telemetry]\notlp = \"{}\"\n{more}", collector.url);
    let work_dir = WorkDir::with_guests("echo trap_reads").file("larder.toml", &config);
    std::fs::create_dir(work_dir.path("mood")).unwrap();
    let (running, url) = work_dir.serve("--config larder.toml");
    read(&url, "echo://error/not-found", Some(PARENT)).await;
    // On a slow machine the circuit may close in between. Then it opens again for twice as long.
    let mut n = 0;
    while !read(&url, &format!("trap-reads://{n}"), Some(PARENT))
        .await
        .contains("circuit-open")
    {
        n += 1;
        assert!(n < 50, "the circuit does not open");
    }
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let outcome = |span: &Value| {
        let text = |key| attribute(span, key).as_str().unwrap_or("-").to_owned();
        format!(
            "{} {} {}",
            text("larder.outcome"),
            text("error.type"),
            span["status"]
        )
    };
    let calls: Vec<_> = collector
        .named("provider read")
        .iter()
        .map(outcome)
        .collect();
    assert_eq!(calls[0], "not-found - {}");
    assert_eq!(calls[1], r#"trap trap {"code":2}"#);
    assert_eq!(
        calls[n + 1],
        r#"circuit-open circuit-open {"code":2}"#,
        "the client is still connected"
    );
    let request = &collector.named("resources/read")[0];
    assert_eq!(
        (&request["status"], attribute(request, "error.type")),
        (&json!({}), Value::Null)
    );
    assert_eq!(attribute(request, "rpc.response.status_code"), "-32602");
}

#[tokio::test]
async fn records_initialize_and_listen() {
    let collector = TestCollector::new(&[]);
    let (work_dir, running, url) = serve("echo", &collector.url, "");
    work_dir
        .larder(&format!(
            "read echo://hello --protocol 2025-06-18 --url {url}"
        ))
        .expect_success();
    let watch = work_dir.start(&format!("watch echo://hello --url {url}"));
    eventually_within(SLOW_WAIT, "both requests are recorded", async || {
        ["initialize", "subscriptions/listen"]
            .iter()
            .all(|name| collector.named(name).len() == 1)
    })
    .await;
    let opened = &collector.named("initialize")[0];
    assert_eq!(attribute(opened, "mcp.protocol.version"), "2025-06-18");
    assert_eq!(
        (&opened["status"], &opened["kind"]),
        (&json!({}), &json!(2))
    );
    drop(watch);
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
}
