//! A trial is dropped into the folder of a running server with the limits that hold by default, asked, replaced while
//! somebody reads all the time, and there again after a restart.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::Language;
use super::web::{self, Web};
use crate::run::{Output, command, larder};
use crate::server::Serving;

/// Above what the slowest component takes to be compiled on a loaded machine.
const GIVE_UP: Duration = Duration::from_secs(300);

/// The last of a text of two megabytes, which is read within the limits.
const THE_END: &str = "grüße zum schluss";

/// What is asked, whether there is an answer, and what is in it or in the error.
const QUESTIONS: [(&str, bool, &str); 11] = [
    ("revision", true, "first"),
    ("http", true, web::ANSWER),
    ("elsewhere", false, "is not granted; its operator can allow it with `hosts = "),
    ("long", true, THE_END),
    ("/a/b%20c", true, "a/b c"),
    ("garbled", false, "no caf"),
    ("raises", false, "no such luck"),
    ("ends", false, "the provider `trial` failed: it "),
    ("eats", false, "memory"),
    ("spins", false, "the provider `trial` failed: it "),
    ("nothing", false, "Resource not found"),
];

/// Asks everything of the first build, and replaces it with the second. Says how many questions that were.
pub(super) fn hold(output: &Output, at: &Path, builds: &[PathBuf; 2], language: &Language) -> Result<usize> {
    let (web, elsewhere) = (Web::open()?, Web::open()?);
    let plugins = at.join("plugins");
    fs::create_dir_all(&plugins)?;
    fs::create_dir_all(at.join("folder"))?;
    let lines = (0..).map(|line| format!("{line}: schöne Grüße\n")).take(95_000);
    fs::write(at.join("folder/long.txt"), lines.collect::<String>() + THE_END)?;
    let config = at.join("larder.toml");
    // Of the limits, only the one that takes long to be reached is another one.
    let text = format!(
        "plugins = \"plugins\"\n[admin]\nlisten = \"off\"\n[compiler]\ncache_dir = \"cache\"\n\
         [provider.trial]\nhosts = [{{ host = \"{web}\", private = true }}]\nlimits = {{ cpu_time = \"600ms\" }}\n\
         dirs = [{{ host = \"folder\", guest = \"/folder\" }}]\n\
         settings = {{ granted = \"{web}/\", elsewhere = \"{elsewhere}/\" }}\n",
        web = web.url(),
        elsewhere = elsewhere.url(),
    );
    fs::write(&config, text)?;
    let serving = Serving::start(&config, output)?;
    let met = meet(output, &serving, &plugins.join("trial.wasm"), builds, language);
    let stopped = serving.stop();
    met.and(stopped)?;
    ensure!(elsewhere.asked() == 0, "a request went where none may go");
    // What was compiled is kept: the server that comes next finds it.
    let kept = compiled(&at.join("cache"))?;
    let serving = Serving::start(&config, output)?;
    let answer = until("the second build answers after a restart", || answers(&serving, "second"));
    let stopped = serving.stop();
    answer.and(stopped)?;
    ensure!(!kept.is_empty() && compiled(&at.join("cache"))? == kept, "it was compiled once more");
    Ok(QUESTIONS.len())
}

fn meet(
    output: &Output,
    serving: &Serving,
    file: &Path,
    [first, second]: &[PathBuf; 2],
    language: &Language,
) -> Result<()> {
    fs::copy(first, file)?;
    until("the first build answers", || answers(serving, "first"))?;
    for (what, good, says) in QUESTIONS {
        let (answered, text) = ask(serving, what)?;
        let as_said = answered == good && text.to_lowercase().contains(&says.to_lowercase());
        let text: String = text.chars().take(1_000).collect();
        ensure!(as_said, "trial://{what}: {text:?}, where `{says}` is expected");
        ensure!(answers(serving, "first")?, "after trial://{what} it does not answer any more");
    }
    for words in language.blames.into_iter().chain([language.last_words]) {
        let said =
            || Ok(output.written().lines().any(|line| line.starts_with("larder: ") && line.contains(words)));
        until(&format!("the log says `{words}`"), said)?;
    }
    replace(serving, file, second)
}

/// Somebody reads all the time: every answer is one of the two, and after the second there is no first.
fn replace(serving: &Serving, file: &Path, second: &Path) -> Result<()> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| -> Result<()> {
            let mut seen = "first";
            while !done.load(Ordering::Relaxed) {
                let (answered, text) = ask(serving, "revision")?;
                match text.as_str() {
                    "second" if answered => seen = "second",
                    "first" if answered && seen == "first" => {}
                    _ => bail!("a reader met {text:?} after {seen}"),
                }
            }
            Ok(())
        });
        // In place, and not in one step, as a careless build does it.
        let replaced = fs::copy(second, file)
            .map_err(anyhow::Error::from)
            .and_then(|_| until("the second build answers", || answers(serving, "second")));
        done.store(true, Ordering::Relaxed);
        let Ok(read) = reader.join() else { bail!("the reader panicked") };
        replaced.and(read)
    })
}

fn answers(serving: &Serving, word: &str) -> Result<bool> {
    let (answered, text) = ask(serving, "revision")?;
    Ok(answered && text == word)
}

/// Whether there was an answer, and its text or the error's.
fn ask(serving: &Serving, what: &str) -> Result<(bool, String)> {
    let uri = format!("trial://{what}");
    let ran = command(larder()).args(["read", &uri, "--url", &serving.url]).output()?;
    let text = if ran.status.success() { ran.stdout } else { ran.stderr };
    Ok((ran.status.success(), String::from_utf8(text)?))
}

fn until(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !holds()? {
        ensure!(start.elapsed() < GIVE_UP, "not within {GIVE_UP:?}: {what}");
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The files of compiled code. One that is written anew is another file.
fn compiled(cache: &Path) -> Result<BTreeMap<PathBuf, u64>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![cache.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder)? {
            let item = item?;
            match item.file_type()?.is_dir() {
                true => folders.push(item.path()),
                // What else is there says how code and components were found, and is written at each start.
                false if item.path().extension().is_none_or(|kind| kind != "cwasm") => {}
                false => drop(files.insert(item.path(), item.metadata()?.ino())),
            }
        }
    }
    Ok(files)
}
