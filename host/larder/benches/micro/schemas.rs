//! Measures the validation of arguments apart from calls: schemas as tools have them, and one with much to compare.

use std::hint::black_box;

use criterion::Criterion;
use larder_core::catalog::OfferedTool;
use larder_model::tool::{Hints, Tool, ToolName};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

pub(crate) fn schemas(c: &mut Criterion) {
    let one = json!({
        "type": "object",
        "properties": { "uri": { "type": "string", "minLength": 1 } },
        "required": ["uri"],
        "additionalProperties": false,
    });
    validation(
        c,
        "one argument",
        &one,
        &json!({ "uri": "sized://fresh/text/1024" }),
    );
    let names: Vec<String> = (0..20).map(|n| format!("argument{n:02}")).collect();
    let properties: serde_json::Map<_, _> = names
        .iter()
        .map(|name| {
            (
                name.clone(),
                json!({ "type": "string", "pattern": "^[a-z]+$", "maxLength": 40 }),
            )
        })
        .collect();
    let many = json!({ "type": "object", "properties": properties, "required": names });
    let arguments: serde_json::Map<_, _> = names
        .iter()
        .map(|name| (name.clone(), "value".into()))
        .collect();
    validation(c, "20 arguments with patterns", &many, &arguments.into());
    let list = json!({
        "type": "object",
        "properties": { "points": { "type": "array", "maxItems": 1000, "items": {
            "type": "object",
            "properties": { "x": { "type": "number" }, "y": { "type": "number" }, "kind": { "enum": ["a", "b"] } },
            "required": ["x", "y"],
        } } },
    });
    let points: Vec<Value> = (0..1000)
        .map(|n| json!({ "x": n, "y": 0.5, "kind": "b" }))
        .collect();
    validation(c, "1000 objects", &list, &json!({ "points": points }));
}

fn validation(c: &mut Criterion, name: &str, schema: &Value, arguments: &Value) {
    let tool = tool(schema);
    assert!(
        tool.accepts(arguments) && !tool.accepts(&json!(7)),
        "{name}"
    );
    c.bench_function(&format!("schema/{name}"), |b| {
        b.iter(|| tool.accepts(black_box(arguments)))
    });
}

fn tool(schema: &Value) -> OfferedTool {
    let tool = Tool {
        name: ToolName::parse("measured").expect("a name"),
        title: None,
        description: None,
        input_schema: to_raw_value(schema).expect("JSON"),
        output_schema: None,
        hints: Hints::default(),
        icons: vec![],
        metadata: vec![],
    };
    OfferedTool::compile(tool).expect("a schema")
}
