//! Tools with each kind of result.

use larder_provider::{Block, Call, EmbeddedResource, Result, ToolResult, Tools};

use super::tool;
use crate::media::{PIXEL, SILENCE};

pub(super) fn add<P: 'static>(tools: Tools<P>) -> Tools<P> {
    tools
        .tool(tool("test_simple_text", "Returns a text.", simple_text))
        .tool(tool("test_image_content", "Returns a picture.", image))
        .tool(tool("test_audio_content", "Returns a sound.", audio))
        .tool(tool(
            "test_embedded_resource",
            "Returns a resource.",
            resource,
        ))
        .tool(tool(
            "test_multiple_content_types",
            "Returns content of three types.",
            multiple,
        ))
        .tool(tool("test_error_handling", "Fails.", error))
}

fn simple_text(_call: &Call) -> Result<String> {
    Ok("This is a simple text response for testing.".to_owned())
}

fn image(_call: &Call) -> Result<ToolResult> {
    Ok(blocks([Block::image("image/png", PIXEL)]))
}

fn audio(_call: &Call) -> Result<ToolResult> {
    Ok(blocks([Block::audio("audio/wav", SILENCE)]))
}

fn resource(_call: &Call) -> Result<ToolResult> {
    let text = "This is an embedded resource content.";
    Ok(blocks([EmbeddedResource::text(
        "test://embedded-resource",
        text,
    )
    .mime("text/plain")
    .into()]))
}

fn multiple(_call: &Call) -> Result<ToolResult> {
    let text = r#"{"test":"data","value":123}"#;
    let resource =
        EmbeddedResource::text("test://mixed-content-resource", text).mime("application/json");
    let image = Block::image("image/png", PIXEL);
    Ok(blocks([
        "Multiple content types test:".into(),
        image,
        resource.into(),
    ]))
}

fn error(_call: &Call) -> Result<ToolResult> {
    Ok(ToolResult::error(
        "This tool intentionally returns an error for testing",
    ))
}

fn blocks<const N: usize>(content: [Block; N]) -> ToolResult {
    ToolResult {
        content: content.into(),
        structured: None,
        is_error: false,
        metadata: Vec::new(),
    }
}
