//! What becomes a provider and what does not, told with the cause; the rest serves on.

use expect_test::{Expect, expect};

use crate::house::{Plan, component};

async fn check(plan: Plan, file: &str, expected: Expect) {
    let house = plan.open().await;
    expected.assert_eq(&house.rejected(file));
    assert!(house.text("echo://hello").await.starts_with("uri: echo://hello"), "the rest does not serve");
}

#[tokio::test]
async fn nothing_at_all() {
    check(Plan::of("echo").file("bad.wasm", b""), "bad.wasm", expect!["the file is empty"]).await;
}

#[tokio::test]
async fn something_else() {
    let expected =
        expect!["it is not a WebAssembly component (it does not begin with the magic bytes `\\0asm`)"];
    check(Plan::of("echo").file("bad.wasm", b"#!/bin/sh\n"), "bad.wasm", expected).await;
}

#[tokio::test]
async fn a_core_module() {
    let expected =
        expect!["it is a core module, not a component; `larder pack FILE -o OUT.wasm` makes one of it"];
    check(Plan::of("echo").file("bad.wasm", b"\0asm\x01\0\0\0"), "bad.wasm", expected).await;
}

#[tokio::test]
async fn a_truncated_component() {
    let bytes = std::fs::read(component("echo")).unwrap();
    let half = Plan::of("echo").file("bad.wasm", &bytes[..bytes.len() / 2]);
    let house = half.open().await;
    let reason = house.rejected("bad.wasm");
    assert!(reason.starts_with("it is not a valid component (truncated"), "{reason}");
}

#[tokio::test]
async fn a_component_that_is_no_provider() {
    // The smallest component there is: only the header.
    let expected =
        expect!["it does not export `larder:provider/resource-provider@0.1.0`, so it is not a provider"];
    check(Plan::of("echo").file("bad.wasm", b"\0asm\x0d\0\x01\0"), "bad.wasm", expected).await;
}

#[tokio::test]
async fn an_import_that_nobody_offers() {
    let expected = expect!["it imports `other:thing/api@1.2.3`, which this host does not offer"];
    check(Plan::of("echo unknown"), "unknown.wasm", expected).await;
}

#[tokio::test]
async fn more_than_the_limit() {
    let plan = Plan::of("echo big@many").terms("big", |grant, _| grant.limits.component_size = 1_000);
    let house = plan.open().await;
    let reason = house.rejected("big.wasm");
    assert!(reason.ends_with("the limit for components is 1000 (`limits.component_size`)"), "{reason}");
}

#[tokio::test]
async fn machine_code_is_never_taken() {
    let engine = wasmtime::Engine::default();
    let code = engine.precompile_component(&std::fs::read(component("echo")).unwrap()).unwrap();
    let expected = expect![
        "it is precompiled machine code, which is never loaded from a plugins folder; put the component itself there"
    ];
    check(Plan::of("echo").file("bad.wasm", &code), "bad.wasm", expected).await;
}

#[tokio::test]
async fn a_name_that_is_none() {
    let house = Plan::of("echo").file("not a name.wasm", b"\0asm\x0d\0\x01\0").open().await;
    let reason = house.rejected("not a name.wasm");
    assert!(reason.starts_with("`not a name` is not a name"), "{reason}");
}

#[tokio::test]
async fn a_component_that_was_rejected_is_not_compiled_again() {
    let mut house = Plan::of("echo unknown").open().await;
    assert_eq!(house.round.rejected.len(), 1);
    let again = house.reconcile().run_pass().await;
    assert!(again.rejected.is_empty() && again.loaded.is_empty(), "{again}");
    assert!(house.rejected("unknown.wasm").contains("other:thing/api"));
}

#[tokio::test]
async fn a_bad_revision_leaves_the_good_one_serving() {
    let mut house = Plan::of("echo").open().await;
    std::fs::write(house.folder.path().join("echo.wasm"), b"oops").unwrap();
    let round = house.reconcile().run_pass().await;
    assert_eq!(round.rejected.len(), 1, "{round}");
    assert!(house.text("echo://hello").await.starts_with("uri:"));
    std::fs::remove_file(house.folder.path().join("echo.wasm")).unwrap();
    let round = house.reconcile().run_pass().await;
    assert_eq!(round.removed.len(), 1, "{round}");
    assert_eq!(house.text("echo://hello").await, "error: no resource at `echo://hello`");
}
