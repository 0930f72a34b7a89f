//! Traces, as a collector gets them from the real server.

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
use larder_runtime::metrics::{Metrics, PrometheusText};
use serde_json::{Value, json};

use crate::house::someone;
use crate::process::{Place, Running, http_client};
use crate::revision::until;
use crate::trace::{PARENT, mirror};
use crate::wire::{ACCEPT, JSON, MODERN, meta};

/// Takes what is sent to it, and answers with these words, then `200 OK`. It ends with the process.
#[derive(Clone)]
struct Receiver {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
    spans: Arc<Mutex<Vec<Value>>>,
}

impl Receiver {
    fn new(answers: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let receiver = Self { url, heads: Arc::default(), spans: Arc::default() };
        let (own, mut answers) = (receiver.clone(), VecDeque::from(answers.to_vec()));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut input = BufReader::new(&stream);
                let lines = (&mut input).lines().map_while(Result::ok);
                let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
                let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
                let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
                input.read_exact(&mut body).unwrap();
                let status = answers.pop_front().unwrap_or("200 OK");
                if status == "200 OK" {
                    own.spans.lock().unwrap().extend(spans(&serde_json::from_slice(&body).unwrap()));
                }
                own.heads.lock().unwrap().push(head.join("\n"));
                let rest =
                    "content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
                _ = (&stream).write_all(format!("HTTP/1.1 {status}\r\n{rest}").as_bytes());
            }
        });
        receiver
    }

    /// The spans of this name, by the time at which they began.
    fn named(&self, name: &str) -> Vec<Value> {
        let mut named: Vec<_> = self.spans.lock().unwrap().clone();
        named.retain(|span| span["name"] == name);
        named.sort_by_key(|span| span["startTimeUnixNano"].as_str().unwrap().parse::<u128>().unwrap());
        named
    }
}

/// The spans of one body, each with what its resource is called.
fn spans(body: &Value) -> Vec<Value> {
    let all = |json: &Value| json.as_array().unwrap().clone();
    let of_resource = all(&body["resourceSpans"]).into_iter().flat_map(|resource| {
        let of = attribute(&resource["resource"], "service.name");
        let scopes = all(&resource["scopeSpans"]).into_iter().flat_map(|scope| all(&scope["spans"]));
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

/// A server that sends its traces there.
fn serve(guests: &str, otlp: &str, more: &str) -> (Place, Running, String) {
    let config = format!("[telemetry]\notlp = \"{otlp}\"\nservice = \"pantry\"\n{more}");
    let place = Place::of(guests).file("larder.toml", &config);
    let (running, url) = place.serve("--config larder.toml");
    (place, running, url)
}

/// Reads as a client does, with this place in a trace, and gives what it is told.
async fn read(url: &str, uri: &str, parent: Option<&str>) -> String {
    let params = json!({ "uri": uri, "_meta": meta() });
    let body =
        json!({ "jsonrpc": "2.0", "id": "7\"", "method": "resources/read", "params": params }).to_string();
    let client = http_client();
    let mut request = client.post(url).body(body).timeout(Duration::from_secs(60));
    for (name, value) in [JSON, ACCEPT, MODERN, ("mcp-method", "resources/read"), ("mcp-name", uri)] {
        request = request.header(name, value);
    }
    if let Some(parent) = parent {
        request = request.header("traceparent", parent).header("tracestate", "vendor=1");
    }
    request.send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn a_request_and_its_call_are_spans_of_the_clients_trace() {
    let collector = Receiver::new(&[]);
    let port = mirror();
    let more = format!(
        "headers = {{ authorization = \"Bearer key\" }}\n[provider.net]\nhosts = [{{ host = \"http://127.0.0.1:{port}\", private = true }}]\n"
    );
    let (_place, running, url) = serve("echo net trap_nth", &collector.url, &more);
    let said = read(&url, "echo://hello", Some(PARENT)).await;
    let mirrored = read(&url, &format!("net://http-client/http://127.0.0.1:{port}/"), Some(PARENT)).await;
    read(&url, "trap://7", Some(PARENT)).await;
    running.signal("TERM");
    assert_eq!(running.end().code, Some(0));

    // What was recorded last is sent before the end.
    let (requests, calls) = (collector.named("resources/read"), collector.named("provider read"));
    assert_eq!((requests.len(), calls.len()), (3, 3), "{requests:#?} {calls:#?}");
    let (trace, client) = (&PARENT[3..35], &PARENT[36..52]);
    for (request, call) in requests.iter().zip(&calls) {
        assert_eq!((request["traceId"].as_str(), call["traceId"].as_str()), (Some(trace), Some(trace)));
        assert_eq!((request["parentSpanId"].as_str(), request["kind"].as_u64()), (Some(client), Some(2)));
        assert_eq!((&call["parentSpanId"], call["kind"].as_u64()), (&request["spanId"], Some(1)));
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
    assert_eq!((&requests[0]["status"], attribute(&requests[0], "error.type")), (&json!({}), Value::Null));
    // The provider, and whom it asks, are below its call.
    let below = |call: &Value| format!("00-{trace}-{}-01", call["spanId"].as_str().unwrap());
    assert!(said.contains(&below(&calls[0])), "{said}");
    assert!(!said.contains(client), "only one place is told: {said}");
    assert!(mirrored.contains(&format!("traceparent: {}", below(&calls[1]))), "{mirrored}");
    // What went wrong is said by words of ours.
    assert_eq!((attribute(&calls[2], "error.type"), &calls[2]["status"]["code"]), ("trap".into(), &json!(2)));
    assert_eq!(
        (attribute(&requests[2], "error.type"), &requests[2]["status"]["code"]),
        ("-32603".into(), &json!(2))
    );
    let heads = collector.heads.lock().unwrap();
    assert!(heads.iter().all(|head| head.starts_with("POST /v1/traces HTTP/1.1\n")), "{heads:?}");
    assert!(heads.iter().all(|head| head.contains("authorization: Bearer key")), "{heads:?}");
}

#[tokio::test]
async fn who_asks_decides_what_is_recorded_and_else_chance_does() {
    let collector = Receiver::new(&[]);
    let unsampled = PARENT.replace("-01", "-00");
    let (_place, running, url) = serve("echo", &collector.url, "");
    assert!(read(&url, "echo://hello", Some(&unsampled)).await.contains(&unsampled));
    read(&url, "echo://many", None).await;
    running.signal("TERM");
    assert_eq!(running.end().code, Some(0));
    let requests = collector.named("resources/read");
    let uris: Vec<_> = requests.iter().map(|span| attribute(span, "mcp.resource.uri")).collect();
    assert_eq!(uris, ["echo://many"]);
    assert_eq!(requests[0]["parentSpanId"], Value::Null, "a trace of its own");

    let collector = Receiver::new(&[]);
    let (_place, running, url) = serve("echo", &collector.url, "sample = 0.0\n");
    assert!(!read(&url, "echo://hello", None).await.contains("traceparent"));
    read(&url, "echo://many", Some(PARENT)).await;
    running.signal("TERM");
    assert_eq!(running.end().code, Some(0));
    let uris: Vec<_> =
        collector.named("resources/read").iter().map(|span| attribute(span, "mcp.resource.uri")).collect();
    assert_eq!(uris, ["echo://many"]);
}

#[tokio::test]
async fn a_collector_that_is_not_there_costs_no_answer_and_no_end() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // Nobody takes what stands in the queue of connections.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for (at, words) in [
        (gone, "cannot send spans to `telemetry.otlp`: they are retried, then dropped"),
        (silent.local_addr().unwrap(), "the collector did not accept the last spans in time lost="),
    ] {
        let (_place, running, url) = serve("echo", &format!("http://{at}"), "");
        for _ in 0..10 {
            assert!(read(&url, "echo://hello", Some(PARENT)).await.contains("uri: echo://hello"));
        }
        running.signal("TERM");
        let ended = running.end();
        assert!(ended.code == Some(0) && ended.err.contains(words), "{}", ended.err);
        assert!(ended.err.matches("cannot send spans").count() <= 1, "{}", ended.err);
    }
}

fn counted(metrics: &Metrics, outcome: &str) -> u64 {
    let mut text = PrometheusText::default();
    metrics.render(&mut text);
    let text = text.into_string();
    let key = format!("larder_spans_total{{outcome=\"{outcome}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&key)).unwrap().parse().unwrap()
}

fn open(url: &str, teams: &[TeamName]) -> (Telemetry, Metrics, Drain) {
    let headers = vec![("x-key".to_owned(), Secret::new("key"))];
    let collector = Collector { url: url.into(), headers, service: "pantry".into(), sample: 1.0 };
    let (metrics, drain) = (Metrics::default(), Drain::new());
    let teams = teams.iter().cloned();
    let telemetry = Telemetry::open(&Some(collector), teams, &metrics, &drain).unwrap();
    (telemetry, metrics, drain)
}

fn record(telemetry: &Telemetry) {
    record_for(telemetry, &TeamName::default_team());
}

fn record_for(telemetry: &Telemetry, team: &TeamName) {
    let caller: Caller = someone().caller.clone().unwrap();
    let caller = Caller { teams: Teams::from(team.clone()), ..caller };
    telemetry.start_request(&mut Call::from_caller(caller), "ping").expect("all are recorded").end(None);
}

#[tokio::test]
async fn what_became_of_each_span_is_counted() {
    let collector = Receiver::new(&["503 Service Unavailable", "200 OK", "400 Bad Request"]);
    let (telemetry, metrics, drain) = open(&collector.url, &[TeamName::default_team()]);
    record(&telemetry);
    until("it was sent again", async || counted(&metrics, "written") == 1).await;
    record(&telemetry);
    until("it was given up", async || counted(&metrics, "failed") == 1).await;
    record(&telemetry);
    assert!(drain.finish(Duration::from_secs(60)).await);
    assert_eq!((counted(&metrics, "written"), collector.named("ping").len()), (2, 2));
    assert_eq!((counted(&metrics, "failed"), counted(&metrics, "dropped")), (1, 0));
}

#[tokio::test]
async fn spans_that_nobody_takes_are_bounded() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (telemetry, metrics, drain) = open(&url, &[TeamName::default_team()]);
    for _ in 0..20_000 {
        record(&telemetry);
    }
    assert!(counted(&metrics, "dropped") > 10_000, "{}", counted(&metrics, "dropped"));
    assert!(drain.finish(Duration::from_secs(60)).await);
    record(&telemetry);
    let (dropped, failed) = (counted(&metrics, "dropped"), counted(&metrics, "failed"));
    assert_eq!((dropped + failed, counted(&metrics, "written")), (20_001, 0));
}

#[tokio::test]
async fn a_team_that_has_everything_recorded_leaves_room_for_the_others() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let [loud, quiet] = ["alpha", "beta"].map(|name| TeamName::parse(name).unwrap());
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (telemetry, metrics, drain) = open(&url, &[loud.clone(), quiet.clone()]);
    (0..10_000).for_each(|_| record_for(&telemetry, &loud));
    let dropped = counted(&metrics, "dropped");
    assert!(dropped > 5_000, "{dropped}");
    (0..1_000).for_each(|_| record_for(&telemetry, &quiet));
    assert_eq!(counted(&metrics, "dropped"), dropped);
    drain.finish(Duration::from_secs(60)).await;
}

#[tokio::test]
async fn what_is_no_trouble_is_no_error() {
    let collector = Receiver::new(&[]);
    let more = "[provider.moody]\ndirs = [{ host = \"mood\", guest = \"/mood\" }]\n";
    let config = format!("[telemetry]\notlp = \"{}\"\n{more}", collector.url);
    let place = Place::of("echo moody").file("larder.toml", &config);
    std::fs::create_dir(place.path("mood")).unwrap();
    let (running, url) = place.serve("--config larder.toml");
    read(&url, "echo://error/not-found", Some(PARENT)).await;
    // On a slow machine it is tried again in between, and set aside for twice as long.
    let mut n = 0;
    while !read(&url, &format!("moody://{n}"), Some(PARENT)).await.contains("circuit-open") {
        n += 1;
        assert!(n < 50, "it is asked for ever");
    }
    running.signal("TERM");
    assert_eq!(running.end().code, Some(0));
    let outcome = |span: &Value| {
        let text = |key| attribute(span, key).as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", text("larder.outcome"), text("error.type"), span["status"])
    };
    let calls: Vec<_> = collector.named("provider read").iter().map(outcome).collect();
    assert_eq!(calls[0], "not-found - {}");
    assert_eq!(calls[1], r#"trap trap {"code":2}"#);
    assert_eq!(calls[n + 1], r#"circuit-open circuit-open {"code":2}"#, "nobody went away");
    let request = &collector.named("resources/read")[0];
    assert_eq!((&request["status"], attribute(request, "error.type")), (&json!({}), Value::Null));
    assert_eq!(attribute(request, "rpc.response.status_code"), "-32602");
}

#[tokio::test]
async fn who_opens_a_session_or_listens_is_recorded_too() {
    let collector = Receiver::new(&[]);
    let (place, running, url) = serve("echo", &collector.url, "");
    place.larder(&format!("read echo://hello --protocol 2025-06-18 --url {url}")).yes();
    let watch = place.start(&format!("watch echo://hello --url {url}"));
    until("both are recorded", async || {
        ["initialize", "subscriptions/listen"].iter().all(|name| collector.named(name).len() == 1)
    })
    .await;
    let opened = &collector.named("initialize")[0];
    assert_eq!(attribute(opened, "mcp.protocol.version"), "2025-06-18");
    assert_eq!((&opened["status"], &opened["kind"]), (&json!({}), &json!(2)));
    drop(watch);
    running.signal("TERM");
    assert_eq!(running.end().code, Some(0));
}
