//! The options that select a server: its URL, or a folder whose providers run in this process.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use tempfile::TempDir;

use super::error::CommandError;
use super::server_address::{ADMIN, ENDPOINT, GivenToken, ServerAddress, ServerArgs};
use super::team::TeamArg;
use super::{guest_stderr, log, out, sign_in, temp_plugins};
use crate::app::{App, RejectedComponent, ServingReport};
use larder_client::{Client, ClientBuilder, ClientError, Revision, SignIn};
use larder_config::{self as config, Overrides};
use larder_model::name::TeamName;

#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ConnectionArgs {
    /// The endpoint of the server, or unix:PATH for a Unix socket [default: the address in larder.toml, or
    /// LARDER_URL, or http://127.0.0.1:7878/mcp]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    url: Option<String>,
    /// The bearer token for the server [env: LARDER_TOKEN]
    #[arg(long)]
    token: Option<String>,
    /// A file with the bearer token for the server
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Sign in in a browser if the server requires it, also for more scopes, instead of an error
    #[arg(long, conflicts_with_all = ["token", "token_file"])]
    login: bool,
    #[command(flatten)]
    server: ServerArgs,
    /// Use only this protocol revision, such as 2025-11-25
    #[arg(long, value_name = "REVISION")]
    protocol: Option<Revision>,
    /// Run the components of the configuration in this process instead of connecting to a server
    #[arg(long, conflicts_with = "url")]
    in_process: bool,
    /// Run the components in this folder, or builtin:NAME, instead of connecting to a server
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    plugins: Option<PathBuf>,
    /// The team of the configuration to which the client belongs.
    #[arg(skip)]
    team: Option<TeamName>,
}

/// A connected client, and the server if it runs in this process.
pub(super) struct Connection {
    pub(super) client: Client,
    factory: ClientFactory,
}

/// Connects any number of clients to one server.
pub(super) struct ClientFactory {
    builder: ClientBuilder,
    target: Target,
}

enum Target {
    Url(String),
    InProcess {
        app: Box<App>,
        /// The plugins folder, if it is temporary.
        _folder: Option<TempDir>,
    },
}

impl ConnectionArgs {
    /// Sets the team of the configuration to which the client belongs. A remote server determines the team itself.
    pub(super) fn with_team(self, team: TeamArg) -> Self {
        Self {
            team: team.team,
            ..self
        }
    }

    /// Sets the team from a list filter, if the components run in this process.
    pub(super) fn with_team_filter(self, team: Option<&str>) -> Self {
        let team = team
            .filter(|_| self.in_process)
            .and_then(|team| TeamName::parse(team).ok());
        Self { team, ..self }
    }

    /// Determines the admin address, with the token of these options.
    pub(super) fn admin_address(
        self,
        admin: Option<String>,
    ) -> Result<ServerAddress, CommandError> {
        let token = GivenToken {
            token: self.token,
            file: self.token_file,
        };
        self.server.resolve(&ADMIN, admin, token)
    }

    /// Requires a revision with sessions. Without `--protocol`, uses the newest one.
    pub(super) fn with_session(self) -> Result<Self, CommandError> {
        match self.protocol.unwrap_or(Revision::LEGACY) {
            modern if modern.is_modern() => Err(CommandError::NoSession(modern)),
            revision => Ok(Self {
                protocol: Some(revision),
                ..self
            }),
        }
    }

    pub(super) async fn connect(self) -> Result<Connection, CommandError> {
        let factory = self.client_factory().await?;
        let client = factory.client().await?;
        Ok(Connection { client, factory })
    }

    pub(super) async fn client_factory(self) -> Result<ClientFactory, CommandError> {
        if self.in_process || self.plugins.is_some() || self.team.is_some() {
            return Box::pin(self.in_process_factory()).await;
        }
        let token = GivenToken {
            token: self.token,
            file: self.token_file,
        };
        let ServerAddress { url, builder, .. } = self.server.resolve(&ENDPOINT, self.url, token)?;
        let builder = with_sign_in(builder, self.login);
        Ok(ClientFactory {
            builder: with_revision(builder, self.protocol),
            target: Target::Url(url),
        })
    }

    async fn in_process_factory(self) -> Result<ClientFactory, CommandError> {
        let builtin = self.plugins.as_deref().map(temp_plugins::of_builtin);
        let folder = builtin.transpose()?.flatten();
        let temporary = folder.as_ref().map(|folder| folder.path().to_owned());
        let overrides = Overrides {
            config: self.server.config,
            plugins: temporary.or(self.plugins),
            team: self.team,
            ..Overrides::default()
        };
        let config = config::load(&overrides)?
            .require_plugins_folders()?
            .over_stdio()?;
        log::start_quietly(&config.log);
        let app = App::build(config).await?;
        note_not_served(&app.served());
        Ok(ClientFactory {
            builder: with_revision(Client::builder(), self.protocol),
            target: Target::InProcess {
                app: Box::new(app),
                _folder: folder,
            },
        })
    }
}

fn note_not_served(served: &ServingReport) {
    for rejected in &served.rejected {
        note_rejected(rejected);
    }
    for pending in &served.pending_approval {
        out::note(&format!("larder: {pending}"));
    }
}

fn note_rejected(rejected: &RejectedComponent) {
    let name = rejected.full_name();
    out::note(&format!("larder: {name} is rejected: {}", rejected.reason));
    guest_stderr::note(&name, &rejected.stderr);
}

/// Uses stored tokens. With `--login`, the user signs in where they are not sufficient.
fn with_sign_in(builder: ClientBuilder, login: bool) -> ClientBuilder {
    let Some(sign_in) = sign_in::stored() else {
        return builder;
    };
    builder.sign_in(SignIn {
        prompt: login.then(|| sign_in::prompt(true)),
        ..sign_in
    })
}

fn with_revision(builder: ClientBuilder, revision: Option<Revision>) -> ClientBuilder {
    revision.into_iter().fold(builder, ClientBuilder::revision)
}

impl ClientFactory {
    /// From now on, a server in this process follows changes of its folder.
    pub(super) fn follow_changes(&mut self) {
        if let Target::InProcess { app, .. } = &mut self.target {
            app.start_updates();
        }
    }

    pub(super) async fn client(&self) -> Result<Client, ClientError> {
        let builder = self.builder.clone();
        match &self.target {
            Target::Url(url) => builder.http(url).await,
            Target::InProcess { app, .. } => {
                let (input, output) = tokio::io::split(app.connect());
                builder.lines(input, output).await
            }
        }
    }

    /// Ends a server in this process, and prints why its guests misbehaved.
    pub(super) async fn end(self) {
        if let Target::InProcess { app, _folder } = self.target {
            let stderr = app.take_guest_stderr();
            app.finish().await;
            for (provider, text) in &stderr {
                guest_stderr::note(provider, text);
            }
        }
    }
}

impl Connection {
    pub(super) async fn end(self) {
        self.client.close().await;
        self.factory.end().await;
    }
}
