//! `larder connect`: adds this server to the configuration of an MCP client.

mod started_command;

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueHint};

use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, out, sanitize};
use crate::connect::{Change, Client, ConnectError, Plan, Platform, Scope, Server, Token, file_of};
use larder_config as config;
pub(super) use started_command::up_command;
use started_command::{StartedCommand, absolute};

/// Add this server to the configuration of an MCP client
#[derive(Debug, Args)]
#[command(
    after_help = "Without --write and --remove, the command only shows the change.

Examples:
  larder connect claude-code                                   show what would be written
  larder connect zed --config /srv/larder/larder.toml --write  Zed starts larder with this configuration
  larder connect vscode --project --url http://127.0.0.1:7878/mcp --write
  larder connect codex --url https://docs.example.com/mcp --token-env DOCS_TOKEN --write
  larder connect zed --remove"
)]
pub(super) struct Connect {
    /// The client
    client: Client,
    /// Write the change. The file as it was is kept beside it, as FILE.NAME-backup
    #[arg(long)]
    write: bool,
    /// Remove the entry. An unchanged file gets the content from before the entry was added
    #[arg(long)]
    remove: bool,
    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = "larder", value_parser = parse_name)]
    name: String,
    /// The configuration file of the client [default: the one of this user]
    #[arg(long, value_name = "FILE", conflicts_with = "project")]
    file: Option<PathBuf>,
    /// Use the file of the project in the working directory
    #[arg(long)]
    project: bool,
    #[command(flatten)]
    server: ServerChoice,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
struct ServerChoice {
    /// The configuration with which the client starts larder [default: larder.toml]
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Option<PathBuf>,
    /// The folder with the components, instead of the one in the configuration
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    plugins: Option<PathBuf>,
    /// Let the client start `larder up` with this folder, without a configuration. Can be repeated
    #[arg(
        long, value_name = "FOLDER", value_hint = ValueHint::DirPath,
        conflicts_with_all = ["url", "config", "plugins", "team", "resource_tools"]
    )]
    up: Vec<PathBuf>,
    #[command(flatten)]
    team: TeamArg,
    /// Also offer resources as tools, for clients whose models only use tools [default: true for zed]
    #[arg(
        long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        action = ArgAction::Set, conflicts_with = "url"
    )]
    resource_tools: Option<bool>,
    /// Connect to the server at this URL, instead of starting larder
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, value_parser = parse_url)]
    url: Option<String>,
    /// The environment variable of the client that contains the bearer token for the URL
    #[arg(long, value_name = "NAME", requires = "url", value_parser = parse_variable)]
    token_env: Option<String>,
}

impl Connect {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let file = self.path()?;
        let change = self.change()?;
        let plan = Plan::new(self.client, &file, &self.name, &change)?;
        if plan.is_done() {
            out::note(&self.nothing_to_do(&file));
            return Ok(Outcome::Success);
        }
        out::text(&sanitize::lines(&plan.diff()))?;
        self.warnings(&plan, &file, &change)
            .iter()
            .for_each(|line| out::note(line));
        if !self.write && !self.remove {
            out::note("nothing was written: use --write to write the change");
            return Ok(Outcome::Success);
        }
        write(&plan, self.client, &file)?;
        Ok(Outcome::Success)
    }

    fn change(&self) -> Result<Change, CommandError> {
        if self.remove {
            return Ok(Change::Remove);
        }
        Ok(Change::Set(self.server.server(self.client)?))
    }

    /// The file to change.
    fn path(&self) -> Result<PathBuf, CommandError> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(CommandError::input(path));
        let working_dir = absolute(Path::new("."))?;
        match &self.file {
            Some(file) => absolute(file),
            None => {
                let scope = if self.project {
                    Scope::Project(&working_dir)
                } else {
                    Scope::User
                };
                Ok(file_in(self.client, scope)?)
            }
        }
    }

    fn nothing_to_do(&self, file: &Path) -> String {
        let name = &self.name;
        let file = file.display();
        if self.remove {
            format!("{file} has no entry `{name}`")
        } else {
            format!("{file} already has this entry `{name}`")
        }
    }

    fn warnings(&self, plan: &Plan, file: &Path, change: &Change) -> Vec<String> {
        let name = self.client.name();
        let mut warnings = Vec::new();
        if self.lacks_folder(plan, file) {
            warnings.push(format!("note: {name} has no configuration folder here yet"));
        }
        let Change::Set(Server::Url { token, .. }) = change else {
            return warnings;
        };
        if self.client.lacks_resources() {
            warnings.push(format!(
                "note: {name} supports tools and prompts only: the server offers its resources to it with \
                 `resource_tools = true` in [server]"
            ));
        }
        if token.as_ref().is_some_and(|token| token.value.is_some()) {
            warnings.push(format!(
                "note: {name} cannot read variables in this file, so the file contains the token itself"
            ));
        }
        warnings
    }

    /// Whether the folder in which the client keeps the file of the user is missing.
    fn lacks_folder(&self, plan: &Plan, file: &Path) -> bool {
        !plan.file_exists()
            && !self.project
            && self.file.is_none()
            && file.parent().is_some_and(|folder| !folder.exists())
    }
}

/// Writes a change, and says what the user has to do next.
pub(super) fn write(plan: &Plan, client: Client, file: &Path) -> Result<(), CommandError> {
    let backup = plan.write()?;
    let done = if plan.deletes_file() {
        "deleted"
    } else {
        "wrote"
    };
    out::note(&format!("{done} {}", file.display()));
    if let Some(backup) = backup {
        out::note(&format!("the file as it was is {}", backup.display()));
    }
    out::note(&format!("next: {}", client.next_step()));
    Ok(())
}

/// The configuration file of a client for all projects of this user.
pub(super) fn file_of_user(client: Client) -> Result<PathBuf, ConnectError> {
    file_in(client, Scope::User)
}

fn file_in(client: Client, scope: Scope<'_>) -> Result<PathBuf, ConnectError> {
    file_of(client, scope, Platform::current(), &config::variable)
}

impl ServerChoice {
    fn server(&self, client: Client) -> Result<Server, CommandError> {
        if let Some(url) = &self.url {
            let token = self.token_env.as_ref().map(|variable| Token {
                variable: variable.clone(),
                value: client
                    .lacks_variables()
                    .then(|| config::variable(variable))
                    .flatten(),
            });
            return Ok(Server::Url {
                url: url.clone(),
                token,
            });
        }
        if !self.up.is_empty() {
            let folders: Vec<_> = self
                .up
                .iter()
                .map(|folder| absolute(folder))
                .collect::<Result<_, _>>()?;
            return up_command(&folders);
        }
        let started = StartedCommand {
            config: self.config.as_deref(),
            plugins: self.plugins.as_deref(),
            team: self.team.team.as_ref(),
            resource_tools: self
                .resource_tools
                .unwrap_or_else(|| client.lacks_resources()),
        };
        started.server()
    }
}

/// Accepts names that all clients accept and that can be part of a file name.
fn parse_name(name: &str) -> Result<String, String> {
    let is_valid = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    if (1..=64).contains(&name.len()) && name.chars().all(is_valid) {
        Ok(name.to_owned())
    } else {
        Err("use 1 to 64 letters, digits, `-` and `_`".into())
    }
}

fn parse_variable(name: &str) -> Result<String, String> {
    let is_valid = |char: char| char.is_ascii_alphanumeric() || char == '_';
    if !name.is_empty()
        && name.chars().all(is_valid)
        && !name.starts_with(|char: char| char.is_ascii_digit())
    {
        Ok(name.to_owned())
    } else {
        Err("write the name of the variable, such as LARDER_TOKEN, not the token".into())
    }
}

fn parse_url(url: &str) -> Result<String, String> {
    let parsed = url.parse::<http::Uri>().ok();
    let scheme = parsed.as_ref().and_then(http::Uri::scheme_str);
    if matches!(scheme, Some("http" | "https")) {
        Ok(url.to_owned())
    } else {
        Err("write the URL of the endpoint, such as http://127.0.0.1:7878/mcp".into())
    }
}
