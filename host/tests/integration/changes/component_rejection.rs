//! Why a component is rejected. The other components are still served.

use std::process::Command;

use expect_test::{Expect, expect};

use crate::support::harness::{TestServer, TestServerBuilder, component_path};
use crate::support::process::WorkDir;

async fn check(plan: TestServerBuilder, file: &str, expected: Expect) {
    let server = plan.start().await;
    expected.assert_eq(&server.rejection_reason(file));
    assert!(
        server
            .text("echo://hello")
            .await
            .starts_with("uri: echo://hello"),
        "the other provider does not serve"
    );
}

#[tokio::test]
async fn an_empty_file() {
    check(
        TestServer::builder("echo").file("bad.wasm", b""),
        "bad.wasm",
        expect!["the file is empty"],
    )
    .await;
}

#[tokio::test]
async fn a_file_that_is_not_webassembly() {
    let expected = expect![
        "it is not a WebAssembly component (it does not begin with the magic bytes `\\0asm`)"
    ];
    check(
        TestServer::builder("echo").file("bad.wasm", b"#!/bin/sh\n"),
        "bad.wasm",
        expected,
    )
    .await;
}

#[tokio::test]
async fn a_core_module() {
    let expected = expect![
        "it is a core module, not a component; `larder pack FILE -o OUT.wasm` makes one of it"
    ];
    check(
        TestServer::builder("echo").file("bad.wasm", b"\0asm\x01\0\0\0"),
        "bad.wasm",
        expected,
    )
    .await;
}

#[tokio::test]
async fn a_component_that_requires_an_unsupported_feature() {
    // A component that contains a core module with a shared memory.
    let module = b"\0asm\x01\0\0\0\x05\x04\x01\x03\x01\x01";
    let component = [b"\0asm\x0d\0\x01\0\x01\x0e".as_slice(), module].concat();
    let expected = expect![
        "it requires features of WebAssembly that this host does not support: threads (shared memory, atomics); build it without them"
    ];
    check(
        TestServer::builder("echo").file("bad.wasm", &component),
        "bad.wasm",
        expected,
    )
    .await;
}

#[tokio::test]
async fn a_component_with_a_larger_table_than_its_limit() {
    let builder = TestServer::builder("echo many")
        .provider("many", |grant, _| grant.limits.table_elements = 1);
    let expected = expect![
        "cannot get its description: it needs a table with more than its 1 elements (`limits.table_elements`)"
    ];
    check(builder, "many.wasm", expected).await;
}

#[test]
fn a_server_with_a_limited_address_space_names_the_cause() {
    let work_dir = WorkDir::with_guests("echo");
    let larder = work_dir.command(&[], "check");
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -v 3000000; exec \"$0\" check"])
        .arg(larder.get_program());
    limited
        .current_dir(work_dir.path(""))
        .env_clear()
        .envs(larder.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let output = limited.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        text.contains("echo.wasm is rejected") && text.contains("`ulimit -v`"),
        "{text}"
    );
}

#[tokio::test]
async fn a_truncated_component() {
    let bytes = std::fs::read(component_path("echo")).unwrap();
    let half = TestServer::builder("echo").file("bad.wasm", &bytes[..bytes.len() / 2]);
    let server = half.start().await;
    let reason = server.rejection_reason("bad.wasm");
    assert!(
        reason.starts_with("it is not a valid component (truncated"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_component_without_the_provider_interface() {
    // The smallest component: only the header.
    let expected = expect![
        "it exports neither `larder:provider/resource-provider@0.1.0` nor functions, so there is nothing to serve"
    ];
    check(
        TestServer::builder("echo").file("bad.wasm", b"\0asm\x0d\0\x01\0"),
        "bad.wasm",
        expected,
    )
    .await;
}

#[tokio::test]
async fn an_import_that_the_host_does_not_offer() {
    let expected = expect![
        "it imports `other:thing/api@1.2.3`, which this host does not offer: it belongs to another component; compose the two, for example with `wac plug`, or build the component without it"
    ];
    check(
        TestServer::builder("echo unknown"),
        "unknown.wasm",
        expected,
    )
    .await;
}

#[tokio::test]
async fn an_import_with_other_types() {
    let logging = |version: &str| format!("wasi:logging/logging@{version}-draft");
    let names = [(&*logging("0.9.0"), &*logging("0.1.0"))];
    let server = TestServer::builder("echo")
        .file("bad.wasm", &with_names("refused_imports", &names))
        .start()
        .await;
    let reason = server.rejection_reason("bad.wasm");
    let begin = "the types of an import differ from those that this host offers: ";
    assert!(
        reason.starts_with(begin) && reason.contains(&logging("0.1.0")),
        "{reason}"
    );
}

/// A guest with these names instead of other names of the same length.
fn with_names(guest: &str, names: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = std::fs::read(component_path(guest)).unwrap();
    for (name, replacement) in names {
        assert_eq!(name.len(), replacement.len());
        let found: Vec<_> = bytes
            .windows(name.len())
            .enumerate()
            .filter(|(_, at)| *at == name.as_bytes())
            .collect();
        let positions: Vec<_> = found.into_iter().map(|(position, _)| position).collect();
        assert!(!positions.is_empty(), "{name}");
        for position in positions {
            bytes[position..][..name.len()].copy_from_slice(replacement.as_bytes());
        }
    }
    bytes
}

#[tokio::test]
async fn another_version_of_the_contract() {
    let interface = |name: &str, version: &str| format!("larder:provider/{name}@{version}");
    let names = ["provider-types", "http-client", "resource-provider"];
    let newer = "update larder or rebuild the component";
    for (changed, version, shown, remedy) in [
        (&names[..], "0.2.0", "0.2", newer),
        (&names[1..2], "0.2.0", "0.2", newer),
        (&names[2..], "0.2.0", "0.2", newer),
        (&names[..], "1.0.0", "1.0", newer),
        (&names[1..2], "0.0.9", "0.0", "rebuild the component"),
    ] {
        let pairs = changed
            .iter()
            .map(|name| (interface(name, "0.1.0"), interface(name, version)));
        let pairs: Vec<_> = pairs.collect();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(from, to)| (from.as_str(), to.as_str()))
            .collect();
        let server = TestServer::builder("echo")
            .file("bad.wasm", &with_names("net", &pairs))
            .start()
            .await;
        assert_eq!(
            server.rejection_reason("bad.wasm"),
            format!(
                "it is built for version {shown} of the contract; this host supports 0.1: {remedy} \
                 with the contract that `larder bindings wit` writes"
            ),
            "{changed:?} {version}"
        );
    }
}

#[tokio::test]
async fn a_component_larger_than_the_limit() {
    let plan = TestServer::builder("echo big@many")
        .provider("big", |grant, _| grant.limits.component_size = 1_000);
    let server = plan.start().await;
    let reason = server.rejection_reason("big.wasm");
    assert!(
        reason.ends_with("the limit for components is 1 KB (`limits.component_size`)"),
        "{reason}"
    );
}

#[tokio::test]
async fn precompiled_machine_code() {
    let engine = wasmtime::Engine::default();
    let code = engine
        .precompile_component(&std::fs::read(component_path("echo")).unwrap())
        .unwrap();
    let expected = expect![
        "it is precompiled machine code, which is never loaded from a plugins folder; put the component itself there"
    ];
    check(
        TestServer::builder("echo").file("bad.wasm", &code),
        "bad.wasm",
        expected,
    )
    .await;
}

#[tokio::test]
async fn an_invalid_provider_name() {
    let server = TestServer::builder("echo")
        .file("not a name.wasm", b"\0asm\x0d\0\x01\0")
        .start()
        .await;
    let reason = server.rejection_reason("not a name.wasm");
    assert!(reason.starts_with("`not a name` is not a name"), "{reason}");
}

#[tokio::test]
async fn a_component_that_was_rejected_is_not_compiled_again() {
    let mut server = TestServer::builder("echo unknown").start().await;
    assert_eq!(server.first_pass.rejected.len(), 1);
    let again = server.reconciler().run_pass().await;
    assert!(
        again.rejected.is_empty() && again.loaded.is_empty(),
        "{again}"
    );
    assert!(
        server
            .rejection_reason("unknown.wasm")
            .contains("other:thing/api")
    );
}

#[tokio::test]
async fn a_bad_revision_leaves_the_good_one_serving() {
    let mut server = TestServer::builder("echo").start().await;
    std::fs::write(server.folder.path().join("echo.wasm"), b"oops").unwrap();
    let pass = server.reconciler().run_pass().await;
    assert_eq!(pass.rejected.len(), 1, "{pass}");
    assert!(server.text("echo://hello").await.starts_with("uri:"));
    std::fs::remove_file(server.folder.path().join("echo.wasm")).unwrap();
    let pass = server.reconciler().run_pass().await;
    assert_eq!(pass.removed.len(), 1, "{pass}");
    assert_eq!(
        server.text("echo://hello").await,
        "error: no resource at `echo://hello`"
    );
}
