//! A tool: its declaration and its function.

use std::any::TypeId;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Answer, Call, ToolOutput, ToolResult, app, schema};
use crate::bindings::tools::exports::larder::provider::tool_provider as wit;
use crate::{Error, Icon, Result};

pub use wit::Hints;

type Function<P> = dyn Fn(&P, wit::ToolCall) -> Result<wit::ToolAnswer>;

/// A function that a model may call. The arguments and the structured result are types: their JSON Schemas are
/// derived, and doc comments on their fields become descriptions.
///
/// ```
/// use larder_provider::{Call, Provider, Result, Tool, ToolResult, Tools};
/// # use larder_provider::{Error, Reading, Request};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Dice {
///     /// How many sides each die has.
///     sides: u32,
///     /// How many dice; one by default.
///     count: Option<u32>,
/// }
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Range {
///     lowest: u32,
///     highest: u32,
/// }
///
/// struct Game;
///
/// impl Game {
///     fn range(&self, call: &Call<Dice>) -> Result<ToolResult<Range>> {
///         let count = call.arguments.count.unwrap_or(1);
///         if count == 0 {
///             return Ok(ToolResult::error("There are no dice."));
///         }
///         Ok(ToolResult::structured(Range { lowest: count, highest: count * call.arguments.sides }))
///     }
///
///     fn rules(&self, _call: &Call) -> Result<String> {
///         Ok("The highest sum wins.".to_owned())
///     }
/// }
///
/// impl Provider for Game {
///     fn tools(&self) -> Result<Tools<Self>> {
///         Ok(Tools::new()
///             .tool(Tool::new("range", Self::range).description("Tells the range of a throw.").read_only(true))
///             .tool(Tool::new("rules", Self::rules).description("Tells the rules.").read_only(true)))
///     }
/// #   fn new() -> Result<Self> { Ok(Self) }
/// #   fn read(&self, _: &Request) -> Result<Reading> { Err(Error::NotFound) }
/// }
///
/// larder_provider::export!(Game: tools);
/// # fn main() {}
/// ```
///
/// A [`ToolResult::error`] is for the model, which can correct its arguments. An [`Error`] ends the request.
pub struct Tool<P> {
    pub(super) name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Box<dyn Fn() -> Value>,
    output_schema: Box<dyn Fn() -> Option<Value>>,
    hints: Hints,
    icons: Vec<Icon>,
    metadata: Vec<(String, String)>,
    /// The metadata of the app that shows the tool.
    app: Map<String, Value>,
    function: Box<Function<P>>,
}

impl<P> Tool<P> {
    /// Creates a tool from its name and a method of the provider.
    pub fn new<A, R>(
        name: impl Into<String>,
        function: impl Fn(&P, &Call<A>) -> Result<R> + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        R: ToolOutput,
    {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: Box::new(schema::arguments::<A> as fn() -> Value),
            output_schema: Box::new(output_schema::<R::Structured> as fn() -> Option<Value>),
            hints: Hints::default(),
            icons: Vec::new(),
            metadata: Vec::new(),
            app: Map::new(),
            function: Box::new(move |provider, call| match parse(call)? {
                Ok(call) => encode(function(provider, &call)?.into_answer()),
                Err(result) => encode(result.into()),
            }),
        }
    }

    /// Sets a display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets a description for the model: what the tool does, and when to call it.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Replaces the schema of the arguments, for tools that are not known when the component is built. The function of
    /// such a tool takes a `Call<serde_json::Value>`. The schema is computed only when the tools are listed.
    ///
    /// ```
    /// # use larder_provider::{Call, Error, Provider, Reading, Request, Result, Tool, Tools, serde_json::{Value, json}};
    /// # struct Queries { names: Vec<String> }
    /// # impl Provider for Queries {
    /// #     fn new() -> Result<Self> { Ok(Self { names: Vec::new() }) }
    /// #     fn read(&self, _: &Request) -> Result<Reading> { Err(Error::NotFound) }
    /// fn tools(&self) -> Result<Tools<Self>> {
    ///     let tool = |name: &String| {
    ///         Tool::new(name, |_: &Self, call: &Call<Value>| Ok(call.arguments.to_string()))
    ///             .input_schema(|| json!({ "type": "object", "required": ["year"] }))
    ///     };
    ///     Ok(self.names.iter().map(tool).fold(Tools::new(), Tools::tool))
    /// }
    /// # }
    /// ```
    pub fn input_schema(mut self, schema: impl Fn() -> Value + 'static) -> Self {
        self.input_schema = Box::new(schema);
        self
    }

    /// Replaces the schema of the structured result, for tools that are not known when the component is built. The
    /// function of such a tool returns a `ToolResult<serde_json::Value>`.
    pub fn output_schema(mut self, schema: impl Fn() -> Value + 'static) -> Self {
        self.output_schema = Box::new(move || Some(schema()));
        self
    }

    /// Tells whether the tool changes nothing. Clients assume that the tool changes something.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.hints.read_only = Some(read_only);
        self
    }

    /// Tells whether the tool may destroy something. Clients assume that a tool may, unless it is read-only.
    pub fn destructive(mut self, destructive: bool) -> Self {
        self.hints.destructive = Some(destructive);
        self
    }

    /// Tells whether a second call with the same arguments has no further effect.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.hints.idempotent = Some(idempotent);
        self
    }

    /// Tells whether the tool uses systems outside of this provider, such as the web. Clients assume that it does.
    pub fn open_world(mut self, open_world: bool) -> Self {
        self.hints.open_world = Some(open_world);
        self
    }

    /// Tells whether a call may take long enough to be handled as a task.
    pub fn long_running(mut self, long_running: bool) -> Self {
        self.hints.long_running = Some(long_running);
        self
    }

    /// Adds an icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// Adds a metadata key with its value as JSON text.
    pub fn metadata(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.metadata.push((key.into(), json.into()));
        self
    }

    /// Names the page that clients show for calls of the tool: the URI of a resource of this provider, `ui://…`. See
    /// [`AppPage`](crate::AppPage).
    pub fn app_page(mut self, uri: impl Into<String>) -> Self {
        self.app.insert("resourceUri".to_owned(), uri.into().into());
        self
    }

    /// Only the page of an app can call the tool; models do not see it.
    pub fn for_apps_only(mut self) -> Self {
        self.app.insert("visibility".to_owned(), vec!["app"].into());
        self
    }

    /// The declaration for `list-tools`.
    pub(super) fn declaration(mut self) -> wit::Tool {
        if !self.app.is_empty() {
            let app = Value::Object(self.app).to_string();
            self.metadata.push((app::KEY.to_owned(), app));
        }
        wit::Tool {
            name: self.name,
            title: self.title,
            description: self.description,
            input_schema: (self.input_schema)().to_string(),
            output_schema: (self.output_schema)().map(|schema| schema.to_string()),
            hints: self.hints,
            icons: self.icons,
            metadata: self.metadata,
        }
    }

    pub(super) fn call(&self, provider: &P, call: wit::ToolCall) -> Result<wit::ToolAnswer> {
        (self.function)(provider, call)
    }
}

#[allow(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Hints {
    fn default() -> Self {
        Self {
            read_only: None,
            destructive: None,
            idempotent: None,
            open_world: None,
            long_running: None,
        }
    }
}

/// The schema of a structured result. `()` means that there is no structured result. The schema of any JSON value is
/// omitted, because it contains no information.
fn output_schema<T: JsonSchema + 'static>() -> Option<Value> {
    let without = [TypeId::of::<()>(), TypeId::of::<Value>()];
    (!without.contains(&TypeId::of::<T>())).then(schema::result::<T>)
}

/// The typed call, or a result that tells the model what is wrong with the arguments.
fn parse<A: DeserializeOwned>(call: wit::ToolCall) -> Result<Result<Call<A>, ToolResult>> {
    let json: Value = serde_json::from_str(&call.arguments).map_err(Error::invalid)?;
    Ok(match A::deserialize(json) {
        Ok(arguments) => Ok(Call {
            arguments,
            input: call.input,
        }),
        Err(error) => Err(ToolResult::error(format!("Invalid arguments: {error}"))),
    })
}

fn encode<T: serde::Serialize>(answer: Answer<T>) -> Result<wit::ToolAnswer> {
    let mut result = match answer {
        Answer::Complete(result) => result,
        Answer::Input(input) => return Ok(wit::ToolAnswer::InputRequired(input)),
    };
    let structured = result.structured.map(|value| serde_json::to_string(&value));
    let structured = structured.transpose().map_err(Error::failed)?;
    if let (Some(json), true) = (&structured, result.content.is_empty()) {
        result.content.push(json.as_str().into());
    }
    let ToolResult {
        content,
        is_error,
        metadata,
        ..
    } = result;
    Ok(wit::ToolAnswer::Complete(wit::ToolResult {
        content,
        structured,
        is_error,
        metadata,
    }))
}
