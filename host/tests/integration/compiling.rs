//! Components are compiled by another process and kept: what is used, what is not, and what goes wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use larder::app::App;
use larder::config::Overrides;
use larder_model::name::TeamName;
use larder_runtime::drain::Drain;
use larder_sandbox::{CacheLocation, CompilerConfig, Rejection, Sandbox, SetUpError};
use tempfile::TempDir;

use crate::house::{Plan, component, sandbox};

/// A cache of its own, and a place for compilers that misbehave.
struct Bench {
    folder: TempDir,
    drain: Drain,
}

impl Bench {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), drain: Drain::new() }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn sandbox(&self, change: impl FnOnce(&mut CompilerConfig)) -> Sandbox {
        let mut config = sandbox();
        config.compiler.cache.location = CacheLocation::Configured(self.cache());
        change(&mut config.compiler);
        Sandbox::new(&config, &self.drain).unwrap()
    }

    /// One of `tests/compilers`, beside the true one.
    fn compiler(&self, name: &str) -> PathBuf {
        let link = |from: &Path, to: &str| {
            // Two tests of one bench may ask for the same.
            let _ = std::os::unix::fs::symlink(from, self.folder.path().join(to));
        };
        link(Path::new(env!("CARGO_BIN_EXE_larder")), "larder");
        link(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compilers").join(name), name);
        self.folder.path().join(name)
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("runs")).map_or(0, |runs| runs.lines().count())
    }

    /// The only entry.
    fn entry(&self) -> PathBuf {
        let files = std::fs::read_dir(self.cache()).unwrap().map(|file| file.unwrap().path());
        let mut entries = files.filter(|path| path.extension().is_some_and(|ending| ending == "cwasm"));
        let entry = entries.next().expect("no entry");
        assert_eq!(entries.next(), None);
        entry
    }

    /// Nothing is left of a compilation that failed.
    fn is_clean(&self) {
        let files = std::fs::read_dir(self.cache()).unwrap().map(|file| file.unwrap().file_name());
        assert_eq!(files.collect::<Vec<_>>(), ["key"]);
    }
}

fn echo() -> Bytes {
    std::fs::read(component("echo")).unwrap().into()
}

/// Why `echo` was not compiled. Longer than any limit here: what never ends is a failure, not a hang.
async fn refusal(sandbox: &Sandbox) -> String {
    let team = TeamName::default_team();
    let compiled = tokio::time::timeout(Duration::from_secs(60), sandbox.compile(&team, echo()));
    match compiled.await.expect("no end within a minute") {
        Ok(_) => "it was compiled".into(),
        Err(Rejection::Compiler(why)) => why,
        Err(other) => format!("not the compiler's fault: {other}"),
    }
}

#[tokio::test]
async fn what_was_compiled_once_is_only_loaded() {
    let bench = Bench::new();
    let first = bench.sandbox(|config| config.program = bench.compiler("counts"));
    let compiled = first.compile(&TeamName::default_team(), echo()).await.unwrap();
    assert!(first.compile(&TeamName::default_team(), echo()).await.is_ok() && bench.runs() == 1);
    drop(first);
    // A sandbox that cannot compile anything at all.
    let second = bench.sandbox(|config| config.program = "/nowhere/larder".into());
    let again = second.compile(&TeamName::default_team(), echo()).await.unwrap();
    assert_eq!((again.digest, &again.exports), (compiled.digest, &compiled.exports));
    let other = std::fs::read(component("many")).unwrap().into();
    let why = second
        .compile(&TeamName::default_team(), other)
        .await
        .err()
        .map(|why| why.to_string())
        .unwrap_or_default();
    assert!(why.contains("cannot start /nowhere/larder"), "{why}");
}

#[tokio::test]
async fn many_who_ask_at_once_cause_one_compilation() {
    let bench = Bench::new();
    let sandbox = bench.sandbox(|config| config.program = bench.compiler("counts"));
    let team = TeamName::default_team();
    let all = futures_util::future::join_all((0..8).map(|_| sandbox.compile(&team, echo()))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(bench.runs(), 1);
}

#[tokio::test]
async fn teams_come_in_turn_however_much_one_of_them_brings() {
    let bench = Bench::new();
    let sandbox = Arc::new(bench.sandbox(|config| config.program = bench.compiler("counts")));
    let team = |name: &str| TeamName::parse(name).unwrap();
    let ask = |team: TeamName, guest: &str| {
        let (sandbox, bytes) = (sandbox.clone(), std::fs::read(component(guest)).unwrap());
        bench.drain.spawn(async move { sandbox.compile(&team, bytes.into()).await.is_ok() })
    };
    let mut asked: Vec<_> =
        ["full", "dirs", "many", "net", "fresh"].map(|guest| ask(team("alpha"), guest)).into();
    until("the first one is compiled", || bench.runs() > 0).await;
    asked.push(ask(team("beta"), "echo"));
    let all = futures_util::future::join_all(asked).await;
    assert!(all.into_iter().all(|ended| ended.unwrap() == Some(true)));
    let runs = std::fs::read_to_string(bench.folder.path().join("runs")).unwrap();
    let size = format!("--size {} ", echo().len());
    let at = runs.lines().position(|run| run.contains(&size)).unwrap();
    // The first was under way, and the second may have been.
    assert!(at <= 2, "{at} others went before:\n{runs}");
}

#[tokio::test]
async fn what_was_compiled_for_one_team_tells_another_nothing() {
    let bench = Bench::new();
    let [alpha, beta] = ["alpha", "beta"].map(|name| TeamName::parse(name).unwrap());
    let digest = bench.sandbox(|_| {}).compile(&alpha, echo()).await.unwrap().digest;
    // Only what was compiled before can be loaded now.
    let without = bench.sandbox(|config| config.program = "/nowhere/larder".into());
    assert_eq!(without.compile(&alpha, echo()).await.unwrap().digest, digest);
    assert!(without.compile(&beta, echo()).await.is_err());
}

#[tokio::test]
async fn a_spoilt_entry_is_compiled_again() {
    let bench = Bench::new();
    let whole = bench.sandbox(|_| {});
    whole.compile(&TeamName::default_team(), echo()).await.unwrap();
    let sound = std::fs::read(bench.entry()).unwrap();
    let spoilt = [&sound[..sound.len() / 2], b"", b"\x7fELF".as_slice()];
    for code in spoilt {
        // Not in place: that is what is mapped just now.
        std::fs::remove_file(bench.entry()).unwrap();
        let mut name = std::fs::read_dir(bench.cache()).unwrap().map(|file| file.unwrap().path());
        let seal = name.find(|path| path.extension().is_some_and(|ending| ending == "seal")).unwrap();
        std::fs::write(seal.with_extension("cwasm"), code).unwrap();
        let broken = bench.sandbox(|config| config.program = "/nowhere/larder".into());
        assert!(refusal(&broken).await.contains("cannot start"), "it was used");
        whole.compile(&TeamName::default_team(), echo()).await.unwrap();
        assert_eq!(std::fs::read(bench.entry()).unwrap(), sound);
    }
}

#[tokio::test]
async fn a_compiler_that_dies_is_a_rejection() {
    let bench = Bench::new();
    let dies = bench.sandbox(|config| config.program = bench.compiler("dies"));
    let why = refusal(&dies).await;
    assert!(why.contains("SIGSEGV") && why.contains("out of luck"), "{why}");
    bench.is_clean();
    assert_eq!(refusal(&bench.sandbox(|_| {})).await, "it was compiled");
}

#[tokio::test]
async fn a_compiler_that_lies_is_a_rejection() {
    let bench = Bench::new();
    let lies = bench.sandbox(|config| config.program = bench.compiler("lies"));
    let why = refusal(&lies).await;
    assert!(why.contains("did not write what this engine can use"), "{why}");
    bench.is_clean();
}

#[tokio::test]
async fn a_compiler_that_hangs_is_ended() {
    let bench = Bench::new();
    let hangs = bench.sandbox(|config| {
        config.program = bench.compiler("hangs");
        config.timeout = Duration::from_secs(1);
    });
    assert_eq!(refusal(&hangs).await, "compiling takes longer than 1s");
    is_gone(&pid(&bench).await).await;
    bench.is_clean();
}

#[tokio::test]
async fn a_compiler_that_nobody_waits_for_is_ended() {
    let bench = Bench::new();
    let hangs = Arc::new(bench.sandbox(|config| config.program = bench.compiler("hangs")));
    let waiting = hangs.clone();
    let asked =
        bench.drain.spawn(async move { waiting.compile(&TeamName::default_team(), echo()).await.is_ok() });
    let pid = pid(&bench).await;
    // As it is when the house stops while something is compiled.
    assert!(!bench.drain.finish(Duration::from_millis(10)).await);
    assert_eq!(asked.await.unwrap(), None);
    is_gone(&pid).await;
    bench.is_clean();
}

#[tokio::test]
async fn a_house_that_is_given_up_while_it_is_built_leaves_no_compiler() {
    let bench = Bench::new();
    let plugins = bench.folder.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    std::fs::copy(component("echo"), plugins.join("echo.wasm")).unwrap();
    let given = Overrides { plugins: Some(plugins), ..Overrides::default() };
    let mut config = larder::config::load(&given).unwrap();
    config.sandbox.compiler.program = bench.compiler("hangs");
    config.sandbox.compiler.cache.location = CacheLocation::Configured(bench.cache());
    let pid = tokio::select! {
        _ = App::build(config) => panic!("built, with a compiler that never ends"),
        pid = pid(&bench) => pid,
    };
    is_gone(&pid).await;
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within half a minute: {what}");
}

/// The process that hangs, once it runs.
async fn pid(bench: &Bench) -> String {
    let read = || std::fs::read_to_string(bench.folder.path().join("pid")).unwrap_or_default();
    until("it runs", || read().ends_with('\n')).await;
    read().trim().to_owned()
}

async fn is_gone(pid: &str) {
    let is_there = || std::process::Command::new("kill").args(["-0", pid]).output().unwrap().status.success();
    until("it is gone", || !is_there()).await;
}

#[tokio::test]
async fn the_true_compiler_keeps_to_its_limits() {
    let bench = Bench::new();
    let memory = bench.sandbox(|config| config.memory = 16 << 20);
    let why = refusal(&memory).await;
    assert!(why.contains("the compiler process") || why.contains("cannot"), "{why}");
    let code = bench.sandbox(|config| config.code = 4 << 10);
    assert_eq!(refusal(&code).await, "its code is larger than 4096 bytes");
    let wall = bench.sandbox(|config| config.timeout = Duration::from_millis(1));
    assert_eq!(refusal(&wall).await, "compiling takes longer than 1ms");
    bench.is_clean();
}

/// A section or a body: its length, then itself.
fn sized(head: &[u8], inner: &[u8]) -> Vec<u8> {
    let mut length = inner.len();
    let mut out = head.to_vec();
    while length > 127 {
        out.push((length % 128) as u8 | 128);
        length /= 128;
    }
    out.push(length as u8);
    out.extend(inner);
    out
}

/// A sound component that keeps a compiler busy for many seconds: a thousand long functions.
fn long() -> Bytes {
    // x = popcnt(x * 5), a thousand times, in each of the functions.
    let step = [0x20, 0, 0x41, 5, 0x6c, 0x69, 0x21, 0];
    let body = [[0].as_slice(), &step.repeat(1_000), &[0x20, 0, 0x0b]].concat();
    let bodies = [[0xe8, 0x07].as_slice(), &sized(&[], &body).repeat(1_000)].concat();
    let types = [1, 0x60, 1, 0x7f, 1, 0x7f];
    let functions = [[0xe8, 0x07].as_slice(), &[0; 1_000]].concat();
    let sections = [sized(&[1], &types), sized(&[3], &functions), sized(&[10], &bodies)].concat();
    let module = [b"\0asm\x01\0\0\0".as_slice(), &sections].concat();
    [b"\0asm\x0d\0\x01\0".as_slice(), &sized(&[1], &module)].concat().into()
}

#[tokio::test]
async fn a_component_that_takes_too_long_is_a_rejection() {
    let bench = Bench::new();
    let brief = bench.sandbox(|config| config.cpu_time = Duration::from_secs(1));
    let why = brief
        .compile(&TeamName::default_team(), long())
        .await
        .err()
        .map(|why| why.to_string())
        .unwrap_or_default();
    assert!(why.contains("compiling takes more than 1s of CPU time"), "{why}");
    bench.is_clean();
}

#[tokio::test]
async fn a_compiler_ends_with_those_who_started_it() {
    use tokio::io::AsyncWriteExt as _;
    let bytes = long();
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["compile-component", "--size", &bytes.len().to_string()])
        .args(["--memory", "4000000000", "--cpu", "600", "--code", "1000000000"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&bytes).await.unwrap();
    // As the system does it for one that was killed.
    drop(stdin);
    let ended = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output()).await;
    let ended = ended.expect("it goes on").unwrap();
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(1), 0), "it did all the work");
}

#[tokio::test]
async fn the_true_compiler_says_what_is_wrong_with_a_component() {
    let bench = Bench::new();
    let sandbox = bench.sandbox(|_| {});
    let whole = echo();
    for broken in [whole.slice(..whole.len() / 2), Bytes::from_static(b"\0asm\x0d\0\x01\0\xff")] {
        match sandbox.compile(&TeamName::default_team(), broken).await.err() {
            Some(Rejection::Invalid(why)) => assert!(!why.is_empty()),
            other => panic!("{other:?}"),
        }
    }
    bench.is_clean();
}

#[tokio::test]
async fn compilers_learn_nothing_of_ours() {
    let bench = Bench::new();
    let leaks = bench.sandbox(|config| config.program = bench.compiler("leaks"));
    let why = refusal(&leaks).await;
    assert!(why.contains("exit status: 3") && why.contains("RAYON_NUM_THREADS="), "{why}");
    assert!(!why.contains("CARGO") && !why.contains("HOME="), "{why}");
}

#[tokio::test]
async fn a_cache_that_others_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    std::fs::create_dir(bench.cache()).unwrap();
    std::fs::set_permissions(bench.cache(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut config = sandbox();
    config.compiler.cache.location = CacheLocation::Configured(bench.cache());
    match Sandbox::new(&config, &bench.drain).err() {
        Some(SetUpError::Cache(error)) => {
            let said = error.to_string();
            assert!(said.contains("can be written by others") && said.contains("cache_dir"), "{said}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn compiled_code_in_the_plugins_folder_is_rejected() {
    let bench = Bench::new();
    bench.sandbox(|_| {}).compile(&TeamName::default_team(), echo()).await.unwrap();
    let code = std::fs::read(bench.entry()).unwrap();
    let house = Plan::of("echo").file("code.wasm", &code).file("echo.cwasm", &code).open().await;
    assert!(
        house.rejected("code.wasm").contains("precompiled machine code"),
        "{}",
        house.rejected("code.wasm")
    );
    assert_eq!(house.reader.snapshot().offers().len(), 1);
}
