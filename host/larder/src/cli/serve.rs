//! `larder serve`: runs the server over HTTP, or over stdin and stdout.

use std::path::PathBuf;

use clap::Args;

use super::error::CommandError;
use super::log::ProcessLog;
use super::team::TeamArg;
use super::{Outcome, log, out};
use crate::app::{self, App, IfInUse, InheritedSockets, Provider, ServingReport};
use larder_config::{self as config, AdminAddress, Config, LogFormat, Overrides};
use larder_mcp::{ListenAddress, Listener};
use larder_runtime::log_limit::shorten;

/// Serve the components of a folder as one MCP endpoint
#[derive(Debug, Args)]
#[command(
    after_help = "The first Ctrl-C lets requests in flight finish; the second one exits at once."
)]
pub(super) struct Serve {
    /// The configuration file [default: larder.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder with the components [default: plugins]
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    /// The address of the endpoint, or unix:PATH for a Unix socket [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS", value_parser = config::parse_listen_address, conflicts_with = "stdio")]
    listen: Option<ListenAddress>,
    /// The admin address, unix:PATH for a Unix socket, or off [default: 127.0.0.1:7879]
    #[arg(long, value_name = "ADDRESS", value_parser = config::parse_admin_address)]
    admin: Option<AdminAddress>,
    /// Serve one client over stdin and stdout instead of HTTP
    #[arg(long)]
    stdio: bool,
    /// Offer tools that read resources and search in them, for clients that support only tools
    #[arg(long)]
    resource_tools: bool,
    /// Serve exactly the components in larder.lock, and do not look for updates
    #[arg(long)]
    locked: bool,
    #[command(flatten)]
    team: TeamArg,
    #[arg(skip)]
    sockets: InheritedSockets,
}

impl Serve {
    /// Takes the sockets that a service manager has opened. This must be called before any thread starts.
    pub(super) fn take_sockets(&mut self) {
        self.sockets = InheritedSockets::take();
    }

    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let inherited_admin = self
            .sockets
            .admin_address()?
            .map(|address| AdminAddress(Some(address)));
        let overrides = Overrides {
            config: self.config,
            plugins: self.plugins,
            listen: self.sockets.endpoint_address()?.or(self.listen),
            team: self.team.team,
            admin: inherited_admin.or(self.admin),
            resource_tools: self.resource_tools,
            locked: self.locked,
            ..Overrides::default()
        };
        let config = config::load(&overrides)?;
        let process_log = log::start(&config.log);
        if self.stdio {
            Box::pin(serve_stdio(config.over_stdio()?, process_log)).await?;
            return Ok(Outcome::Success);
        }
        let config = config.over_http()?;
        let (listener, admin) = listen(&config, self.sockets).await?;
        serve_http(config, listener, admin, process_log).await?;
        Ok(Outcome::Success)
    }
}

/// Serves a configuration at these addresses until the server is told to stop.
pub(super) async fn serve_http(
    config: Config,
    listener: Listener,
    admin: Option<Listener>,
    process_log: ProcessLog,
) -> Result<(), CommandError> {
    let format = config.log.format;
    // With port 0 the operating system chooses the port.
    let url = listener.address()?.url("/mcp");
    let app = App::build_server(config, admin, process_log.hook()).await?;
    process_log.start_reports(&app);
    announce(&url, &app.served(), &app.problems(), format);
    app.announce_to_service_manager(&url);
    Ok(app.serve_http(listener).await?)
}

/// Serves one client over stdin and stdout.
pub(super) async fn serve_stdio(
    config: Config,
    process_log: ProcessLog,
) -> Result<(), CommandError> {
    let format = config.log.format;
    // The default admin address is for the HTTP server, because a client may start several stdio servers.
    let admin = app::bind_explicit_admin(&config.admin, IfInUse::Warn).await?;
    let app = App::build_server(config, admin, process_log.hook()).await?;
    process_log.start_reports(&app);
    announce("stdin and stdout", &app.served(), &app.problems(), format);
    Ok(app.serve_stdio().await?)
}

/// Uses the sockets of the service manager, and opens the sockets that the service manager has not opened.
async fn listen(
    config: &Config,
    sockets: InheritedSockets,
) -> Result<(Listener, Option<Listener>), CommandError> {
    let (endpoint, admin) = sockets.into_listeners()?;
    let endpoint = match endpoint {
        Some(listener) => listener,
        None => app::bind(&config.endpoint.listen).await?,
    };
    let admin = match admin {
        Some(listener) => {
            let url = listener.address()?.url("");
            tracing::info!(%url, "serving /livez, /readyz, /metrics and /status on a socket of the service manager");
            Some(listener)
        }
        None => app::bind_admin(&config.admin, IfInUse::Fail).await?,
    };
    Ok((endpoint, admin))
}

/// The maximum number of log lines about the lists of one provider. Each page may cause several lines.
const MAX_NOTES: usize = 20;

/// The maximum number of lines about components that are not served.
const MAX_NOT_SERVED: usize = 100;

fn announce(at: &str, served: &ServingReport, problems: &[String], format: LogFormat) {
    match format {
        LogFormat::Text => {
            for line in lines(at, served, problems) {
                out::note(&line);
            }
        }
        LogFormat::Json => log_summary(at, served, problems),
    }
    served.providers.iter().for_each(log_notes);
}

fn log_summary(at: &str, served: &ServingReport, problems: &[String]) {
    tracing::info!(
        at,
        providers = served.providers.len(),
        rejected = served.rejected.len(),
        pending_approval = served.pending_approval.len(),
        collisions = served.collisions.len(),
        "serving"
    );
    for problem in problems {
        tracing::warn!(problem);
    }
}

fn log_notes(provider: &Provider) {
    let name = provider.full_name();
    for note in provider.omitted.iter().take(MAX_NOTES) {
        tracing::warn!(provider = %name, %note, "list entry changed or omitted");
    }
    let problems = provider.setting_problems.iter();
    let problems = problems.chain(&provider.setting_warnings);
    for problem in problems.take(MAX_NOTES) {
        tracing::warn!(provider = %name, %problem, "a setting differs from its declaration");
    }
}

fn lines(at: &str, served: &ServingReport, problems: &[String]) -> Vec<String> {
    let mut lines = vec![format!("larder {} serves {at}", env!("CARGO_PKG_VERSION"))];
    let providers = served.providers.iter();
    let names = providers.clone().map(|provider| provider.full_name().len());
    let width = names.max().unwrap_or(0);
    lines.extend(providers.map(|p| format!("  {:width$}  {}", p.full_name(), p.counts())));
    let rejected = served.rejected.iter();
    let rejected = rejected.map(|r| format!("  rejected: {}: {}", r.full_name(), r.reason));
    lines.extend(shorten(rejected, MAX_NOT_SERVED, "rejected components"));
    let pending = served.pending_approval.iter();
    let pending = pending.map(|pending| format!("  {pending}"));
    let what = "revisions that wait for approval";
    lines.extend(shorten(pending, MAX_NOT_SERVED, what));
    let collisions = served.collisions.iter();
    lines.extend(collisions.map(|collision| format!("  collision: {collision}")));
    lines.extend(problems.iter().map(|problem| format!("  {problem}")));
    if served.providers.is_empty() && served.rejected.is_empty() && problems.is_empty() {
        lines.push(
            "  no components yet: put a component (NAME.wasm) into the plugins folder to serve it"
                .into(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::app::{Provider, RejectedComponent};

    fn check(served: &ServingReport, problems: &[String], expected: Expect) {
        expected.assert_eq(&lines("http://127.0.0.1:7878/mcp", served, problems).join("\n"));
    }

    #[test]
    fn announces_what_is_served() {
        check(
            &ServingReport::default(),
            &[],
            expect![[r#"
            larder 0.1.0 serves http://127.0.0.1:7878/mcp
              no components yet: put a component (NAME.wasm) into the plugins folder to serve it"#]],
        );
        check(
            &ServingReport::default(),
            &["team default: not loaded yet: slow.wasm".into()],
            expect![[r#"
            larder 0.1.0 serves http://127.0.0.1:7878/mcp
              team default: not loaded yet: slow.wasm"#]],
        );
        let provider = |name: &str, count| Provider {
            name: name.into(),
            resources: vec![String::new(); count],
            ..Provider::default()
        };
        let served = ServingReport {
            providers: vec![provider("files", 12), provider("conformance", 1)],
            pending_approval: vec![],
            rejected: vec![RejectedComponent {
                team: None,
                file: "odd.wasm".into(),
                digest: None,
                reason: "it is empty".into(),
                stderr: String::new(),
            }],
            collisions: vec!["files and conformance offer x:y".into()],
        };
        check(
            &served,
            &[],
            expect![[r#"
            larder 0.1.0 serves http://127.0.0.1:7878/mcp
              files        12 resources
              conformance  1 resource
              rejected: odd.wasm: it is empty
              collision: files and conformance offer x:y"#]],
        );
    }
}
