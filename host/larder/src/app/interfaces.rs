//! What a provider offers beyond resources, as plain data for command output and JSON.

use serde::Serialize;
use serde_json::value::RawValue;

use super::App;
use larder_core::catalog::Offer;
use larder_model::policy::Permit;
use larder_model::{prompt, settings, tool};
use larder_provider::{CallError, ListPage};

/// The optional interfaces of a provider. None means that the provider does not export the interface, or that a call
/// failed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Interfaces {
    /// The tools of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// The prompts of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Vec<Prompt>>,
    /// Whether the provider supports search.
    pub search: bool,
    /// The settings that the provider declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Vec<Setting>>,
    /// Calls that failed, and what was omitted from the results of calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interface_problems: Vec<String>,
}

/// A tool.
#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    /// The name of the tool.
    pub name: String,
    /// The name of the tool for people.
    pub title: Option<String>,
    /// What the tool does.
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Box<RawValue>,
    /// The JSON Schema of its structured result.
    pub output_schema: Option<Box<RawValue>>,
    /// Properties of the tool that a client may assume.
    pub hints: Hints,
}

/// Properties that a client may assume; none means unspecified.
#[derive(Debug, Clone, Serialize)]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool may remove or overwrite something.
    pub destructive: Option<bool>,
    /// A second call with the same arguments has no further effect.
    pub idempotent: Option<bool>,
    /// The tool uses other systems.
    pub open_world: Option<bool>,
    /// A call may take long.
    pub long_running: Option<bool>,
}

/// A prompt.
#[derive(Debug, Clone, Serialize)]
pub struct Prompt {
    /// The name of the prompt.
    pub name: String,
    /// The name of the prompt for people.
    pub title: Option<String>,
    /// What the prompt is for.
    pub description: Option<String>,
    /// The arguments of the prompt.
    pub arguments: Vec<Argument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, Serialize)]
pub struct Argument {
    /// The name of the argument.
    pub name: String,
    /// The name of the argument for people.
    pub title: Option<String>,
    /// The description of the argument.
    pub description: Option<String>,
    /// Whether a value is required.
    pub required: bool,
}

/// A setting that the provider declares.
#[derive(Debug, Clone, Serialize)]
pub struct Setting {
    /// The name of the setting.
    pub name: String,
    /// The kind of the setting's value.
    pub kind: &'static str,
    /// What the setting is for.
    pub description: String,
    /// The value that is used if none is configured.
    pub default: Option<String>,
    /// Whether a value must be configured.
    pub required: bool,
    /// Whether the value should come from a secret.
    pub secret: bool,
}

impl App {
    /// Returns the optional interfaces of the first provider that is served. Calls its guests, without a caller.
    pub async fn interfaces(&self) -> Interfaces {
        match self.offers().first() {
            Some(offer) => Interfaces::of(offer).await,
            None => Interfaces::default(),
        }
    }
}

impl Interfaces {
    async fn of(offer: &Offer) -> Self {
        let provider = &offer.provider;
        let implemented = provider.interfaces();
        let mut interfaces = Self {
            search: implemented.search,
            ..Self::default()
        };
        if implemented.tools {
            interfaces.tools = interfaces.accept("tools", provider.all_tools().await, Tool::of);
        }
        if implemented.prompts {
            interfaces.prompts =
                interfaces.accept("prompts", provider.all_prompts().await, Prompt::of);
        }
        if implemented.settings {
            let settings = provider.declared_settings(Permit::for_host()).await;
            interfaces.settings = interfaces.accept("settings", settings, Setting::of);
        }
        interfaces
    }

    /// Converts a list, and records the problems in it.
    fn accept<T, U>(
        &mut self,
        what: &str,
        list: Result<ListPage<T>, CallError>,
        convert: fn(T) -> U,
    ) -> Option<Vec<U>> {
        match list {
            Ok(list) => {
                let omitted = list.omitted.iter();
                self.interface_problems
                    .extend(omitted.map(|why| format!("{what}: omitted or changed: {why}")));
                Some(list.items.into_iter().map(convert).collect())
            }
            Err(error) => {
                self.interface_problems
                    .push(format!("cannot get its {what}: {error}"));
                None
            }
        }
    }
}

impl Tool {
    fn of(tool: tool::Tool) -> Self {
        let tool::Tool {
            name,
            title,
            description,
            input_schema,
            output_schema,
            hints,
            ..
        } = tool;
        Self {
            name: name.to_string(),
            title,
            description,
            input_schema,
            output_schema,
            hints: Hints::of(hints),
        }
    }
}

impl Hints {
    fn of(hints: tool::Hints) -> Self {
        let tool::Hints {
            read_only,
            destructive,
            idempotent,
            open_world,
            long_running,
        } = hints;
        Self {
            read_only,
            destructive,
            idempotent,
            open_world,
            long_running,
        }
    }
}

impl Prompt {
    fn of(prompt: prompt::Prompt) -> Self {
        let prompt::Prompt {
            name,
            title,
            description,
            arguments,
            ..
        } = prompt;
        Self {
            name,
            title,
            description,
            arguments: arguments.into_iter().map(Argument::of).collect(),
        }
    }
}

impl Argument {
    fn of(argument: prompt::Argument) -> Self {
        let prompt::Argument {
            name,
            title,
            description,
            required,
        } = argument;
        Self {
            name,
            title,
            description,
            required,
        }
    }
}

impl Setting {
    fn of(setting: settings::Declaration) -> Self {
        let settings::Declaration {
            name,
            kind,
            description,
            default,
            required,
            secret,
        } = setting;
        Self {
            name,
            kind: kind.as_str(),
            description,
            default,
            required,
            secret,
        }
    }
}
