//! The entry of one server, with the keys of each client.

use std::path::Path;

use super::client::Client;
use super::error::ConnectError;

/// How a client reaches the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Server {
    /// The client starts this program.
    Program { command: String, args: Vec<String> },
    /// The client connects to this URL.
    Url { url: String, token: Option<Token> },
}

/// A bearer token in an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// The name of the variable.
    pub(crate) variable: String,
    /// The current value. Used only for clients that cannot read variables.
    pub(crate) value: Option<String>,
}

/// An entry: its keys and values in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Entry(pub(super) Vec<(String, Value)>);

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
    /// A value of a type that this program does not write.
    Other,
}

/// Keys that are used only for a program that the client starts.
const PROGRAM_KEYS: [&str; 5] = ["command", "args", "env", "env_vars", "cwd"];
/// Keys that are used only for a URL.
const URL_KEYS: [&str; 6] = [
    "url",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
];

impl Entry {
    pub(super) fn new(client: Client, server: &Server) -> Result<Self, ConnectError> {
        let keys = match server {
            Server::Program { command, args } => program(client, command, args),
            Server::Url { .. } if client.lacks_urls() => return Err(ConnectError::NoUrls(client)),
            Server::Url { url, token } => {
                let mut keys = address(client, url);
                keys.extend(
                    token
                        .as_ref()
                        .map(|token| credential(client, token))
                        .transpose()?,
                );
                keys
            }
        };
        Ok(Self(
            keys.into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        ))
    }

    /// Whether a key of an older entry contradicts this entry. All other keys are kept.
    pub(super) fn replaces(&self, key: &str) -> bool {
        let other_keys: &[&str] = match self.get("command") {
            Some(_) => &URL_KEYS,
            None => &PROGRAM_KEYS,
        };
        self.get(key).is_none() && (key == "type" || other_keys.contains(&key))
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(found, _)| found == key)
            .map(|(_, value)| value)
    }

    /// Whether the entry starts a program other than this one.
    pub(super) fn is_foreign(&self) -> bool {
        let is_larder = |word: &str| {
            Path::new(word)
                .file_stem()
                .is_some_and(|stem| stem == "larder")
        };
        match (self.get("command"), self.get("args")) {
            (None, _) => false,
            (Some(Value::Text(command)), _) if is_larder(command) => false,
            (_, Some(Value::List(args))) => !args.iter().any(|word| is_larder(word)),
            _ => true,
        }
    }

    /// Whether all values of the entry can be written again.
    pub(super) fn is_complete(&self) -> bool {
        self.0.iter().all(|(_, value)| *value != Value::Other)
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn program(client: Client, command: &str, args: &[String]) -> Vec<(&'static str, Value)> {
    let mut keys = vec![
        ("command", text(command)),
        ("args", Value::List(args.to_vec())),
    ];
    if matches!(client, Client::ClaudeCode | Client::VsCode | Client::Cursor) {
        keys.insert(0, ("type", text("stdio")));
    }
    keys
}

fn address(client: Client, url: &str) -> Vec<(&'static str, Value)> {
    match client {
        Client::ClaudeCode | Client::VsCode => vec![("type", text("http")), ("url", text(url))],
        Client::Windsurf => vec![("serverUrl", text(url))],
        Client::ClaudeDesktop | Client::Cursor | Client::Zed | Client::Codex => {
            vec![("url", text(url))]
        }
    }
}

fn credential(client: Client, token: &Token) -> Result<(&'static str, Value), ConnectError> {
    let Token { variable, value } = token;
    let written = match client {
        Client::Codex => return Ok(("bearer_token_env_var", text(variable))),
        Client::ClaudeCode => format!("${{{variable}}}"),
        Client::VsCode | Client::Cursor | Client::Windsurf => format!("${{env:{variable}}}"),
        Client::Zed | Client::ClaudeDesktop => {
            value.clone().ok_or_else(|| ConnectError::NoToken {
                client,
                variable: variable.clone(),
            })?
        }
    };
    Ok((
        "headers",
        Value::Map(vec![(
            "Authorization".to_owned(),
            format!("Bearer {written}"),
        )]),
    ))
}
