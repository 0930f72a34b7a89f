//! What a server costs beside its answers: memory for each provider, time to start, time until a change is seen.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::load;
use crate::process::Server;
use crate::scene::{Places, Role};
use crate::wire;

/// Nothing that is waited for here takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// After this time nothing counts as just written.
const REST: Duration = Duration::from_secs(3);

/// What one server costs.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    /// Bytes for each idle Rust provider, beyond compiled code.
    pub(crate) idle: f64,
    /// Milliseconds from the start of the process to its first answer.
    pub(crate) empty: Vec<f64>,
    /// The same with ten providers, one of them in Python and one in JavaScript.
    pub(crate) ten: Vec<f64>,
    /// Milliseconds from a component's replacement to its first new answer.
    pub(crate) change: Vec<f64>,
    /// Bytes of that component.
    pub(crate) changed: usize,
}

pub(crate) fn measure(places: &Places, large: Option<&Path>, quick: bool) -> Result<Life> {
    let times = if quick { 7 } else { 21 };
    // Of a few, the 95th percentile would be the slowest.
    let changes = if quick { 25 } else { 60 };
    eprintln!("memory of idle providers");
    let idle = idle(places, if quick { 50 } else { 200 })?;
    eprintln!("time to start");
    let (empty, ten) = (places.scene("empty", &[])?, ten(places)?);
    // Once for the cache, and once when that is at rest: then it is known what need not be read again.
    start(places, &ten, 10)?;
    std::thread::sleep(REST);
    start(places, &ten, 10)?;
    let (mut of_empty, mut of_ten) = (vec![], vec![]);
    for _ in 0..times {
        of_empty.push(start(places, &empty, 0)?);
        of_ten.push(start(places, &ten, 10)?);
    }
    eprintln!("time until a change is seen");
    let component = match large {
        Some(file) => fs::read(file).with_context(|| file.display().to_string())?,
        None => places.guest("revision")?,
    };
    let (changed, change) = (component.len(), change(places, component, changes)?);
    Ok(Life { idle, empty: of_empty, ten: of_ten, change, changed })
}

/// Providers with which the engine's slots are warm: they are everybody's, and their memory is no provider's.
const SLOTS: usize = 80;

/// Between so many providers and more, each called once.
fn idle(places: &Places, many: usize) -> Result<f64> {
    let used = |count: usize| -> Result<u64> {
        let roles: Vec<Role> =
            (0..count).map(|n| places.sized(&format!("p{n}"), "")).collect::<Result<_>>()?;
        let server = places.serve(&places.scene("idle", &roles)?)?;
        for n in 0..count {
            let uri = format!("sized://p{n}/text/1024");
            let (status, _, body) =
                load::once(server.address, &wire::modern(server.address, "resources/read", Some(&uri)))?;
            ensure!(status == 200, "{uri}: {}", String::from_utf8_lossy(&body));
        }
        server.anonymous()
    };
    let (few, more) = (used(SLOTS)?, used(SLOTS + many)?);
    Ok(more.saturating_sub(few) as f64 / many as f64)
}

fn ten(places: &Places) -> Result<std::path::PathBuf> {
    let mut roles: Vec<Role> = (0..8).map(|n| places.sized(&format!("p{n}"), "")).collect::<Result<_>>()?;
    for language in ["python", "javascript"] {
        let component = places.example(language)?;
        roles.push(Role { name: language.into(), component, settings: String::new() });
    }
    places.scene("ten", &roles)
}

/// Milliseconds to an answer that shows all that there is: the first answer comes when all providers are probed.
fn start(places: &Places, scene: &Path, providers: usize) -> Result<f64> {
    let began = Instant::now();
    let server = places.serve(scene)?;
    let list = wire::modern(server.address, "resources/list", None);
    let (status, _, body) = load::once(server.address, &list)?;
    let took = began.elapsed();
    let body = String::from_utf8_lossy(&body);
    let shown =
        if providers == 0 { true } else { body.contains("changelog://") && body.contains("sized://p7/") };
    ensure!(status == 200 && shown, "the first list is not whole: {body}");
    Ok(took.as_secs_f64() * 1e3)
}

/// One server, one component that is replaced again and again by one with another text in it.
fn change(places: &Places, component: Vec<u8>, times: usize) -> Result<Vec<f64>> {
    let first = component.clone();
    let role = Role { name: "revision".into(), component: first, settings: String::new() };
    let scene = places.scene("change", &[role])?;
    let server = places.serve(&scene)?;
    wait_for(&server, "revision-00000000")?;
    // No two runs may find what the other compiled.
    let salt = std::process::id() % 9_000 + 1_000;
    (0..times)
        .map(|n| {
            let revision = format!("revision-{salt:04}{n:04}");
            let changed = replaced(&component, b"revision-00000000", revision.as_bytes())?;
            let (new, file) = (scene.join("new"), scene.join("plugins/revision.wasm"));
            fs::write(&new, changed)?;
            let began = Instant::now();
            fs::rename(&new, &file)?;
            wait_for(&server, &revision)?;
            Ok(began.elapsed().as_secs_f64() * 1e3)
        })
        .collect()
}

fn wait_for(server: &Server, text: &str) -> Result<()> {
    let read = wire::modern(server.address, "resources/read", Some("revision://now"));
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let (_, _, body) = load::once(server.address, &read)?;
        if memchr::memmem::find(&body, text.as_bytes()).is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    bail!("`{text}` was not served within {PATIENCE:?}")
}

fn replaced(component: &[u8], old: &[u8], new: &[u8]) -> Result<Vec<u8>> {
    ensure!(old.len() == new.len(), "a text of the same length is needed");
    let mut changed = component.to_vec();
    let places: Vec<usize> = memchr::memmem::find_iter(component, old).collect();
    ensure!(!places.is_empty(), "the component has no revision in it");
    for at in places {
        changed[at..at + new.len()].copy_from_slice(new);
    }
    Ok(changed)
}
