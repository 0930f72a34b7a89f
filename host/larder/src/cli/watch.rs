//! `larder watch`: prints one line per update until it is interrupted.

mod events;

use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueHint};
use clap_complete::ArgValueCompleter;
use serde_json::json;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, completions, out, sanitize};
use crate::app::ShutdownSignals;
use larder_client::{self as client, Event, ListenTargets, ResourceChange};

/// Print updates of resources, or events of the server
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 0 on Ctrl-C; 1 if nothing can be watched, or if --for ends before --count."
)]
pub(super) struct Watch {
    /// The resources to watch
    #[arg(value_name = "URI", required_unless_present_any = ["list", "events"], add = ArgValueCompleter::new(completions::uris))]
    uris: Vec<String>,
    /// Watch the lists of resources and templates as well
    #[arg(long)]
    list: bool,
    /// Print what happens in the server instead: loads, reloads, rejections, faults, refusals, approvals. The server is
    /// that of --admin, and the token is that of its admin address
    #[arg(long, conflicts_with_all = ["uris", "list", "url", "in_process", "protocol"])]
    events: bool,
    /// The admin address of the server, or unix:PATH, for --events [default: the address in larder.toml, or
    /// LARDER_ADMIN_URL, or http://127.0.0.1:7879]
    #[arg(long, value_name = "URL", requires = "events", value_hint = ValueHint::Url)]
    admin: Option<String>,
    /// Only events of this kind, such as fault
    #[arg(long, requires = "events")]
    kind: Option<String>,
    /// Only events of this provider
    #[arg(long, value_name = "NAME", requires = "events")]
    provider: Option<String>,
    /// Exit after this many updates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Exit after this time, such as 30s
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
    /// Print one line of JSON per update
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Prints updates, up to a number of them.
struct UpdatePrinter {
    remaining: Option<u64>,
    json: bool,
    end: Option<End>,
}

/// Why the watch ended.
enum End {
    Count,
    NothingToWatch,
    Output(io::Error),
}

impl Watch {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        if self.events {
            return self.run_events().await;
        }
        let targets = ListenTargets {
            uris: self.uris,
            list: self.list,
        };
        let mut factory = self
            .connection
            .with_team(self.team)
            .client_factory()
            .await?;
        factory.follow_changes();
        let mut printer = UpdatePrinter {
            remaining: self.count,
            json: self.json,
            end: None,
        };
        let timed_out = Outcome::success_if(self.count.is_none());
        // Signals are handled before anything is printed, because scripts may send a signal after the first line.
        let mut signals = ShutdownSignals::new();
        let watched = tokio::select! {
            watched = client::watch(|| factory.client(), &targets, |event| printer.print(event)) => {
                watched.map(|()| None)
            }
            () = signals.next() => Ok(Some(Outcome::Success)),
            () = sleep(self.duration) => Ok(Some(timed_out)),
        };
        factory.end().await;
        match (watched?, printer.end) {
            (Some(answer), _) => Ok(answer),
            (None, Some(End::Output(error))) => Err(error.into()),
            (None, Some(End::NothingToWatch)) => Ok(Outcome::Negative),
            (None, Some(End::Count) | None) => Ok(Outcome::Success),
        }
    }
}

/// Sleeps forever without a duration.
async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

impl UpdatePrinter {
    fn print(&mut self, event: Event) -> ControlFlow<()> {
        match event {
            Event::Began { honoured, refused } => self.began(&honoured, &refused),
            Event::Lost { why, retry_in } => {
                let retry_in = humantime::format_duration(retry_in);
                out::note(&format!(
                    "larder: connection lost: {why}; retry in {retry_in}"
                ));
                ControlFlow::Continue(())
            }
            Event::Changed(change) => self.change(&change),
        }
    }

    fn began(&mut self, honoured: &ListenTargets, refused: &[String]) -> ControlFlow<()> {
        for uri in refused {
            out::note(&format!(
                "larder: {uri} cannot be watched: the server does not offer it"
            ));
        }
        let list = if honoured.list { " and the lists" } else { "" };
        match honoured.uris.len() {
            0 if !honoured.list => {
                self.end = Some(End::NothingToWatch);
                return ControlFlow::Break(());
            }
            0 => out::note("larder: watching the lists"),
            1 => out::note(&format!("larder: watching {}{list}", honoured.uris[0])),
            many => out::note(&format!("larder: watching {many} resources{list}")),
        }
        ControlFlow::Continue(())
    }

    fn change(&mut self, change: &ResourceChange) -> ControlFlow<()> {
        let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        if let Err(error) = out::text(&line(&at, change, self.json)) {
            self.end = Some(End::Output(error));
            return ControlFlow::Break(());
        }
        self.remaining = self.remaining.map(|remaining| remaining - 1);
        if self.remaining == Some(0) {
            self.end = Some(End::Count);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

fn line(at: &str, change: &ResourceChange, json: bool) -> String {
    let line = match (change, json) {
        (ResourceChange::Updated(uri), true) => {
            json!({ "at": at, "event": "updated", "uri": uri }).to_string()
        }
        (ResourceChange::ListChanged, true) => {
            json!({ "at": at, "event": "list-changed" }).to_string()
        }
        (ResourceChange::Updated(uri), false) => format!("{at}  updated       {uri}"),
        (ResourceChange::ListChanged, false) => format!("{at}  list changed"),
    };
    format!("{}\n", sanitize::line(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_one_line_per_change() {
        let updated = ResourceChange::Updated("x:a\n\u{202e}b".into());
        let shown = |change: &ResourceChange, json| line("T", change, json);
        assert_eq!(shown(&updated, false), "T  updated       x:a \\u202eb\n");
        assert_eq!(
            shown(&ResourceChange::ListChanged, false),
            "T  list changed\n"
        );
        let parsed: serde_json::Value = serde_json::from_str(&shown(&updated, true)).unwrap();
        assert_eq!(
            parsed,
            json!({ "at": "T", "event": "updated", "uri": "x:a\n\u{202e}b" })
        );
        assert_eq!(shown(&updated, true).lines().count(), 1);
    }
}
