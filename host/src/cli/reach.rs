//! How a command reaches a server: by its URL, or by running the providers of a folder in this process.

use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::{log, out};
use crate::app::App;
use crate::client::Client;
use crate::config::{self, Overrides};

const URL: &str = "http://127.0.0.1:7878/mcp";

#[derive(Debug, Args)]
#[command(next_help_heading = "Where")]
pub(super) struct Reach {
    /// The server's endpoint
    #[arg(long, value_name = "URL", default_value = URL)]
    url: String,
    /// The token that the server wants
    #[arg(long, env = "LARDER_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Ask the components in this folder, without a server
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    plugins: Option<PathBuf>,
    /// Ask what this configuration would serve, without a server
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Option<PathBuf>,
}

/// A server at the other end, or in this process.
pub(super) struct Reached {
    pub(super) client: Client,
    app: Option<App>,
}

impl Reach {
    pub(super) async fn connect(self) -> Result<Reached, Failure> {
        if self.plugins.is_none() && self.config.is_none() {
            let client = Client::http(&self.url, self.token.as_deref()).await?;
            return Ok(Reached { client, app: None });
        }
        let overrides = Overrides { config: self.config, plugins: self.plugins, listen: None };
        let config = config::load(&overrides)?.with_folder()?;
        log::start_quietly(&config.log);
        let app = App::build(config).await?;
        for rejected in &app.served().rejected {
            out::note(&format!("larder: {} is left out: {}", rejected.file, rejected.reason));
        }
        let (input, output) = tokio::io::split(app.connect());
        let client = Client::lines(input, output).await?;
        Ok(Reached { client, app: Some(app) })
    }
}

impl Reached {
    pub(super) async fn end(self) {
        self.client.close().await;
        if let Some(app) = self.app {
            app.finish().await;
        }
    }
}
