//! The tools and prompts of one provider, under the names that clients see.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::header_parameters::HeaderParameter;
use larder_json_schema::{Effort, JsonSchema, SchemaError, pattern};
use larder_model::name::Digest;
use larder_model::policy::{UI_KEY, is_for_apps_only, page_of};
use larder_model::prompt::{Argument, Prompt};
use larder_model::resource::{Icon, Metadata, RenderCache, Theme};
use larder_model::tool::{Hints, Tool, ToolName};
use larder_model::uri::Uri;
use larder_provider::{MAX_EFFORT, ToolSchemas};

/// The tools and prompts of one provider that clients can use.
#[derive(Debug, Default)]
pub struct Definitions {
    /// The tools, sorted by name.
    pub tools: Vec<Arc<OfferedTool>>,
    /// The prompts, sorted by name.
    pub prompts: Vec<Arc<OfferedPrompt>>,
    /// The names of tools that were offered before, and whose definitions now wait for approval. Tools of other
    /// providers with these names are not offered.
    pub reserved: Vec<ToolName>,
}

/// A tool that clients can call.
#[derive(Debug)]
pub struct OfferedTool {
    /// The name that clients see: the operator's prefix, then the name that the provider gave to the tool.
    pub name: ToolName,
    /// The tool as its provider defines it.
    pub tool: Tool,
    /// The digest of everything that clients see of the tool.
    pub digest: Digest,
    /// The definition as clients receive it.
    pub rendered: RenderCache,
    /// The arguments that clients also send as HTTP headers.
    pub header_parameters: Vec<HeaderParameter>,
    /// The page of the app that shows the results of the tool.
    pub page: Option<Uri>,
    /// Whether only apps can call the tool, and models cannot.
    pub is_for_apps_only: bool,
    schemas: ToolSchemas,
}

/// A prompt that clients can get.
#[derive(Debug)]
pub struct OfferedPrompt {
    /// The name that clients see.
    pub name: String,
    /// The prompt as its provider defines it.
    pub prompt: Prompt,
    /// The digest of everything that clients see of the prompt.
    pub digest: Digest,
    /// The definition as clients receive it.
    pub rendered: RenderCache,
}

impl Definitions {
    /// Sorts tools and prompts by name.
    pub(crate) fn new(mut tools: Vec<OfferedTool>, mut prompts: Vec<OfferedPrompt>) -> Self {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        prompts.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            tools: tools.into_iter().map(Arc::new).collect(),
            prompts: prompts.into_iter().map(Arc::new).collect(),
            reserved: Vec::new(),
        }
    }
}

impl OfferedTool {
    /// Compiles the schemas of a tool. Fails if a schema is invalid, or if the name with the prefix is too long.
    pub(crate) fn new(tool: Tool, prefix: &str) -> Result<Self, String> {
        Self::with_pattern_size(tool, prefix, pattern::size_limit(1))
    }

    /// Like [`Self::new`], with this limit for the size of each regular expression.
    pub(crate) fn with_pattern_size(tool: Tool, prefix: &str, size: usize) -> Result<Self, String> {
        let name = prefixed_name(&tool, prefix)?;
        let schema = parse_schema(&tool.input_schema)?;
        let input = compile_input(&schema, size)?;
        let header_parameters =
            HeaderParameter::all(&schema).map_err(|why| format!("its input schema: {why}"))?;
        let output = tool
            .output_schema
            .as_deref()
            .map(|schema| compile_output(schema, size))
            .transpose()?;
        let schemas = ToolSchemas {
            input: Arc::new(input),
            output: output.map(Arc::new),
        };
        Ok(Self {
            name,
            digest: tool_digest(&tool),
            page: page_of(&tool.metadata),
            is_for_apps_only: app_metadata(&tool).is_some_and(is_for_apps_only),
            tool,
            rendered: RenderCache::default(),
            header_parameters,
            schemas,
        })
    }

    /// The compiled schemas.
    pub(crate) fn schemas(&self) -> &ToolSchemas {
        &self.schemas
    }

    /// Validates the arguments of a call.
    pub(crate) fn check_arguments(&self, arguments: &Value) -> Result<(), SchemaError> {
        self.schemas
            .input
            .validate(arguments, &mut Effort::new(MAX_EFFORT))
    }
}

fn prefixed_name(tool: &Tool, prefix: &str) -> Result<ToolName, String> {
    let name = format!("{prefix}{}", tool.name);
    ToolName::parse(&name).map_err(|error| error.to_string())
}

fn parse_schema(schema: &RawValue) -> Result<Value, String> {
    serde_json::from_str(schema.get()).map_err(|error| error.to_string())
}

fn compile_input(schema: &Value, size: usize) -> Result<JsonSchema, String> {
    JsonSchema::compile(schema, size).map_err(|why| format!("its input schema: {why}"))
}

fn compile_output(schema: &RawValue, size: usize) -> Result<JsonSchema, String> {
    JsonSchema::compile(&parse_schema(schema)?, size)
        .map_err(|why| format!("its output schema: {why}"))
}

fn app_metadata(tool: &Tool) -> Option<&RawValue> {
    let mut metadata = tool.metadata.iter();
    let (_, app) = metadata.find(|(key, _)| key == UI_KEY)?;
    Some(app)
}

#[cfg(feature = "test-util")]
impl OfferedTool {
    /// Compiles a tool, to measure its schema.
    pub fn compile(tool: Tool) -> Result<Self, String> {
        Self::new(tool, "")
    }

    /// Whether the arguments match the input schema.
    pub fn accepts(&self, arguments: &Value) -> bool {
        self.check_arguments(arguments).is_ok()
    }
}

impl OfferedPrompt {
    pub(crate) fn new(prompt: Prompt, prefix: &str) -> Self {
        let digest = prompt_digest(&prompt);
        Self {
            name: format!("{prefix}{}", prompt.name),
            prompt,
            digest,
            rendered: RenderCache::default(),
        }
    }
}

/// Returns the digest of the definition of a tool. Operators approve the definition with this digest.
pub(crate) fn tool_digest(tool: &Tool) -> Digest {
    let Tool {
        name,
        title,
        description,
        input_schema,
        output_schema,
        hints,
        icons,
        metadata,
    } = tool;
    let Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
        long_running,
    } = hints;
    digest(&(
        (name.as_str(), title, description),
        (
            input_schema.get(),
            output_schema.as_ref().map(|schema| schema.get()),
        ),
        [read_only, destructive, idempotent, open_world, long_running],
        (icon_fields(icons), metadata_fields(metadata)),
    ))
}

/// Returns everything that the digest of a tool covers, as JSON.
pub(crate) fn tool_json(tool: &Tool) -> String {
    let Tool {
        name,
        title,
        description,
        input_schema,
        output_schema,
        hints,
        icons,
        metadata,
    } = tool;
    let Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
        long_running,
    } = hints;
    let hints = json!({
        "read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": open_world,
        "long_running": long_running,
    });
    let whole = json!({
        "name": name.as_str(), "title": title, "description": description, "input_schema": input_schema,
        "output_schema": output_schema, "hints": hints, "icons": icon_fields(icons),
        "metadata": metadata_fields(metadata),
    });
    whole.to_string()
}

fn prompt_digest(prompt: &Prompt) -> Digest {
    let Prompt {
        name,
        title,
        description,
        arguments,
        icons,
        metadata,
    } = prompt;
    let arguments: Vec<_> = arguments
        .iter()
        .map(
            |Argument {
                 name,
                 title,
                 description,
                 required,
             }| (name, title, description, required),
        )
        .collect();
    digest(&(
        (name, title, description),
        arguments,
        (icon_fields(icons), metadata_fields(metadata)),
    ))
}

/// Computes the digest of values as JSON, which is unambiguous.
fn digest(fields: &impl serde::Serialize) -> Digest {
    // Texts, numbers and lists are always written.
    Digest::of(&serde_json::to_vec(fields).unwrap_or_default())
}

/// The fields of an icon that clients see.
#[derive(serde::Serialize)]
struct IconFields<'a>(&'a str, Option<&'a str>, &'a [String], Option<&'static str>);

fn icon_fields(icons: &[Icon]) -> Vec<IconFields<'_>> {
    let theme = |theme: Theme| match theme {
        Theme::Light => "light",
        Theme::Dark => "dark",
    };
    let fields = icons.iter().map(
        |Icon {
             src,
             mime_type,
             sizes,
             theme: of_icon,
         }| { IconFields(src, mime_type.as_deref(), sizes, of_icon.map(theme)) },
    );
    fields.collect()
}

fn metadata_fields(metadata: &Metadata) -> Vec<(&str, &str)> {
    metadata
        .iter()
        .map(|(key, json)| (&**key, json.get()))
        .collect()
}
