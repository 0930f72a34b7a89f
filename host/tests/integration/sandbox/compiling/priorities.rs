//! Which compilations take precedence over other compilations, and over requests.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;

use bytes::Bytes;
use larder::app::App;
use larder_config::Overrides;
use larder_model::name::TeamName;
use larder_provider::{CompileJob, HashedComponent, Priority, Rejection};
use larder_sandbox::{CacheLocation, Sandbox};

use super::{TestCompiler, echo, pid, slow_to_compile};
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::revision::revision;

#[tokio::test]
async fn what_is_urgent_does_not_wait_for_what_is_less_urgent() {
    for (urgent, other, compiler) in [
        (
            Priority::Awaited,
            Priority::Replacement,
            "hangs-in-replacement",
        ),
        (
            Priority::Replacement,
            Priority::Optimisation,
            "hangs-in-optimisation",
        ),
    ] {
        let test = TestCompiler::new();
        let sandbox = Arc::new(test.sandbox(|config| config.program = test.compiler(compiler)));
        let hanging = sandbox.clone();
        test.drain.spawn(async move {
            compile_with(&hanging, other, slow_to_compile())
                .await
                .is_ok()
        });
        pid(&test).await;
        let compiled =
            tokio::time::timeout(SLOW_WAIT, compile_with(&sandbox, urgent, echo())).await;
        assert!(
            compiled.expect("it waits for the other one").is_ok(),
            "{urgent:?}"
        );
        test.drain.finish(std::time::Duration::ZERO).await;
    }
}

async fn compile_with(
    sandbox: &Sandbox,
    priority: Priority,
    component: Bytes,
) -> Result<(), Rejection> {
    let job = CompileJob {
        team: &TeamName::default_team(),
        provider: None,
        priority,
    };
    sandbox
        .compile_for(&job, HashedComponent::new(component))
        .await
        .map(drop)
}

/// The nice value and the number of threads of a process.
fn nice_and_threads(pid: u32) -> (i32, i32) {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    // The fields 19 and 20 of proc(5). The first field here is the third field there.
    (fields[16].parse().unwrap(), fields[17].parse().unwrap())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_compiler_lowers_its_own_priority() {
    use std::io::Write as _;
    let (bytes, own) = (slow_to_compile(), nice_and_threads(std::process::id()).0);
    for (argument, expected) in [("--nice=0", own), ("--nice=5", (own + 5).min(19))] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_larder"))
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
            .arg(argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.as_mut().unwrap().write_all(&bytes).unwrap();
        // The compiler process has several threads while it compiles.
        let compiles = async || nice_and_threads(child.id()).1 > 2;
        eventually_within(SLOW_WAIT, "it compiles", compiles).await;
        let (nice, _) = nice_and_threads(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(nice, expected, "{argument}");
    }
}

#[tokio::test]
async fn somebody_waits_for_a_first_revision_only() {
    let test = TestCompiler::new();
    let plugins = test.folder.path().join("plugins");
    fs::create_dir(&plugins).unwrap();
    fs::write(plugins.join("revision.wasm"), revision(1)).unwrap();
    let given = Overrides {
        plugins: Some(plugins.clone()),
        ..Overrides::default()
    };
    let mut config = larder_config::load(&given).unwrap();
    config.sandbox.compiler.program = test.compiler("counts");
    config.sandbox.compiler.cache.location = CacheLocation::Configured(test.cache());
    let mut app = App::build(config).await.unwrap();
    app.start_updates();
    eventually_within(SLOW_WAIT, "the code is stored", async || {
        test.files("cwasm").len() == 1
    })
    .await;
    let new = test.folder.path().join("new");
    fs::write(&new, revision(2)).unwrap();
    fs::rename(&new, plugins.join("revision.wasm")).unwrap();
    eventually_within(SLOW_WAIT, "the second revision is compiled", async || {
        test.runs() == 2
    })
    .await;
    let runs = fs::read_to_string(test.folder.path().join("runs")).unwrap();
    let [first, second] = runs.lines().collect::<Vec<_>>()[..] else {
        panic!("{runs}")
    };
    assert!(first.contains(" --nice=0"), "{runs}");
    assert!(second.contains(" --nice=5"), "{runs}");
    app.finish().await;
}
