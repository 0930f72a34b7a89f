//! Measures memory per provider, startup time, and the time until a changed component is served.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::load;
use crate::process::Server;
use crate::setup::{ProviderSetup, Setup};
use crate::wire;

/// Longer than all waits of this measurement.
const TIMEOUT: Duration = Duration::from_secs(60);

/// After this time, the server does not treat a file as recently modified any more.
const SETTLE: Duration = Duration::from_secs(3);

/// The results for one server.
#[derive(Debug, Clone)]
pub(crate) struct Lifecycle {
    /// Bytes per idle Rust provider, without compiled code.
    pub(crate) idle_bytes: f64,
    /// Milliseconds from the start of the process to its first response, without providers.
    pub(crate) start_empty_ms: Vec<f64>,
    /// Like `start_empty_ms`, with ten providers. One of them is in Python and one in JavaScript.
    pub(crate) start_ten_ms: Vec<f64>,
    /// Milliseconds from the replacement of a component to its first new response.
    pub(crate) reload_ms: Vec<f64>,
    /// Size of the replaced component in bytes.
    pub(crate) component_bytes: usize,
}

pub(crate) fn measure(setup: &Setup, large: Option<&Path>, quick: bool) -> Result<Lifecycle> {
    let starts = if quick { 7 } else { 21 };
    // With only a few samples, the 95th percentile would be the maximum.
    let reloads = if quick { 25 } else { 60 };
    eprintln!("measuring the memory of idle providers");
    let idle_bytes = idle_bytes(setup, if quick { 50 } else { 200 })?;
    eprintln!("measuring startup time");
    let (empty, ten) = (setup.server_dir("empty", &[])?, ten_providers(setup)?);
    // The first start fills the cache. The second start, after the files have settled, records which files do not have
    // to be read again.
    start_ms(setup, &ten, 10)?;
    std::thread::sleep(SETTLE);
    start_ms(setup, &ten, 10)?;
    let (mut start_empty_ms, mut start_ten_ms) = (vec![], vec![]);
    for _ in 0..starts {
        start_empty_ms.push(start_ms(setup, &empty, 0)?);
        start_ten_ms.push(start_ms(setup, &ten, 10)?);
    }
    eprintln!("measuring reload time");
    let component = match large {
        Some(file) => fs::read(file).with_context(|| file.display().to_string())?,
        None => setup.guest("revision")?,
    };
    let (component_bytes, reload_ms) = (component.len(), reload_ms(setup, component, reloads)?);
    Ok(Lifecycle {
        idle_bytes,
        start_empty_ms,
        start_ten_ms,
        reload_ms,
        component_bytes,
    })
}

/// Enough providers to touch all pooled instance slots of the engine. The slots are shared, so their memory
/// must not be attributed to a provider.
const WARMUP_PROVIDERS: usize = 80;

/// The memory difference per provider between a server with the warm-up providers and a server with `additional` more
/// providers. Each provider is called once.
fn idle_bytes(setup: &Setup, additional: usize) -> Result<f64> {
    let used = |count: usize| -> Result<u64> {
        let providers: Vec<ProviderSetup> = (0..count)
            .map(|n| distinct_provider(setup, n))
            .collect::<Result<_>>()?;
        let server = setup.start(&setup.server_dir("idle", &providers)?)?;
        for n in 0..count {
            let uri = format!("sized://p{n}/text/1024");
            let (status, _, body) = load::once(
                server.address,
                &wire::modern(server.address, "resources/read", Some(&uri)),
            )?;
            ensure!(status == 200, "{uri}: {}", String::from_utf8_lossy(&body));
        }
        server.anonymous_memory()
    };
    let (before, after) = (
        used(WARMUP_PROVIDERS)?,
        used(WARMUP_PROVIDERS + additional)?,
    );
    Ok(after.saturating_sub(before) as f64 / additional as f64)
}

/// A provider whose component differs from other components in a custom section, because providers with the same
/// component share most of their memory.
fn distinct_provider(setup: &Setup, number: usize) -> Result<ProviderSetup> {
    let mut provider = setup.sized_provider(&format!("p{number}"), "")?;
    provider.component.extend([0, 7, 2]);
    provider.component.extend(b"no");
    provider
        .component
        .extend(u32::try_from(number)?.to_le_bytes());
    Ok(provider)
}

fn ten_providers(setup: &Setup) -> Result<std::path::PathBuf> {
    let mut providers: Vec<ProviderSetup> = (0..8)
        .map(|n| setup.sized_provider(&format!("p{n}"), ""))
        .collect::<Result<_>>()?;
    for language in ["python", "javascript"] {
        let component = setup.example(language)?;
        providers.push(ProviderSetup {
            name: language.into(),
            component,
            config: String::new(),
        });
    }
    setup.server_dir("ten", &providers)
}

/// Milliseconds from the start of the process to a complete list. The server responds to the first list
/// request when all providers have been probed.
fn start_ms(setup: &Setup, dir: &Path, providers: usize) -> Result<f64> {
    let start = Instant::now();
    let server = setup.start(dir)?;
    let list = wire::modern(server.address, "resources/list", None);
    let (status, _, body) = load::once(server.address, &list)?;
    let took = start.elapsed();
    let body = String::from_utf8_lossy(&body);
    let is_complete =
        providers == 0 || body.contains("changelog://") && body.contains("sized://p7/");
    ensure!(
        status == 200 && is_complete,
        "the first list is incomplete: {body}"
    );
    Ok(took.as_secs_f64() * 1e3)
}

/// Replaces one component of a running server repeatedly, each time with a different revision in its text.
fn reload_ms(setup: &Setup, component: Vec<u8>, times: usize) -> Result<Vec<f64>> {
    let first = component.clone();
    let provider = ProviderSetup {
        name: "revision".into(),
        component: first,
        config: String::new(),
    };
    let dir = setup.server_dir("change", &[provider])?;
    let server = setup.start(&dir)?;
    wait_for(&server, "revision-00000000")?;
    // A run must not find components in the cache that an earlier run compiled.
    let salt = std::process::id() % 9_000 + 1_000;
    (0..times)
        .map(|n| {
            let revision = format!("revision-{salt:04}{n:04}");
            let changed = replace_bytes(&component, b"revision-00000000", revision.as_bytes())?;
            let (new, file) = (dir.join("new"), dir.join("plugins/revision.wasm"));
            fs::write(&new, changed)?;
            let start = Instant::now();
            fs::rename(&new, &file)?;
            wait_for(&server, &revision)?;
            Ok(start.elapsed().as_secs_f64() * 1e3)
        })
        .collect()
}

fn wait_for(server: &Server, text: &str) -> Result<()> {
    let read = wire::modern(server.address, "resources/read", Some("revision://now"));
    let start = Instant::now();
    while start.elapsed() < TIMEOUT {
        let (_, _, body) = load::once(server.address, &read)?;
        if memchr::memmem::find(&body, text.as_bytes()).is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    bail!("`{text}` was not served within {TIMEOUT:?}")
}

fn replace_bytes(component: &[u8], old: &[u8], new: &[u8]) -> Result<Vec<u8>> {
    ensure!(
        old.len() == new.len(),
        "the replacement must have the same length"
    );
    let mut changed = component.to_vec();
    let positions: Vec<usize> = memchr::memmem::find_iter(component, old).collect();
    ensure!(
        !positions.is_empty(),
        "the component does not contain a revision"
    );
    for position in positions {
        changed[position..position + new.len()].copy_from_slice(new);
    }
    Ok(changed)
}
