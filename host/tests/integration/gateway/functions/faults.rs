//! Functions that misbehave, and components with too much of something. The neighbours do not notice.

use std::time::Duration;

use larder_model::policy::{GuestLifetime, ToolGrant};
use serde_json::{Value, json};
use wasm_encoder::{
    CanonicalFunctionSection, CanonicalOption, CodeSection, Component, ComponentAliasSection,
    ComponentExportKind, ComponentExportSection, ComponentInstanceSection, ComponentTypeSection,
    ComponentValType, ExportKind, ExportSection, Function, FunctionSection, InstanceSection,
    Module, ModuleArg, ModuleSection, PrimitiveValType, TypeSection, ValType,
};

use super::{call, omitted, text};
use crate::support::harness::TestServer;
use crate::support::http_server::HttpTestServer;

async fn start(lifetime: GuestLifetime) -> HttpTestServer {
    start_with(lifetime, Duration::from_secs(30)).await
}

async fn start_with(lifetime: GuestLifetime, cpu_time: Duration) -> HttpTestServer {
    let builder = TestServer::builder("function_faults").provider("function_faults", |grant, _| {
        grant.tools = ToolGrant::All;
        grant.guests = lifetime;
        grant.limits.timeout = Duration::from_secs(6);
        grant.limits.cpu_time = cpu_time;
        grant.limits.result = 4 << 20;
        grant.limits.memory = 256 << 20;
    });
    HttpTestServer::from_builder(builder).await
}

#[tokio::test]
async fn a_function_that_fails_has_the_limits_of_any_call() {
    let server = start(GuestLifetime::Fresh).await;
    for (name, arguments, expected) in [
        ("trap", json!({}), "it trapped"),
        ("sleep", json!({}), "it did not respond within 6s"),
        (
            "long-text",
            json!({ "bytes": 100 << 20 }),
            "its response is larger than the limit of 4 MiB",
        ),
        (
            "long-list",
            json!({ "items": 1 << 20 }),
            "its response is larger than the limit of 4 MiB",
        ),
    ] {
        let result = call(&server, name, arguments).await.to_string();
        assert!(result.contains(expected), "{name}: {result}");
        assert_eq!(text(&server, "fine", json!({})).await, "1");
    }
    // This fits into the limit of a call, but not into a structured result.
    let large = call(&server, "long-text", json!({ "bytes": 2 << 20 })).await;
    assert_eq!(large["content"][0]["text"].as_str().unwrap().len(), 2 << 20);
}

#[tokio::test]
async fn a_function_that_computes_without_an_end_is_stopped() {
    let server = start_with(GuestLifetime::Fresh, Duration::from_millis(50)).await;
    let result = call(&server, "spin", json!({})).await.to_string();
    assert!(
        result.contains("it exceeded its CPU time of 50ms"),
        "{result}"
    );
    assert_eq!(text(&server, "fine", json!({})).await, "1");
}

#[tokio::test]
async fn guests_are_new_for_each_call_unless_the_operator_allows_reuse() {
    for (lifetime, expected) in [(GuestLifetime::Fresh, "1"), (GuestLifetime::Reused, "3")] {
        let server = start(lifetime).await;
        let mut last = String::new();
        for _ in 0..3 {
            last = text(&server, "stored", json!({})).await;
        }
        assert_eq!(last, expected, "{lifetime:?}");
    }
}

/// A component that exports one function under many names. Its parameter has this type, which is passed as some core
/// values.
fn many_functions(
    count: usize,
    core_values: usize,
    define: impl FnOnce(&mut ComponentTypeSection) -> ComponentValType,
) -> Vec<u8> {
    let mut component = one_function(core_values, define);
    let mut exports = ComponentExportSection::new();
    for number in 0..count {
        exports.export(format!("f{number}"), ComponentExportKind::Func, 0, None);
    }
    component.section(&exports);
    component.finish()
}

/// A component with one function, which has the number 0, and without exports.
fn one_function(
    core_values: usize,
    define: impl FnOnce(&mut ComponentTypeSection) -> ComponentValType,
) -> Component {
    let mut types = TypeSection::new();
    types.ty().function(vec![ValType::I32; core_values], []);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export("f", ExportKind::Func, 0);
    let mut code = CodeSection::new();
    let mut body = Function::new([]);
    body.instructions().end();
    code.function(&body);
    let mut module = Module::new();
    module
        .section(&types)
        .section(&functions)
        .section(&exports)
        .section(&code);
    let mut component = Component::new();
    component.section(&ModuleSection(&module));
    let mut instances = InstanceSection::new();
    instances.instantiate(0, [] as [(&str, ModuleArg); 0]);
    component.section(&instances);
    let mut aliases = ComponentAliasSection::new();
    aliases.alias(wasm_encoder::Alias::CoreInstanceExport {
        instance: 0,
        kind: ExportKind::Func,
        name: "f",
    });
    component.section(&aliases);
    let mut types = ComponentTypeSection::new();
    let parameter = define(&mut types);
    let function = types.len();
    types.function().params([("value", parameter)]).result(None);
    component.section(&types);
    let mut lifted = CanonicalFunctionSection::new();
    lifted.lift(0, function, [] as [CanonicalOption; 0]);
    component.section(&lifted);
    component
}

/// A component whose two interfaces have the same last name and the same function.
fn same_names() -> Vec<u8> {
    let number = |_: &mut _| ComponentValType::Primitive(PrimitiveValType::U32);
    let mut component = one_function(1, number);
    let mut instances = ComponentInstanceSection::new();
    instances.export_items([("go", ComponentExportKind::Func, 0)]);
    component.section(&instances);
    let mut exports = ComponentExportSection::new();
    for interface in ["a:b/time", "c:d/time"] {
        exports.export(interface, ComponentExportKind::Instance, 0, None);
    }
    component.section(&exports);
    component.finish()
}

async fn serve(bytes: &[u8]) -> TestServer {
    let builder =
        super::builder("function_time").provider("large", |grant, _| grant.tools = ToolGrant::All);
    builder.file("large.wasm", bytes).start().await
}

#[tokio::test]
async fn one_of_two_functions_whose_tools_have_the_same_name_is_served() {
    let server = serve(&same_names()).await;
    let notes = omitted(&server, "large");
    let note = notes.iter().find(|note| note.contains("`time_go`"));
    let note = note.unwrap_or_else(|| panic!("{notes:#?}"));
    assert!(note.contains("rename one of the interfaces"), "{note}");
    let server = HttpTestServer::serve(server, crate::support::http_server::config()).await;
    let result = call(&server, "time_go", json!({ "value": 1 })).await;
    assert_eq!(result["content"], json!([]), "{result}");
}

#[tokio::test]
async fn functions_beyond_the_limit_are_reported() {
    let bytes = many_functions(1_100, 1, |_| {
        ComponentValType::Primitive(PrimitiveValType::U32)
    });
    let server = serve(&bytes).await;
    let notes = omitted(&server, "large");
    assert!(
        notes
            .iter()
            .any(|note| note.contains("more than 1000 functions")),
        "{notes:#?}"
    );
    assert!(
        notes.contains(&"80 more functions".to_owned()),
        "{notes:#?}"
    );
    let server = HttpTestServer::serve(server, crate::support::http_server::config()).await;
    let page = server.modern("tools/list", json!({})).await.json();
    assert!(
        page["result"]["nextCursor"].is_string(),
        "a thousand tools need several pages"
    );
    assert_eq!(
        call(&server, "f999", json!({ "value": 1 })).await["content"],
        json!([])
    );
}

/// The type of a schema whose size doubles with each level.
fn nested_results(types: &mut ComponentTypeSection, levels: u32) -> ComponentValType {
    let mut ty = ComponentValType::Primitive(PrimitiveValType::U32);
    for level in 0..levels {
        types.defined_type().result(Some(ty), Some(ty));
        ty = ComponentValType::Type(level);
    }
    ty
}

#[tokio::test]
async fn the_schemas_of_all_functions_have_a_limit() {
    // Each of the schemas fits, and together they have more than 8 MiB.
    let levels = 7;
    let bytes = many_functions(900, levels as usize + 1, |types| {
        nested_results(types, levels)
    });
    let server = serve(&bytes).await;
    let notes = omitted(&server, "large");
    assert!(
        notes[0]
            .ends_with("the schemas of all functions have more than 8 MiB: split the component"),
        "{notes:#?}"
    );
    let server = HttpTestServer::serve(server, crate::support::http_server::config()).await;
    let mut value = json!(1);
    for _ in 0..levels {
        value = json!({ "tag": "ok", "val": value });
    }
    let result = call(&server, "f0", json!({ "value": value })).await;
    assert_eq!(result["content"], json!([]), "{result}");
}

#[tokio::test]
async fn types_that_are_too_deep_or_too_large_are_refused() {
    // A record of one number is passed as this number.
    let nested = |levels: u32| {
        many_functions(1, 1, |types| {
            let mut ty = ComponentValType::Primitive(PrimitiveValType::U32);
            for level in 0..levels {
                types.defined_type().tuple([ty]);
                ty = ComponentValType::Type(level);
            }
            ty
        })
    };
    let server = serve(&nested(19)).await;
    assert_eq!(omitted(&server, "large"), Vec::<String>::new());
    let server = serve(&nested(20)).await;
    assert_eq!(
        server.rejection_reason("large.wasm"),
        "none of its functions can be a tool: the function `f0`: its parameter `value` is nested more than 20 levels deep: use simpler types"
    );
    let wide = many_functions(2, 13, |types| nested_results(types, 12));
    let server = serve(&wide).await;
    let reason = server.rejection_reason("large.wasm");
    assert!(
        reason.contains("its input schema has more than 64 KiB"),
        "{reason}"
    );
    let server = HttpTestServer::serve(server, crate::support::http_server::config()).await;
    let neighbour = text(
        &server,
        "time_get-current-time",
        Value::Object(Default::default()),
    )
    .await;
    assert!(neighbour.ends_with("since 1970"), "{neighbour}");
}
