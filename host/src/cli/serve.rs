//! `larder serve`: the house runs, on HTTP or on stdin and stdout, until it is told to stop.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::team::OfTeam;
use super::{Answer, log, out};
use crate::app::{self, App, Served};
use crate::config::{self, LogFormat, Overrides};

/// Serves the components of a folder as one MCP endpoint
#[derive(Debug, Args)]
#[command(after_help = "The first Ctrl-C lets requests in flight finish; the second ends at once.")]
pub(super) struct Serve {
    /// The configuration [default: larder.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder with the components [default: plugins]
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    /// The address of the endpoint [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS", value_parser = config::listen, conflicts_with = "stdio")]
    listen: Option<SocketAddr>,
    /// Serve one client on stdin and stdout instead
    #[arg(long)]
    stdio: bool,
    #[command(flatten)]
    team: OfTeam,
}

impl Serve {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let overrides = Overrides {
            config: self.config,
            plugins: self.plugins,
            listen: self.listen,
            team: self.team.team,
        };
        let config = config::load(&overrides)?;
        log::start(&config.log);
        let format = config.log.format;
        if self.stdio {
            let config = config.over_stdio()?;
            // The default address is the one of a server: a client may start many of these.
            let admin = match config.admin.is_written {
                true => app::bind_admin(&config.admin).await?,
                false => None,
            };
            let app = App::build_server(config, admin).await?;
            announce("stdin and stdout", &app.served(), format);
            app.serve_stdio().await?;
            return Ok(Answer::Yes);
        }
        let config = config.over_http()?;
        let listener = app::bind(config.endpoint.listen).await?;
        // With port 0 the system has chosen one.
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let admin = app::bind_admin(&config.admin).await?;
        let app = App::build_server(config, admin).await?;
        announce(&url, &app.served(), format);
        app.serve_http(listener).await?;
        Ok(Answer::Yes)
    }
}

/// Lines in the log about the lists of one provider: each page of them may have given some.
const NOTES: usize = 20;

fn announce(at: &str, served: &Served, format: LogFormat) {
    match format {
        LogFormat::Text => lines(at, served).iter().for_each(|line| out::note(line)),
        LogFormat::Json => {
            let Served { providers, rejected, held_back, collisions } = served;
            let (providers, rejected) = (providers.len(), rejected.len());
            let (held_back, collisions) = (held_back.len(), collisions.len());
            tracing::info!(at, providers, rejected, held_back, collisions, "serving");
        }
    }
    for provider in &served.providers {
        for note in provider.left_out.iter().take(NOTES) {
            tracing::warn!(provider = %provider.full_name(), %note, "changed in its lists, or left out");
        }
    }
}

fn lines(at: &str, served: &Served) -> Vec<String> {
    let mut lines = vec![format!("larder {} serves {at}", env!("CARGO_PKG_VERSION"))];
    let names = served.providers.iter().map(|provider| provider.full_name().len());
    let width = names.max().unwrap_or(0);
    lines.extend(served.providers.iter().map(|p| format!("  {:width$}  {}", p.full_name(), p.counts())));
    lines.extend(served.rejected.iter().map(|r| format!("  rejected: {}: {}", r.full_name(), r.reason)));
    lines.extend(served.held_back.iter().map(|held| format!("  {held}")));
    lines.extend(served.collisions.iter().map(|collision| format!("  collision: {collision}")));
    if served.providers.is_empty() && served.rejected.is_empty() {
        lines.push(
            "  nothing yet: put a component (NAME.wasm) into the plugins folder, and it is served".into(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::app::{Provider, Rejected};

    fn check(served: &Served, expected: Expect) {
        expected.assert_eq(&lines("http://127.0.0.1:7878/mcp", served).join("\n"));
    }

    #[test]
    fn the_start_says_what_is_served() {
        check(
            &Served::default(),
            expect![[r#"
            larder 0.1.0 serves http://127.0.0.1:7878/mcp
              nothing yet: put a component (NAME.wasm) into the plugins folder, and it is served"#]],
        );
        let provider = |name: &str, count| Provider {
            name: name.into(),
            resources: vec![String::new(); count],
            ..Provider::default()
        };
        let served = Served {
            providers: vec![provider("files", 12), provider("conformance", 1)],
            held_back: vec![],
            rejected: vec![Rejected {
                team: None,
                file: "odd.wasm".into(),
                digest: None,
                reason: "it is empty".into(),
            }],
            collisions: vec!["files and conformance offer x:y".into()],
        };
        check(
            &served,
            expect![[r#"
            larder 0.1.0 serves http://127.0.0.1:7878/mcp
              files        12 resources
              conformance  1 resource
              rejected: odd.wasm: it is empty
              collision: files and conformance offer x:y"#]],
        );
    }
}
