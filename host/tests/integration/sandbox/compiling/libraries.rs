//! The libraries of a component are compiled separately, and are not compiled again for its next revision.

use std::fs;
use std::time::Duration;

use bytes::Bytes;
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::GuestLifetime;
use larder_provider::{CompileJob, HashedComponent, Priority, Rejection};
use larder_sandbox::{CompiledComponent, Sandbox};
use wasm_encoder::{
    CodeSection, ComponentImportSection, ComponentSection as _, ComponentTypeRef, CoreTypeSection,
    Function, FunctionSection, InstanceSection, Module, ModuleArg, ModuleSection, ModuleType,
    StartSection, TypeSection,
};
use wasmparser::{Parser, Payload};

use super::TestCompiler;
use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};
use crate::support::http_server::HttpTestServer;
use crate::support::revision::{NOW, revision, text};

/// A module with 100 KiB of code. Its start function has this effect.
fn library(effect: impl FnOnce(&mut Function)) -> Module {
    library_with(2, effect)
}

/// Like [`library`], with this many functions.
fn library_with(count: u32, effect: impl FnOnce(&mut Function)) -> Module {
    let (mut types, mut functions, mut code) = (
        TypeSection::new(),
        FunctionSection::new(),
        CodeSection::new(),
    );
    types.ty().function([], []);
    (0..count).for_each(|_| _ = functions.function(0));
    let (mut large, mut start) = (Function::new([]), Function::new([]));
    for _ in 0..35_000 {
        large.instructions().i32_const(1).drop();
    }
    large.instructions().end();
    effect(&mut start);
    start.instructions().end();
    code.function(&large).function(&start);
    let mut empty = Function::new([]);
    empty.instructions().end();
    (2..count).for_each(|_| _ = code.function(&empty));
    let mut module = Module::new();
    module
        .section(&types)
        .section(&functions)
        .section(&StartSection { function_index: 1 })
        .section(&code);
    module
}

/// Appends a library to a component, and an instance of it.
fn with_library(mut component: Vec<u8>, library: &Module) -> Bytes {
    let (mut depth, mut modules) = (0, 0);
    for payload in Parser::new(0).parse_all(&component) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } if depth == 0 => {
                (depth, modules) = (depth + 1, modules + 1)
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            _ => {}
        }
    }
    ModuleSection(library).append_to_component(&mut component);
    let mut instances = InstanceSection::new();
    instances.instantiate(modules, Vec::<(&str, ModuleArg)>::new());
    instances.append_to_component(&mut component);
    component.into()
}

/// A revision with a library that does nothing.
fn split_revision(number: u32) -> Bytes {
    with_library(revision(number), &library(|_| {}))
}

async fn try_to_compile(
    sandbox: &Sandbox,
    (team, priority): (&str, Priority),
    bytes: Bytes,
) -> Result<CompiledComponent, Rejection> {
    let (team, provider) = (
        TeamName::parse(team).unwrap(),
        ProviderName::parse("wiki").unwrap(),
    );
    let job = CompileJob {
        team: &team,
        provider: Some(&provider),
        priority,
    };
    sandbox.link(
        sandbox
            .compile_for(&job, HashedComponent::new(bytes))
            .await?
            .0,
    )
}

impl TestCompiler {
    /// How many libraries, components without their libraries, and whole components were compiled so far.
    fn compiled(&self) -> [usize; 3] {
        let runs = fs::read_to_string(self.folder.path().join("runs")).unwrap_or_default();
        let mut counts = [0; 3];
        for run in runs.lines() {
            match (run.contains("--unoptimised"), run.contains("--library")) {
                (true, true) => counts[0] += 1,
                (true, false) => counts[1] += 1,
                (false, _) => counts[2] += 1,
            }
        }
        counts
    }
}

#[tokio::test]
async fn a_new_revision_is_served_without_compiling_its_library_again() {
    let test = TestCompiler::new();
    let builder = TestServer::builder("")
        .compiler(test.compiler("hangs-in-optimisation"), test.cache())
        .provider("revision", |grant, _| grant.guests = GuestLifetime::Fresh)
        .file("revision.wasm", &split_revision(1));
    let mut http = HttpTestServer::from_builder(builder).await;
    http.run_reconciler();
    assert_eq!(http.server.text(NOW).await, text(1));
    let new = http.server.folder.path().join("new");
    fs::write(&new, split_revision(2)).unwrap();
    fs::rename(&new, http.server.plugins.join("revision.wasm")).unwrap();
    http.server.wait_for_revision(2).await;
    let unoptimised = || http.server.metrics.server().unoptimised_components.get();
    assert_eq!(unoptimised(), 1);
    assert_eq!(test.compiled()[..2], [1, 2]);
    // The optimised code contains the library.
    fs::write(test.folder.path().join("go"), "").unwrap();
    eventually_within(SLOW_WAIT, "the code is optimised", async || {
        unoptimised() == 0
    })
    .await;
    assert_eq!(http.server.text(NOW).await, text(2));
    let is_expected = async || test.files("cwasm").len() <= 3;
    eventually_within(SLOW_WAIT, "preliminary code is removed", is_expected).await;
}

#[tokio::test]
async fn instances_of_libraries_are_charged_as_memory_of_the_guest() {
    // An instance needs 32 bytes for each of these functions.
    let has_functions = |count: u32| {
        let test = TestCompiler::new();
        let component = with_library(revision(1), &library_with(count, |_| {}));
        async move {
            let builder = TestServer::builder("")
                .compiler(test.compiler("hangs-in-optimisation"), test.cache())
                .provider("revision", |grant, _| grant.limits.memory = 1 << 20)
                .file("revision.wasm", &component);
            let mut http = HttpTestServer::from_builder(builder).await;
            http.run_reconciler();
            let compiled = async || test.compiled()[..2] == [1, 1];
            eventually_within(SLOW_WAIT, "it is compiled", compiled).await;
            http
        }
    };
    assert_eq!(has_functions(2).await.server.text(NOW).await, text(1));
    let http = has_functions(15_900).await;
    let rejected = async || {
        http.server
            .rejection_reason("revision.wasm")
            .contains("memory")
    };
    eventually_within(SLOW_WAIT, "it is rejected", rejected).await;
}

#[tokio::test]
async fn the_library_is_a_part_of_the_component() {
    let test = TestCompiler::new();
    let traps = with_library(
        revision(1),
        &library(|start| _ = start.instructions().unreachable()),
    );
    let builder = TestServer::builder("")
        .compiler(test.compiler("counts"), test.cache())
        .file("revision.wasm", &traps);
    let mut http = HttpTestServer::from_builder(builder).await;
    http.run_reconciler();
    eventually_within(SLOW_WAIT, "it is compiled", async || {
        test.compiled()[..2] == [1, 1]
    })
    .await;
    let rejected = async || {
        http.server
            .rejection_reason("revision.wasm")
            .contains("unreachable")
    };
    eventually_within(SLOW_WAIT, "it is rejected", rejected).await;
}

#[tokio::test]
async fn each_team_compiles_its_libraries() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|config| config.program = test.compiler("counts"));
    for team in ["alpha", "beta"] {
        try_to_compile(&sandbox, (team, Priority::Replacement), split_revision(1))
            .await
            .unwrap();
    }
    assert_eq!(test.compiled(), [2, 2, 0]);
    let first = try_to_compile(
        &sandbox,
        ("alpha", Priority::Replacement),
        split_revision(2),
    )
    .await
    .unwrap();
    assert_eq!(test.compiled(), [2, 3, 0]);
    // The component does not contain the import that replaces the library.
    let whole = sandbox
        .compile(&TeamName::default_team(), split_revision(2))
        .await
        .unwrap();
    assert_eq!(first.imports(), whole.imports());
    assert_eq!(first.digest(), whole.digest());
    assert_eq!(test.compiled(), [2, 3, 1]);
}

#[tokio::test]
async fn a_damaged_library_is_compiled_again() {
    let test = TestCompiler::new();
    let compile = async |number| {
        let sandbox = test.sandbox(|config| config.program = test.compiler("counts"));
        let job = ("default", Priority::Awaited);
        try_to_compile(&sandbox, job, split_revision(number))
            .await
            .unwrap();
    };
    compile(1).await;
    compile(1).await;
    assert_eq!(test.compiled(), [1, 1, 0]);
    for file in test.files("cwasm") {
        let length = fs::metadata(&file).unwrap().len();
        fs::OpenOptions::new()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(length - 1)
            .unwrap();
    }
    compile(1).await;
    assert_eq!(test.compiled(), [2, 2, 0]);
}

#[tokio::test]
async fn parts_that_are_too_large_together_are_compiled_as_a_whole() {
    let test = TestCompiler::new();
    let job = ("default", Priority::Replacement);
    try_to_compile(&test.sandbox(|_| {}), job, split_revision(1))
        .await
        .unwrap();
    let largest = test
        .files("cwasm")
        .iter()
        .map(|file| fs::metadata(file).unwrap().len())
        .max()
        .unwrap();
    let other = TestCompiler::new();
    let sandbox = other.sandbox(|config| {
        config.program = other.compiler("counts");
        config.code = largest;
    });
    // Optimised code is smaller.
    try_to_compile(&sandbox, job, split_revision(1))
        .await
        .unwrap();
    assert_eq!(other.compiled(), [1, 1, 1]);
    // Parts that are in the cache are not used either.
    let again = test.sandbox(|config| {
        config.program = test.compiler("counts");
        config.code = largest;
    });
    try_to_compile(&again, job, split_revision(1))
        .await
        .unwrap();
    assert_eq!(test.compiled()[2], 1);
}

#[tokio::test]
async fn parts_share_the_time_limit() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|config| {
        config.program = test.compiler("slow");
        config.timeout = Duration::from_secs(4);
    });
    // One library is compiled in parallel to the others. Three other libraries and the rest take 1.5 s each.
    let component = (0..4).fold(revision(1).into(), |component: Bytes, number| {
        let library = library(|start| _ = start.instructions().i32_const(number).drop());
        with_library(component.into(), &library)
    });
    let error = try_to_compile(&sandbox, ("default", Priority::Replacement), component)
        .await
        .err();
    let expected = "compiling its parts takes longer than 4s";
    assert_eq!(error, Some(Rejection::Compiler(expected.into())));
    assert_eq!(test.compiled()[2], 0, "it would take as long as a whole");
}

#[tokio::test]
async fn a_component_cannot_import_a_library_itself() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|_| {});
    let job = ("default", Priority::Awaited);
    try_to_compile(&sandbox, job, split_revision(1))
        .await
        .unwrap();
    // The name of the import that replaces this library, which is in the cache.
    let name = format!("larder-library-x{}", Digest::of(library(|_| {}).as_slice()));
    let other = library(|start| _ = start.instructions().i32_const(1).drop());
    for mut component in [revision(2), with_library(revision(2), &other).into()] {
        let (mut types, mut imports) = (CoreTypeSection::new(), ComponentImportSection::new());
        types.ty().module(&ModuleType::new());
        types.append_to_component(&mut component);
        imports.import(name.as_str(), ComponentTypeRef::Module(0));
        imports.append_to_component(&mut component);
        for _ in 0..2 {
            let rejected = try_to_compile(&sandbox, job, component.clone().into())
                .await
                .err();
            assert_eq!(rejected, Some(Rejection::UnknownImport(name.clone())));
        }
    }
}
