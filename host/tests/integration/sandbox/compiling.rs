//! The compiler process and the cache of compiled components.

mod failed_optimisation;
mod first_tier;
mod libraries;
mod priorities;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use larder::app::App;
use larder_config::Overrides;
use larder_model::name::TeamName;
use larder_provider::Rejection;
use larder_runtime::drain::Drain;
use larder_sandbox::{CacheLocation, CompilerConfig, Sandbox, SetUpError};
use tempfile::TempDir;

use crate::support::harness::{
    SLOW_WAIT, TestServer, component_path, eventually_within, sandbox_config,
};

/// A folder with its own cache and with compilers that misbehave.
struct TestCompiler {
    folder: TempDir,
    drain: Drain,
}

impl TestCompiler {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            drain: Drain::new(),
        }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn sandbox(&self, change: impl FnOnce(&mut CompilerConfig)) -> Sandbox {
        let mut config = sandbox_config();
        config.compiler.cache.location = CacheLocation::Configured(self.cache());
        change(&mut config.compiler);
        Sandbox::new(&config, &self.drain).unwrap()
    }

    /// Links one of `tests/compilers` and the real compiler into the folder.
    fn compiler(&self, name: &str) -> PathBuf {
        let link = |from: &Path, to: &str| {
            // A test may use the same compiler twice.
            let _ = std::os::unix::fs::symlink(from, self.folder.path().join(to));
        };
        link(Path::new(env!("CARGO_BIN_EXE_larder")), "larder");
        link(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../tests/compilers")
                .join(name),
            name,
        );
        self.folder.path().join(name)
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("runs"))
            .map_or(0, |runs| runs.lines().count())
    }

    /// The files of the cache with this extension.
    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.cache())
            .unwrap()
            .map(|file| file.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|ending| ending == extension))
            .collect()
    }

    /// The only entry of the cache.
    fn entry(&self) -> PathBuf {
        let entries = self.files("cwasm");
        assert_eq!(entries.len(), 1, "{entries:?}");
        entries[0].clone()
    }

    /// Checks that failed compilations left nothing in the cache.
    fn assert_cache_is_empty(&self) {
        let files = std::fs::read_dir(self.cache())
            .unwrap()
            .map(|file| file.unwrap().file_name());
        assert_eq!(files.collect::<Vec<_>>(), ["key"]);
    }
}

fn echo() -> Bytes {
    std::fs::read(component_path("echo")).unwrap().into()
}

/// Returns why `echo` was not compiled. The timeout is longer than every limit in these tests.
async fn compile_error(sandbox: &Sandbox) -> String {
    let team = TeamName::default_team();
    let compiled = tokio::time::timeout(Duration::from_secs(60), sandbox.compile(&team, echo()));
    match compiled.await.expect("no end within a minute") {
        Ok(_) => "it was compiled".into(),
        Err(Rejection::Compiler(why)) => why,
        Err(other) => format!("not the compiler's fault: {other}"),
    }
}

#[tokio::test]
async fn loads_a_compiled_component_from_the_cache() {
    let test = TestCompiler::new();
    let first = test.sandbox(|config| config.program = test.compiler("counts"));
    let compiled = first
        .compile(&TeamName::default_team(), echo())
        .await
        .unwrap();
    assert!(
        first
            .compile(&TeamName::default_team(), echo())
            .await
            .is_ok()
            && test.runs() == 1
    );
    drop(first);
    // A sandbox that cannot compile anything.
    let second = test.sandbox(|config| config.program = "/nowhere/larder".into());
    let again = second
        .compile(&TeamName::default_team(), echo())
        .await
        .unwrap();
    assert_eq!(
        (again.digest(), again.imports()),
        (compiled.digest(), compiled.imports())
    );
    let other = std::fs::read(component_path("many")).unwrap().into();
    let why = second
        .compile(&TeamName::default_team(), other)
        .await
        .err()
        .map(|why| why.to_string())
        .unwrap_or_default();
    assert!(why.contains("cannot start /nowhere/larder"), "{why}");
}

#[tokio::test]
async fn code_in_use_is_never_more_than_the_cache_may_have() {
    let (test, team) = (TestCompiler::new(), TeamName::default_team());
    test.sandbox(|_| {}).compile(&team, echo()).await.unwrap();
    let size = std::fs::metadata(test.entry()).unwrap().len();
    let sandbox = test.sandbox(|config| config.cache.size = size * 3 / 2);
    let in_use = sandbox.compile(&team, echo()).await.unwrap();
    let many = Bytes::from(std::fs::read(component_path("many")).unwrap());
    let rejected = sandbox.compile(&team, many.clone()).await.err();
    assert!(
        matches!(rejected, Some(Rejection::NoRoom(_))),
        "{rejected:?}"
    );
    assert_eq!(
        std::fs::metadata(test.entry()).unwrap().len(),
        size,
        "what is not used is removed"
    );
    drop(in_use);
    assert!(sandbox.compile(&team, many).await.is_ok());
}

#[tokio::test]
async fn concurrent_requests_cause_one_compilation() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|config| config.program = test.compiler("counts"));
    let team = TeamName::default_team();
    let all = futures_util::future::join_all((0..8).map(|_| sandbox.compile(&team, echo()))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(test.runs(), 1);
}

#[tokio::test]
async fn compiles_for_each_team_in_turn() {
    let test = TestCompiler::new();
    let sandbox = Arc::new(test.sandbox(|config| config.program = test.compiler("counts")));
    let team = |name: &str| TeamName::parse(name).unwrap();
    let compile = |team: TeamName, guest: &str| {
        let (sandbox, bytes) = (
            sandbox.clone(),
            std::fs::read(component_path(guest)).unwrap(),
        );
        test.drain
            .spawn(async move { sandbox.compile(&team, bytes.into()).await.is_ok() })
    };
    let mut tasks: Vec<_> = ["full", "dirs", "many", "net", "fresh"]
        .map(|guest| compile(team("alpha"), guest))
        .into();
    eventually_within(SLOW_WAIT, "the first one is compiled", async || {
        test.runs() > 0
    })
    .await;
    tasks.push(compile(team("beta"), "echo"));
    let all = futures_util::future::join_all(tasks).await;
    assert!(all.into_iter().all(|ended| ended.unwrap() == Some(true)));
    let runs = std::fs::read_to_string(test.folder.path().join("runs")).unwrap();
    let size = format!("--size {} ", echo().len());
    let at = runs.lines().position(|run| run.contains(&size)).unwrap();
    // The first compilation had started, and the second may have.
    assert!(at <= 2, "{at} others went before:\n{runs}");
}

#[tokio::test]
async fn the_cache_is_separate_for_each_team() {
    let test = TestCompiler::new();
    let [alpha, beta] = ["alpha", "beta"].map(|name| TeamName::parse(name).unwrap());
    let digest = test
        .sandbox(|_| {})
        .compile(&alpha, echo())
        .await
        .unwrap()
        .digest();
    // This sandbox can only load components from the cache.
    let without = test.sandbox(|config| config.program = "/nowhere/larder".into());
    assert_eq!(
        without.compile(&alpha, echo()).await.unwrap().digest(),
        digest
    );
    assert!(without.compile(&beta, echo()).await.is_err());
}

#[tokio::test]
async fn a_damaged_entry_is_compiled_again() {
    let test = TestCompiler::new();
    let whole = test.sandbox(|_| {});
    whole
        .compile(&TeamName::default_team(), echo())
        .await
        .unwrap();
    let intact = std::fs::read(test.entry()).unwrap();
    let damaged = [&intact[..intact.len() / 2], b"", b"\x7fELF".as_slice()];
    for code in damaged {
        // The file is replaced instead of overwritten, because it is mapped into memory.
        std::fs::remove_file(test.entry()).unwrap();
        let mut files = std::fs::read_dir(test.cache())
            .unwrap()
            .map(|file| file.unwrap().path());
        let seal = files
            .find(|path| path.extension().is_some_and(|ending| ending == "seal"))
            .unwrap();
        std::fs::write(seal.with_extension("cwasm"), code).unwrap();
        let broken = test.sandbox(|config| config.program = "/nowhere/larder".into());
        assert!(
            compile_error(&broken).await.contains("cannot start"),
            "it was used"
        );
        whole
            .compile(&TeamName::default_team(), echo())
            .await
            .unwrap();
        assert_eq!(std::fs::read(test.entry()).unwrap(), intact);
    }
}

#[tokio::test]
async fn a_crash_of_the_compiler_is_a_rejection() {
    let test = TestCompiler::new();
    let dies = test.sandbox(|config| config.program = test.compiler("dies"));
    let why = compile_error(&dies).await;
    assert!(
        why.contains("SIGSEGV") && why.contains("out of luck"),
        "{why}"
    );
    test.assert_cache_is_empty();
    assert_eq!(
        compile_error(&test.sandbox(|_| {})).await,
        "it was compiled"
    );
}

#[tokio::test]
async fn invalid_output_of_the_compiler_is_a_rejection() {
    let test = TestCompiler::new();
    let lies = test.sandbox(|config| config.program = test.compiler("lies"));
    let why = compile_error(&lies).await;
    assert!(why.contains("cannot be loaded by this engine"), "{why}");
    test.assert_cache_is_empty();
}

#[tokio::test]
async fn kills_a_compiler_that_hangs() {
    let test = TestCompiler::new();
    let hangs = test.sandbox(|config| {
        config.program = test.compiler("hangs");
        config.timeout = Duration::from_secs(1);
    });
    assert_eq!(
        compile_error(&hangs).await,
        "compiling takes longer than 1s"
    );
    wait_for_exit(&pid(&test).await).await;
    test.assert_cache_is_empty();
}

#[tokio::test]
async fn kills_a_compiler_whose_result_is_no_longer_needed() {
    let test = TestCompiler::new();
    let hangs = Arc::new(test.sandbox(|config| config.program = test.compiler("hangs")));
    let waiting = hangs.clone();
    let tasks = test.drain.spawn(async move {
        waiting
            .compile(&TeamName::default_team(), echo())
            .await
            .is_ok()
    });
    let pid = pid(&test).await;
    // The same happens if the server stops during a compilation.
    assert!(!test.drain.finish(Duration::from_millis(10)).await);
    assert_eq!(tasks.await.unwrap(), None);
    wait_for_exit(&pid).await;
    test.assert_cache_is_empty();
}

#[tokio::test]
async fn cancelling_the_start_of_the_app_kills_the_compiler() {
    let test = TestCompiler::new();
    let plugins = test.folder.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    std::fs::copy(component_path("echo"), plugins.join("echo.wasm")).unwrap();
    let given = Overrides {
        plugins: Some(plugins),
        ..Overrides::default()
    };
    let mut config = larder_config::load(&given).unwrap();
    config.sandbox.compiler.program = test.compiler("hangs");
    config.sandbox.compiler.cache.location = CacheLocation::Configured(test.cache());
    let pid = tokio::select! {
        _ = App::build(config) => panic!("the app was built with a compiler that hangs"),
        pid = pid(&test) => pid,
    };
    wait_for_exit(&pid).await;
}

/// Waits until the compiler `hangs` runs, and returns its process id.
async fn pid(test: &TestCompiler) -> String {
    let read = || std::fs::read_to_string(test.folder.path().join("pid")).unwrap_or_default();
    eventually_within(SLOW_WAIT, "the compiler runs", async || {
        read().ends_with('\n')
    })
    .await;
    read().trim().to_owned()
}

async fn wait_for_exit(pid: &str) {
    let is_running = || {
        std::process::Command::new("kill")
            .args(["-0", pid])
            .output()
            .unwrap()
            .status
            .success()
    };
    eventually_within(SLOW_WAIT, "the compiler has ended", async || !is_running()).await;
}

#[tokio::test]
async fn the_real_compiler_respects_its_limits() {
    let test = TestCompiler::new();
    let memory = test.sandbox(|config| config.memory = 16 << 20);
    let why = compile_error(&memory).await;
    assert!(
        why.contains("the compiler process") || why.contains("cannot"),
        "{why}"
    );
    let code = test.sandbox(|config| config.code = 4 << 10);
    assert_eq!(
        compile_error(&code).await,
        "its code is larger than 4 KiB (`compiler.code`)"
    );
    let timeout = test.sandbox(|config| config.timeout = Duration::from_millis(1));
    assert_eq!(
        compile_error(&timeout).await,
        "compiling takes longer than 1ms"
    );
    test.assert_cache_is_empty();
}

/// Encodes a section or a function body: `head`, the length, and the content.
fn with_length(head: &[u8], inner: &[u8]) -> Vec<u8> {
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

/// A valid component that takes many seconds to compile: a thousand long functions.
fn slow_to_compile() -> Bytes {
    // Each function computes x = popcnt(x * 5) a thousand times.
    let step = [0x20, 0, 0x41, 5, 0x6c, 0x69, 0x21, 0];
    let body = [[0].as_slice(), &step.repeat(1_000), &[0x20, 0, 0x0b]].concat();
    let bodies = [
        [0xe8, 0x07].as_slice(),
        &with_length(&[], &body).repeat(1_000),
    ]
    .concat();
    let types = [1, 0x60, 1, 0x7f, 1, 0x7f];
    let functions = [[0xe8, 0x07].as_slice(), &[0; 1_000]].concat();
    let sections = [
        with_length(&[1], &types),
        with_length(&[3], &functions),
        with_length(&[10], &bodies),
    ]
    .concat();
    let module = [b"\0asm\x01\0\0\0".as_slice(), &sections].concat();
    [b"\0asm\x0d\0\x01\0".as_slice(), &with_length(&[1], &module)]
        .concat()
        .into()
}

#[tokio::test]
async fn too_much_cpu_time_is_a_rejection() {
    let test = TestCompiler::new();
    let brief = test.sandbox(|config| config.cpu_time = Duration::from_secs(1));
    let why = brief
        .compile(&TeamName::default_team(), slow_to_compile())
        .await
        .err()
        .map(|why| why.to_string())
        .unwrap_or_default();
    assert!(
        why.contains("compiling takes more than 1s of CPU time"),
        "{why}"
    );
    test.assert_cache_is_empty();
}

#[tokio::test]
async fn the_compiler_exits_when_its_parent_dies() {
    use tokio::io::AsyncWriteExt as _;
    let bytes = slow_to_compile();
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["compile-component", "--size", &bytes.len().to_string()])
        .args([
            "--memory",
            "4000000000",
            "--cpu",
            "600",
            "--code",
            "1000000000",
            "--timeout",
            "600",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&bytes).await.unwrap();
    // The system closes the pipe if the parent is killed.
    drop(stdin);
    let ended = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output()).await;
    let ended = ended.expect("the compiler still runs").unwrap();
    assert_eq!(
        (ended.status.code(), ended.stdout.len()),
        (Some(1), 0),
        "the compiler finished its work"
    );
}

#[tokio::test]
async fn the_real_compiler_reports_invalid_components() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|_| {});
    let whole = echo();
    for broken in [
        whole.slice(..whole.len() / 2),
        Bytes::from_static(b"\0asm\x0d\0\x01\0\xff"),
    ] {
        match sandbox
            .compile(&TeamName::default_team(), broken)
            .await
            .err()
        {
            Some(Rejection::Invalid(why)) => assert!(!why.is_empty()),
            other => panic!("{other:?}"),
        }
    }
    test.assert_cache_is_empty();
}

#[tokio::test]
async fn compilers_do_not_inherit_the_environment() {
    let test = TestCompiler::new();
    let leaks = test.sandbox(|config| config.program = test.compiler("leaks"));
    let why = compile_error(&leaks).await;
    assert!(
        why.contains("exit status: 3") && why.contains("RAYON_NUM_THREADS="),
        "{why}"
    );
    assert!(!why.contains("CARGO") && !why.contains("HOME="), "{why}");
}

#[tokio::test]
async fn refuses_a_cache_that_others_can_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let test = TestCompiler::new();
    std::fs::create_dir(test.cache()).unwrap();
    std::fs::set_permissions(test.cache(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut config = sandbox_config();
    config.compiler.cache.location = CacheLocation::Configured(test.cache());
    match Sandbox::new(&config, &test.drain).err() {
        Some(SetUpError::Cache(error)) => {
            let message = error.to_string();
            assert!(
                message.contains("can be written by others") && message.contains("cache_dir"),
                "{message}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn rejects_compiled_code_in_the_plugins_folder() {
    let test = TestCompiler::new();
    test.sandbox(|_| {})
        .compile(&TeamName::default_team(), echo())
        .await
        .unwrap();
    let code = std::fs::read(test.entry()).unwrap();
    let server = TestServer::builder("echo")
        .file("code.wasm", &code)
        .file("echo.cwasm", &code)
        .start()
        .await;
    assert!(
        server
            .rejection_reason("code.wasm")
            .contains("precompiled machine code"),
        "{}",
        server.rejection_reason("code.wasm")
    );
    assert_eq!(server.reader.snapshot().offers().len(), 1);
}
