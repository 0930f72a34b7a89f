//! Microbenchmarks of single layers, with real guests. `cargo xtask bench` runs them in addition to whole
//! servers.

#[path = "micro/allocators.rs"]
mod allocators;
#[path = "micro/bare.rs"]
mod bare;
#[path = "micro/breakdown.rs"]
mod breakdown;
#[path = "micro/compilation.rs"]
mod compilation;
#[path = "micro/requests.rs"]
mod requests;
#[path = "micro/schemas.rs"]
mod schemas;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{BatchSize, Criterion};
use http_body_util::{BodyExt as _, Full};
use larder_config::{self as config, Config};
use larder_core::catalog::{self, Catalog, Definitions, Offer, Reader, Writer};
use larder_core::gateway::{Gateway, TeamParts};
use larder_mcp::auth::Authenticator;
use larder_mcp::{Endpoint, EndpointParts};
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{Grant, GuestLifetime, Permit};
use larder_model::resource::{Details, Entry, Freshness, RenderCache, Scope, Template};
use larder_model::uri::Uri;
use larder_provider::{GrantSources, ProbeResult, ProviderParts, SignalSender, signal_channel};
use larder_runtime::drain::Drain;
use larder_runtime::history::EventLog;
use larder_runtime::memory_budget::MemoryBudget;
use larder_sandbox::provider::Provider;
use larder_sandbox::{CacheConfig, CacheLocation, CompiledComponent, Sandbox};
use larder_uri_template::UriTemplate;
use tokio::runtime::Runtime;

/// The same allocator as in the server.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

/// The defaults, with the cache of the benchmark.
fn config() -> Config {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config::without_file(folder.path(), &config::Overrides::default())
        .expect("the defaults hold");
    config.gateway.page_size.resources = 100;
    config.sandbox.compiler.program = env!("CARGO_BIN_EXE_larder").into();
    let location = CacheLocation::Configured(target().join("bench/scratch/cache"));
    config.sandbox.compiler.cache = CacheConfig {
        location,
        ..config.sandbox.compiler.cache
    };
    config
}

/// What a provider has beside its component.
fn provider_parts(
    name: ProviderName,
    grant: Grant,
    signals: SignalSender,
    drain: &Drain,
) -> ProviderParts {
    ProviderParts {
        name,
        team: TeamName::default_team(),
        grant: Arc::new(grant),
        grant_sources: GrantSources::default(),
        signals,
        quota_usage: None,
        key_value: None,
        drain: drain.clone(),
    }
}

/// What the benchmarks have in common.
struct Fixture {
    runtime: Runtime,
    config: Config,
    drain: Drain,
    sandbox: Arc<Sandbox>,
    guest: Bytes,
    compiled: Arc<CompiledComponent>,
    signals: SignalSender,
}

impl Fixture {
    fn new() -> Self {
        let runtime = Runtime::new().expect("threads");
        let (drain, config) = (Drain::new(), config());
        let sandbox = Arc::new(Sandbox::new(&config.sandbox, &drain).expect("a sandbox"));
        let guest = std::fs::read(target().join("guests/sized.wasm"))
            .expect("build it with `cargo xtask guests`");
        let guest = Bytes::from(guest);
        let compiled = runtime
            .block_on(sandbox.compile(&TeamName::default_team(), guest.clone()))
            .expect("a provider");
        let compiled = Arc::new(compiled);
        let (signals, _) = signal_channel();
        Self {
            runtime,
            config,
            drain,
            sandbox,
            guest,
            compiled,
            signals,
        }
    }

    fn provider(&self, name: &str, guests: GuestLifetime) -> Arc<dyn larder_provider::Provider> {
        let name = ProviderName::parse(name).expect("a name");
        let mut grant = Grant {
            guests,
            ..Grant::default()
        };
        grant.settings.insert("authority".into(), name.to_string());
        let parts = provider_parts(name, grant, self.signals.clone(), &self.drain);
        let compiled = self.compiled.clone();
        Arc::new(Provider::new(parts, compiled, self.sandbox.clone()))
    }

    fn offer(&self, name: &str, entries: Vec<Entry>, templates: Vec<Template>) -> Arc<Offer> {
        let probed = ProbeResult {
            title: None,
            version: None,
            summary: None,
            instructions: None,
            claims: vec![],
            entries,
            next_cursor: None,
            templates,
            tools: vec![],
            prompts: vec![],
            freshness: Freshness {
                ttl: Duration::from_secs(3600),
                scope: Scope::Everyone,
            },
            probed_at: Instant::now(),
            omitted: vec![],
            setting_problems: vec![],
        };
        Arc::new(Offer::new(
            self.provider(name, GuestLifetime::Fresh),
            probed,
            Definitions::default(),
            1,
            0,
        ))
    }

    /// Creates `providers` offers with `entries` entries in total.
    fn offers(&self, providers: usize, entries: usize) -> Vec<Arc<Offer>> {
        let part = entries / providers;
        let of = |provider: usize| {
            let entries = (0..part)
                .map(|n| entry(&format!("p{provider:04}"), n))
                .collect();
            self.offer(&format!("p{provider:04}"), entries, vec![])
        };
        (0..providers).map(of).collect()
    }

    fn catalog(&self, offers: Vec<Arc<Offer>>) -> (Writer, Reader) {
        let (mut writer, reader) =
            catalog::catalog(TeamName::default_team(), 1_000, EventLog::default());
        writer.publish(Catalog::new(offers, vec![], vec![]));
        (writer, reader)
    }

    /// Creates the endpoint and the gateway as `app` does.
    fn endpoint(&self, reader: &Reader) -> Endpoint {
        let config = self.config.endpoint.clone();
        let gate = Authenticator::new(
            config.auth.clone(),
            config.caller.clone(),
            self.drain.clone(),
        );
        let gateway = Gateway::new(
            self.config.gateway.clone(),
            [TeamParts::new(reader.clone(), self.signals.clone())],
            MemoryBudget::unlimited(),
        );
        let metrics = self.sandbox.metrics().clone();
        Endpoint::new(
            config,
            EndpointParts::new(gate, gateway, self.drain.clone(), metrics),
        )
    }
}

fn entry(authority: &str, number: usize) -> Entry {
    let uri = format!("sized://{authority}/collection/{number:07}");
    Entry {
        uri: Uri::parse(&uri).expect("a URI"),
        name: format!("document {number}"),
        title: Some(format!("Document number {number}")),
        description: Some("One of many that are listed, with a sentence about it.".into()),
        mime_type: Some("text/plain".into()),
        size: Some(1024),
        version: None,
        details: Details::default(),
        rendered: RenderCache::default(),
    }
}

fn template(number: usize) -> Template {
    let text = format!("library://section-{number:05}/{{book}}/{{page}}");
    Template {
        uri_template: UriTemplate::parse(&text).expect("a template"),
        name: format!("page of section {number}"),
        title: None,
        description: None,
        mime_type: None,
        details: Details::default(),
        rendered: RenderCache::default(),
    }
}

/// Creates a request of a client of the modern protocol era.
fn request(method: &str, uri: Option<&str>) -> http::Request<Full<Bytes>> {
    let mut params = serde_json::json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "micro", "version": "0.1.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let mut request = http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(uri) = uri {
        params["uri"] = uri.into();
        request = request.header("mcp-name", uri);
    }
    let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    request
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request")
}

/// Returns the body of the response. Checks the status, so that no benchmark measures error responses.
async fn respond(endpoint: &Endpoint, request: http::Request<Full<Bytes>>) -> Bytes {
    let response = endpoint.respond(request).await;
    assert_eq!(response.status(), 200);
    response
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes()
}

fn messages(c: &mut Criterion, fixture: &Fixture) {
    let (_writer, reader) = fixture.catalog(vec![fixture.offer("fresh", vec![], vec![])]);
    let endpoint = fixture.endpoint(&reader);
    let body = fixture
        .runtime
        .block_on(respond(&endpoint, request("server/discover", None)));
    assert!(
        body.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"),
        "{body:?}"
    );
    // Calls no provider: measures reading a request and writing a response.
    c.bench_function("message/read and write", |b| {
        b.to_async(&fixture.runtime).iter_batched(
            || request("server/discover", None),
            |request| respond(&endpoint, request),
            BatchSize::SmallInput,
        );
    });
}

fn templates(c: &mut Criterion, fixture: &Fixture) {
    for count in [10, 1_000, 10_000] {
        let offer = fixture.offer("library", vec![], (0..count).map(template).collect());
        let catalog = Catalog::new(vec![offer], vec![], vec![]);
        let uri = Uri::parse(&format!(
            "library://section-{:05}/dictionary/212",
            count / 2
        ))
        .expect("a URI");
        assert_eq!(catalog.by_template(&uri).len(), 1);
        c.bench_function(&format!("match/{count}"), |b| {
            b.iter(|| catalog.by_template(black_box(&uri)).len())
        });
    }
}

fn entries(c: &mut Criterion, fixture: &Fixture) {
    for count in [1_000, 1_000_000] {
        let catalog = Catalog::new(fixture.offers(1, count), vec![], vec![]);
        // Many different URIs, because a single one would stay in the CPU cache.
        let uris: Vec<Uri> = (0..512)
            .map(|n| entry("p0000", n * 7_919 % count).uri)
            .collect();
        assert!(
            uris.iter()
                .all(|uri| catalog.by_uri(uri.as_str()).is_some())
        );
        let mut at = 0;
        c.bench_function(&format!("find/{count}"), |b| {
            b.iter(|| {
                at = (at + 1) % uris.len();
                catalog.by_uri(black_box(uris[at].as_str())).is_some()
            });
        });
    }
}

fn pages(c: &mut Criterion, fixture: &Fixture) {
    for (providers, name) in [
        (1, "1 provider"),
        (100, "100 providers"),
        (1_000, "1000 providers"),
    ] {
        let (_writer, reader) = fixture.catalog(fixture.offers(providers, 10_000));
        let endpoint = fixture.endpoint(&reader);
        let body = fixture
            .runtime
            .block_on(respond(&endpoint, request("resources/list", None)));
        let page: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(
            page["result"]["resources"].as_array().map(Vec::len),
            Some(100)
        );
        c.bench_function(&format!("page of 100/{name}"), |b| {
            b.to_async(&fixture.runtime).iter_batched(
                || request("resources/list", None),
                |request| respond(&endpoint, request),
                BatchSize::SmallInput,
            );
        });
    }
}

fn swap(c: &mut Criterion, fixture: &Fixture) {
    let offers = fixture.offers(1_000, 10_000);
    let (mut writer, reader) = fixture.catalog(offers.clone());
    c.bench_function("swap/1000 providers", |b| {
        b.iter(|| writer.publish(Catalog::new(black_box(offers.clone()), vec![], vec![])));
    });
    assert_eq!(reader.snapshot().offers().len(), 1_000);
}

fn guests(c: &mut Criterion, fixture: &Fixture) {
    let each = [
        ("open, read and close a guest", GuestLifetime::Fresh),
        ("read from a reused guest", GuestLifetime::Reused),
    ];
    for (what, guests) in each {
        let provider = fixture.provider("sized", guests);
        for (name, bytes) in [("1 KiB", 1 << 10), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20)] {
            let uri = Uri::parse(&format!("sized://sized/text/{bytes}")).expect("a URI");
            c.bench_function(&format!("{what}/{name}"), |b| {
                b.to_async(&fixture.runtime).iter(|| async {
                    let reading = provider
                        .read(Permit::for_host(), &uri, None, None, Arc::new(|_| true))
                        .await;
                    let reading = reading.expect("a reading");
                    assert_eq!(reading.contents.len(), 1);
                });
            });
        }
    }
    c.bench_function("load/cached", |b| {
        let team = TeamName::default_team();
        b.to_async(&fixture.runtime)
            .iter(|| fixture.sandbox.compile(&team, fixture.guest.clone()));
    });
    let mut salt = std::process::id().wrapping_mul(1_000_003);
    c.benchmark_group("load")
        .sample_size(10)
        .bench_function("cold", |b| {
            b.to_async(&fixture.runtime).iter_batched(
                || {
                    salt = salt.wrapping_add(1);
                    salted(&fixture.guest, salt)
                },
                |component| async {
                    let compiled = fixture
                        .sandbox
                        .compile(&TeamName::default_team(), component)
                        .await;
                    compiled.expect("a provider").digest()
                },
                BatchSize::PerIteration,
            );
        });
}

/// Returns the component with an added custom section, so that its compiled code is not cached.
fn salted(component: &Bytes, salt: u32) -> Bytes {
    let mut bytes = component.to_vec();
    bytes.extend([0, 9, 4]);
    bytes.extend(b"salt");
    bytes.extend(salt.to_le_bytes());
    bytes.into()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, mode, guest] = &arguments[..]
        && command == "bare"
    {
        return bare::serve(mode, Path::new(guest));
    }
    if let [command, files @ ..] = &arguments[..]
        && command == "breakdown"
    {
        return breakdown::run(files);
    }
    if let [command, file] = &arguments[..]
        && command == "compile"
    {
        return compilation::run(Path::new(file));
    }
    let fixture = Fixture::new();
    let _inside = fixture.runtime.enter();
    let mut criterion = Criterion::default().configure_from_args();
    messages(&mut criterion, &fixture);
    templates(&mut criterion, &fixture);
    entries(&mut criterion, &fixture);
    pages(&mut criterion, &fixture);
    swap(&mut criterion, &fixture);
    guests(&mut criterion, &fixture);
    schemas::schemas(&mut criterion);
    requests::requests(&mut criterion, &fixture);
    allocators::allocators(&mut criterion, &fixture.runtime, &fixture.guest);
    criterion.final_summary();
}
