//! Functions that did not change since the previous revision of a provider are not compiled again.

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_provider::{CompileJob, CompilePhases, HashedComponent, Priority};
use larder_sandbox::Sandbox;

use super::{TestCompiler, echo};
use crate::support::harness::{SLOW_WAIT, component_path, eventually_within};

/// Compiles a component for a team and a provider. Somebody waits for the result.
async fn compile(sandbox: &Sandbox, owner: (&str, &str), bytes: Bytes) -> CompilePhases {
    compile_with(sandbox, owner, Priority::Awaited, bytes).await
}

async fn compile_with(
    sandbox: &Sandbox,
    (team, provider): (&str, &str),
    priority: Priority,
    bytes: Bytes,
) -> CompilePhases {
    let (team, provider) = (
        TeamName::parse(team).unwrap(),
        ProviderName::parse(provider).unwrap(),
    );
    let job = CompileJob {
        team: &team,
        provider: Some(&provider),
        priority,
    };
    let (cached, phases) = sandbox
        .compile_for(&job, HashedComponent::new(bytes))
        .await
        .unwrap();
    sandbox.link(cached).unwrap();
    phases
}

/// A provider of the default team.
const WIKI: (&str, &str) = ("default", "wiki");

/// The same component with another custom section: its digest is different and its functions are the same.
fn with_section(component: &Bytes, number: u8) -> Bytes {
    [component, [0, 3, 1, b'x', number].as_slice()]
        .concat()
        .into()
}

/// Cranelift does not give every function the same key again, also if the function did not change.
fn is_mostly_reused(phases: &CompilePhases) -> bool {
    phases.reused > 3 * phases.compiled
}

impl TestCompiler {
    pub(super) fn files(&self, extension: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.cache())
            .unwrap()
            .map(|file| file.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|ending| ending == extension))
            .collect()
    }

    /// Waits until this many providers have functions in the cache: they are stored after the code is served.
    pub(super) async fn functions(&self, count: usize) -> Vec<PathBuf> {
        let stored = async || self.files("functions").len() == count && self.has_no_drafts();
        eventually_within(SLOW_WAIT, "the functions are stored", stored).await;
        self.files("functions")
    }

    fn has_no_drafts(&self) -> bool {
        let files = fs::read_dir(self.cache())
            .unwrap()
            .map(|file| file.unwrap().file_name());
        files
            .filter(|name| name.to_string_lossy().starts_with(".draft"))
            .count()
            == 0
    }

    /// The machine code of a component of the default team.
    fn code_of(&self, component: &Bytes) -> Vec<u8> {
        let digest = Digest::of(component).to_string();
        let is_code = |path: &PathBuf| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with(&digest)
        };
        fs::read(
            self.files("cwasm")
                .into_iter()
                .find(is_code)
                .expect("no code"),
        )
        .unwrap()
    }
}

/// The machine code of a component whose functions are all compiled.
async fn code_of_full_compilation(component: &Bytes) -> Vec<u8> {
    let test = TestCompiler::new();
    test.sandbox(|_| {})
        .compile(&TeamName::default_team(), component.clone())
        .await
        .unwrap();
    test.code_of(component)
}

#[tokio::test]
async fn functions_of_the_previous_revision_are_reused() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|_| {});
    let first = compile(&sandbox, WIKI, echo()).await;
    assert!(first.reused == 0 && first.compiled > 50, "{first}");
    test.functions(1).await;
    // Only the digest differs.
    let second = with_section(&echo(), 1);
    let phases = compile(&sandbox, WIKI, second.clone()).await;
    assert!(is_mostly_reused(&phases), "{phases}");
    // The code is the same as without the functions.
    assert_eq!(
        test.code_of(&second),
        code_of_full_compilation(&second).await
    );
    test.functions(1).await;
    // Another program that contains the functions of the standard library.
    let third = Bytes::from(fs::read(component_path("many")).unwrap());
    let phases = compile(&sandbox, WIKI, third.clone()).await;
    assert!(phases.reused > 0 && phases.compiled > 0, "{phases}");
    assert_eq!(test.code_of(&third), code_of_full_compilation(&third).await);
}

/// The number of functions that are compiled again although no function changed, after a first compilation of this
/// priority.
async fn compiled_again_after(priority: Priority) -> u64 {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|config| config.program = test.compiler("one-thread"));
    let component = Bytes::from(fs::read(component_path("many")).unwrap());
    let first = compile_with(&sandbox, WIKI, priority, component.clone()).await;
    assert_eq!(first.reused, 0);
    test.functions(1).await;
    compile(&sandbox, WIKI, with_section(&component, 1))
        .await
        .compiled
}

#[tokio::test]
async fn if_nobody_waits_the_next_revision_finds_more_functions() {
    let awaited = compiled_again_after(Priority::Awaited).await;
    let optimised = compiled_again_after(Priority::Optimisation).await;
    assert!(optimised < awaited, "{optimised} instead of {awaited}");
}

#[tokio::test]
async fn functions_are_kept_for_the_next_process() {
    let test = TestCompiler::new();
    compile(&test.sandbox(|_| {}), WIKI, echo()).await;
    test.functions(1).await;
    let phases = compile(&test.sandbox(|_| {}), WIKI, with_section(&echo(), 1)).await;
    assert!(is_mostly_reused(&phases), "{phases}");
}

#[tokio::test]
async fn functions_belong_to_one_provider_of_one_team() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|_| {});
    compile(&sandbox, ("alpha", "wiki"), echo()).await;
    let own = test.functions(1).await.remove(0);
    let others = [("beta", "wiki"), ("alpha", "notes"), ("default", "wiki")];
    for (number, other) in (1..).zip(others) {
        let phases = compile(&sandbox, other, with_section(&echo(), number)).await;
        assert!(
            phases.reused == 0 && phases.compiled > 0,
            "{other:?}: {phases}"
        );
    }
    // A file that was copied for another provider is not used either.
    for path in test
        .functions(4)
        .await
        .into_iter()
        .filter(|path| *path != own)
    {
        fs::remove_file(&path).unwrap();
        fs::copy(&own, &path).unwrap();
    }
    for (number, other) in (11..).zip(others) {
        let phases = compile(&sandbox, other, with_section(&echo(), number)).await;
        assert!(phases.reused == 0, "{other:?}: {phases}");
    }
}

#[tokio::test]
async fn damaged_functions_are_not_used() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|_| {});
    compile(&sandbox, WIKI, echo()).await;
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes[100] ^= 1,
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.clear(),
        |bytes| bytes.extend([0; 32]),
    ];
    for (number, damage) in (1..).zip(damages) {
        let path = test.functions(1).await.remove(0);
        let mut bytes = fs::read(&path).unwrap();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        let phases = compile(&sandbox, WIKI, with_section(&echo(), number)).await;
        assert!(
            phases.reused == 0 && phases.compiled > 0,
            "{number}: {phases}"
        );
    }
}

/// Checks that functions are removed if this compiler fails with them, and that another process compiles the component.
async fn check_that_functions_are_removed(compiler: &str) {
    let test = TestCompiler::new();
    let fails = test.sandbox(|config| config.program = test.compiler(compiler));
    compile(&fails, WIKI, echo()).await;
    test.functions(1).await;
    let phases = compile(&fails, WIKI, with_section(&echo(), 1)).await;
    assert!(phases.reused == 0 && phases.compiled > 0, "{phases}");
    assert_eq!(test.runs(), 3);
    // The new functions work in the real compiler.
    test.functions(1).await;
    let phases = compile(&test.sandbox(|_| {}), WIKI, with_section(&echo(), 2)).await;
    assert!(phases.reused > 0, "{phases}");
}

#[tokio::test]
async fn functions_that_stop_the_compiler_are_not_used_again() {
    check_that_functions_are_removed("dies-with-functions").await;
}

#[tokio::test]
async fn functions_that_make_the_code_invalid_are_not_used_again() {
    check_that_functions_are_removed("lies-with-functions").await;
}

#[tokio::test]
async fn a_failure_after_the_compilation_does_not_lose_the_code() {
    let test = TestCompiler::new();
    let dies = test.sandbox(|config| config.program = test.compiler("dies-in-recompilation"));
    let phases = compile_with(&dies, WIKI, Priority::Optimisation, echo()).await;
    assert!(phases.compiled > 0, "{phases}");
    assert_eq!(test.runs(), 2);
    // The functions of the other process are known.
    test.functions(1).await;
    let phases = compile(&dies, WIKI, with_section(&echo(), 1)).await;
    assert!(phases.reused > 0, "{phases}");
}

#[tokio::test]
async fn a_failure_before_the_code_is_written_causes_no_other_attempt() {
    let test = TestCompiler::new();
    let dies = test.sandbox(|config| config.program = test.compiler("dies-at-once"));
    let (team, provider) = (
        TeamName::default_team(),
        ProviderName::parse("wiki").unwrap(),
    );
    let job = CompileJob {
        team: &team,
        provider: Some(&provider),
        priority: Priority::Optimisation,
    };
    assert!(
        dies.compile_for(&job, HashedComponent::new(echo()))
            .await
            .is_err()
    );
    assert_eq!(test.runs(), 1);
}

#[tokio::test]
async fn functions_count_in_the_size_of_the_cache() {
    let test = TestCompiler::new();
    compile(&test.sandbox(|_| {}), WIKI, echo()).await;
    test.functions(1).await;
    let code = test.code_of(&echo()).len() as u64;
    // The code of two components fits, but their functions do not fit in addition.
    let small = test.sandbox(|config| config.cache.size = code * 2);
    compile(&small, ("default", "other"), with_section(&echo(), 1)).await;
    let size = || {
        let files = fs::read_dir(test.cache())
            .unwrap()
            .filter_map(|file| file.unwrap().metadata().ok());
        files.map(|file| file.len()).sum::<u64>()
    };
    // Files of a few bytes, such as seals, do not count.
    eventually_within(SLOW_WAIT, "the cache is small enough", async || {
        size() < code * 2 + 4096
    })
    .await;
}

#[tokio::test]
async fn functions_have_the_limit_of_the_code() {
    let test = TestCompiler::new();
    compile(&test.sandbox(|_| {}), WIKI, echo()).await;
    let functions = fs::metadata(&test.functions(1).await[0]).unwrap().len();
    let code = test.code_of(&echo()).len() as u64;
    assert!(
        code < functions,
        "this test needs a limit between {code} and {functions} bytes"
    );
    let limited = test.sandbox(|config| config.code = code);
    // The code fits, and the functions are left out.
    compile(&limited, ("default", "other"), with_section(&echo(), 1)).await;
    assert_eq!(test.functions(1).await.len(), 1);
}
