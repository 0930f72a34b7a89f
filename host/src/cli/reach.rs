//! How a command reaches a server: by its URL, or by running the providers of a folder in this process.

use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use super::team::OfTeam;
use super::{log, out};
use crate::app::App;
use crate::client::{Client, ClientError, Connect, Revision};
use crate::config::{self, Overrides};
use crate::name::TeamName;

const URL: &str = "http://127.0.0.1:7878/mcp";

#[derive(Debug, Args)]
#[command(next_help_heading = "Where")]
pub(super) struct Reach {
    /// The server's endpoint
    #[arg(long, value_name = "URL", default_value = URL)]
    url: String,
    /// The token that the server wants [env: LARDER_TOKEN]
    #[arg(long)]
    token: Option<String>,
    /// A file with the token that the server wants
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Speak this revision of the protocol and no other, such as 2025-11-25
    #[arg(long, value_name = "REVISION")]
    protocol: Option<Revision>,
    /// Ask the components in this folder, without a server
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    plugins: Option<PathBuf>,
    /// Ask what this configuration would serve, without a server
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Option<PathBuf>,
    /// As a member of which team of the configuration.
    #[arg(skip)]
    team: Option<TeamName>,
}

/// A server at the other end, or in this process.
pub(super) struct Reached {
    pub(super) client: Client,
    door: Door,
}

/// Where clients can be had, one after another.
pub(super) struct Door {
    connect: Connect,
    place: Place,
}

enum Place {
    Url(String),
    Here(Box<App>),
}

impl Reach {
    /// Asks as a member of this team of a configuration. A server knows its callers' teams itself.
    pub(super) fn of_team(self, team: OfTeam) -> Self {
        Self { team: team.team, ..self }
    }

    /// The same where a list is narrowed to a team's, if there is a configuration.
    pub(super) fn of_team_listed(self, team: Option<&str>) -> Self {
        let team = team.filter(|_| self.config.is_some()).and_then(|team| TeamName::parse(team).ok());
        Self { team, ..self }
    }

    /// In a session, of the newest revision that has them where none is said.
    pub(super) fn in_session(self) -> Result<Self, Failure> {
        match self.protocol.unwrap_or(Revision::LEGACY) {
            modern if modern.is_modern() => Err(Failure::NoSession(modern)),
            revision => Ok(Self { protocol: Some(revision), ..self }),
        }
    }

    pub(super) async fn connect(self) -> Result<Reached, Failure> {
        let door = self.door().await?;
        let client = door.client().await?;
        Ok(Reached { client, door })
    }

    pub(super) async fn door(self) -> Result<Door, Failure> {
        let mut connect = Client::connect();
        let token = self.token_file.as_deref().map(token_in).transpose()?;
        if let Some(token) = token.or(self.token).or_else(config::token) {
            connect = connect.token(token);
        }
        if let Some(revision) = self.protocol {
            connect = connect.revision(revision);
        }
        if self.plugins.is_none() && self.config.is_none() && self.team.is_none() {
            return Ok(Door { connect, place: Place::Url(self.url) });
        }
        let overrides =
            Overrides { config: self.config, plugins: self.plugins, team: self.team, ..Overrides::default() };
        let config = config::load(&overrides)?.with_folder()?.over_stdio()?;
        log::start_quietly(&config.log);
        let app = App::build(config).await?;
        for rejected in &app.served().rejected {
            out::note(&format!("larder: {} is left out: {}", rejected.full_name(), rejected.reason));
        }
        for held in &app.served().held_back {
            out::note(&format!("larder: {held}"));
        }
        Ok(Door { connect, place: Place::Here(Box::new(app)) })
    }
}

/// An empty one would be sent as none, and the server's answer would not tell why.
fn token_in(path: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Failure::Input { path: path.to_owned(), error })?;
    match text.trim() {
        "" => Err(Failure::NoToken(path.to_owned())),
        token => Ok(token.to_owned()),
    }
}

impl Door {
    /// What is in this process follows its folder from now on.
    pub(super) fn keep_up(&mut self) {
        if let Place::Here(app) = &mut self.place {
            app.keep_up();
        }
    }

    pub(super) async fn client(&self) -> Result<Client, ClientError> {
        let connect = self.connect.clone();
        match &self.place {
            Place::Url(url) => connect.http(url).await,
            Place::Here(app) => {
                let (input, output) = tokio::io::split(app.connect());
                connect.lines(input, output).await
            }
        }
    }

    pub(super) async fn end(self) {
        if let Place::Here(app) = self.place {
            app.finish().await;
        }
    }
}

impl Reached {
    pub(super) async fn end(self) {
        self.client.close().await;
        self.door.end().await;
    }
}
