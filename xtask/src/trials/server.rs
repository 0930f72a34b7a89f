//! Runs a trial provider in a server with default limits: loads it, checks its responses, replaces it during
//! continuous reads, and restarts the server.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::Language;
use super::web::{self, WebServer};
use crate::languages::with_tools;
use crate::packaging::get;
use crate::run::{Output, command, larder};
use crate::server::RunningServer;

/// Longer than compiling the slowest component takes on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The end of a text of two megabytes. Reading it must be possible within the limits.
const LAST_LINE: &str = "grüße zum schluss";

/// Requested path, whether the read succeeds, and a part of the content or of the error message.
const CASES: [(&str, bool, &str); 13] = [
    ("revision", true, "first"),
    ("http", true, web::BODY),
    ("elsewhere", false, "is not granted; its operator can allow it with `hosts = "),
    ("stores", true, "a,b 3 false true false 0"),
    ("stores-own", false, "it needs the grant `key_value = ["),
    ("long", true, LAST_LINE),
    ("/a/b%20c", true, "a/b c"),
    ("garbled", false, "no caf"),
    ("raises", false, "no such luck"),
    ("ends", false, "the provider `trial` failed: it "),
    ("eats", false, "memory"),
    ("spins", false, "the provider `trial` failed: it "),
    ("nothing", false, "Resource not found"),
];

/// What was tested.
pub(super) struct Tested {
    pub(super) cases: usize,
    /// How long `larder dev` took from a save to the first response of the new revision.
    pub(super) development: Option<Duration>,
}

/// Checks all cases with the first build and then replaces it with the second one. Then checks them with `larder dev`,
/// where it loads the program into a development component.
pub(super) fn run(output: &Output, dir: &Path, builds: &[PathBuf; 2], language: &Language) -> Result<Tested> {
    let (web, elsewhere) = (WebServer::start()?, WebServer::start()?);
    let plugins = dir.join("plugins");
    fs::create_dir_all(&plugins)?;
    fs::create_dir_all(dir.join("folder"))?;
    let lines = (0..).map(|line| format!("{line}: schöne Grüße\n")).take(95_000);
    fs::write(dir.join("folder/long.txt"), lines.collect::<String>() + LAST_LINE)?;
    let config = dir.join("larder.toml");
    // All limits are defaults except the CPU time, to make the test faster, and the timeout, because a long file that is
    // read in small parts takes long on a busy machine.
    let text = format!(
        "plugins = \"plugins\"\nstate_dir = \"state\"\n[admin]\nlisten = \"off\"\n[compiler]\ncache_dir = \"cache\"\n\
         [provider.trial]\nhosts = [{{ host = \"{web}\", private = true }}]\nlimits = {{ cpu_time = \"600ms\", timeout = \"60s\" }}\n\
         dirs = [{{ host = \"folder\", guest = \"/folder\" }}]\n\
         key_value = [\"shared\"]\n\
         settings = {{ granted = \"{web}/\", elsewhere = \"{elsewhere}/\" }}\n",
        web = web.url(),
        elsewhere = elsewhere.url(),
    );
    fs::write(&config, text)?;
    let server = RunningServer::start(&config, output)?;
    let result = check(output, &server, &plugins.join("trial.wasm"), builds, language);
    let stopped = server.stop();
    result.and(stopped)?;
    // After a restart, the server must find the compiled component in the cache.
    let before = compiled_files(&dir.join("cache"))?;
    let server = RunningServer::start(&config, output)?;
    let result = wait_for("the second build after a restart", || serves_revision(&server, "second"));
    let stopped = server.stop();
    result.and(stopped)?;
    ensure!(
        !before.is_empty() && compiled_files(&dir.join("cache"))? == before,
        "the component was compiled again"
    );
    let development = match language.has_development {
        true => Some(check_development(output, dir, &config, language)?),
        false => None,
    };
    ensure!(elsewhere.request_count() == 0, "a request to a host without a grant was sent");
    Ok(Tested { cases: CASES.len(), development })
}

/// Checks all cases with the development component, and replaces the program. Returns how long that took.
fn check_development(output: &Output, dir: &Path, config: &Path, language: &Language) -> Result<Duration> {
    let here = dir.join("trial");
    language.write(&here, "first")?;
    let mut dev = with_tools(command(larder()))?;
    dev.args(["dev", "trial", "--listen", "127.0.0.1:0", "--config"]).arg(config).current_dir(dir);
    let before = output.contents().len();
    let server = RunningServer::spawn(dev, output)?;
    let is_served = |revision| Ok(serves_revision(&server, revision).unwrap_or(false));
    wait_for("the first program", || is_served("first"))?;
    check_cases(&server)?;
    check_log(output, before, language)?;
    language.write(&here, "second")?;
    let saved = Instant::now();
    wait_for("the second program", || is_served("second"))?;
    let duration = saved.elapsed();
    server.stop()?;
    Ok(duration)
}

fn check(
    output: &Output,
    server: &RunningServer,
    file: &Path,
    [first, second]: &[PathBuf; 2],
    language: &Language,
) -> Result<()> {
    fs::copy(first, file)?;
    wait_for("the first build", || serves_revision(server, "first"))?;
    check_cases(server)?;
    check_log(output, 0, language)?;
    replace(server, file, second)?;
    // A component with libraries is compiled again in the background.
    wait_for("optimised code", || has_optimised_code(server))
}

fn has_optimised_code(server: &RunningServer) -> Result<bool> {
    let admin = server.admin.as_deref().context("the server has no admin address")?;
    Ok(get(&format!("{admin}/metrics"))?.lines().any(|line| line == "larder_unoptimised_components 0"))
}

fn check_cases(server: &RunningServer) -> Result<()> {
    for (path, expect_success, expected) in CASES {
        let (success, text) = read(server, path)?;
        let is_expected = success == expect_success && text.to_lowercase().contains(&expected.to_lowercase());
        let text: String = text.chars().take(1_000).collect();
        ensure!(is_expected, "trial://{path}: expected `{expected}`, got {text:?}");
        ensure!(serves_revision(server, "first")?, "the provider does not respond after trial://{path}");
    }
    Ok(())
}

/// Checks that the log, after its first bytes, has the place of an error and the message of a guest that ended.
fn check_log(output: &Output, from: usize, language: &Language) -> Result<()> {
    // A bundle has the names of the author's files without their folder.
    let location = language.error_location.map(|location| location.trim_start_matches('/'));
    for expected in location.into_iter().chain([language.exit_message]) {
        let is_logged = || {
            let log = output.contents();
            let mut lines = log.get(from..).unwrap_or_default().lines();
            Ok(lines.any(|line| line.starts_with("larder: ") && line.contains(expected)))
        };
        wait_for(&format!("`{expected}` in the log"), is_logged)?;
    }
    Ok(())
}

/// Replaces the component during continuous reads. Every response must come from one of the two builds, and
/// none from the first build after one from the second.
fn replace(server: &RunningServer, file: &Path, second: &Path) -> Result<()> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| -> Result<()> {
            let mut revision = "first";
            while !done.load(Ordering::Relaxed) {
                let (success, text) = read(server, "revision")?;
                match text.as_str() {
                    "second" if success => revision = "second",
                    "first" if success && revision == "first" => {}
                    _ => bail!("read {text:?} after revision {revision}"),
                }
            }
            Ok(())
        });
        // The file is overwritten in place and not replaced atomically, as many build tools do.
        let replaced = fs::copy(second, file)
            .map_err(anyhow::Error::from)
            .and_then(|_| wait_for("the second build", || serves_revision(server, "second")));
        done.store(true, Ordering::Relaxed);
        let Ok(read) = reader.join() else { bail!("the reader panicked") };
        replaced.and(read)
    })
}

fn serves_revision(server: &RunningServer, revision: &str) -> Result<bool> {
    let (success, text) = read(server, "revision")?;
    Ok(success && text == revision)
}

/// Reads a URI. Returns whether the read succeeded, and the content or the error message.
fn read(server: &RunningServer, path: &str) -> Result<(bool, String)> {
    let uri = format!("trial://{path}");
    let output = command(larder()).args(["read", &uri, "--url", &server.url]).output()?;
    let text = if output.status.success() { output.stdout } else { output.stderr };
    Ok((output.status.success(), String::from_utf8(text)?))
}

fn wait_for(what: &str, mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !condition()? {
        ensure!(start.elapsed() < TIMEOUT, "timed out after {TIMEOUT:?}: {what}");
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The inode numbers of the files with compiled code. A file that is written again gets a new inode.
fn compiled_files(cache: &Path) -> Result<BTreeMap<PathBuf, u64>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![cache.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder)? {
            let item = item?;
            match item.file_type()?.is_dir() {
                true => folders.push(item.path()),
                // Other files are indexes that are rewritten at each start.
                false if item.path().extension().is_none_or(|kind| kind != "cwasm") => {}
                false => drop(files.insert(item.path(), item.metadata()?.ino())),
            }
        }
    }
    Ok(files)
}
