//! Bindings of the optional interfaces for tools, prompts, search and settings, for the guests that export them.
#![allow(dead_code, unused_imports, reason = "no guest uses everything")]

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:interfaces;
        world optional {
            import larder:provider/interaction-host@0.1.0;
            export larder:provider/tool-provider@0.1.0;
            export larder:provider/prompt-provider@0.1.0;
            export larder:provider/search-provider@0.1.0;
            export larder:provider/settings-provider@0.1.0;
        }
    ",
    pub_export_macro: true,
    export_macro_name: "export_interfaces",
    with: {
        "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types,
        "larder:provider/interaction-types@0.1.0": generate,
        "larder:provider/interaction-host@0.1.0": generate,
    },
});

pub use exports::larder::provider::{
    prompt_provider, search_provider, settings_provider, tool_provider,
};
pub use larder::provider::interaction_host;
pub use larder::provider::interaction_types::{
    Annotations, Block, BlockValue, EmbeddedResource, InputRequest, InputRequired, Media,
    ProvidedInput,
};
pub use prompt_provider::{
    Argument, ArgumentQuery, Message, Prompt, PromptAnswer, PromptPage, PromptRequest,
    PromptResult, Suggestions,
};
pub use search_provider::{Hit, Hits, SearchQuery};
pub use settings_provider::{Declaration, Kind};
pub use tool_provider::{Hints, Tool, ToolAnswer, ToolCall, ToolPage, ToolResult};

use guests::Error;

/// A tool without any optional fields.
pub fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        title: None,
        description: None,
        input_schema: "{\"type\":\"object\"}".to_owned(),
        output_schema: None,
        hints: Hints {
            read_only: None,
            destructive: None,
            idempotent: None,
            open_world: None,
            long_running: None,
        },
        icons: vec![],
        metadata: vec![],
    }
}

/// A page with all tools.
pub fn tool_page(tools: Vec<Tool>) -> Result<ToolPage, Error> {
    Ok(ToolPage {
        tools,
        next_cursor: None,
        freshness: None,
    })
}

/// A block without annotations.
pub fn block(value: BlockValue) -> Block {
    Block {
        value,
        annotations: None,
        metadata: vec![],
    }
}

/// A result with these blocks.
pub fn result(content: Vec<Block>) -> ToolResult {
    ToolResult {
        content,
        structured: None,
        is_error: false,
        metadata: vec![],
    }
}

/// A result with one text.
pub fn text_result(text: impl Into<String>) -> Result<ToolAnswer, Error> {
    Ok(ToolAnswer::Complete(result(vec![block(BlockValue::Text(
        text.into(),
    ))])))
}

/// A prompt without arguments.
pub fn prompt(name: &str) -> Prompt {
    Prompt {
        name: name.to_owned(),
        title: None,
        description: None,
        arguments: vec![],
        icons: vec![],
        metadata: vec![],
    }
}

/// A page with all prompts.
pub fn prompt_page(prompts: Vec<Prompt>) -> Result<PromptPage, Error> {
    Ok(PromptPage {
        prompts,
        next_cursor: None,
        freshness: None,
    })
}

/// An argument.
pub fn argument(name: &str, required: bool) -> Argument {
    Argument {
        name: name.to_owned(),
        title: None,
        description: None,
        required,
    }
}

/// An optional setting without a default.
pub fn declaration(name: &str, kind: Kind) -> Declaration {
    Declaration {
        name: name.to_owned(),
        kind,
        description: String::new(),
        default: None,
        required: false,
        secret: false,
    }
}
