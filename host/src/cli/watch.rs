//! `larder watch`: one line for each update, as it comes, until somebody has seen enough.

use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::reach::Reach;
use super::team::OfTeam;
use super::{Answer, clean, out};
use crate::app::Stops;
use crate::client::{self, Event, News, Wanted};

/// Prints updates of resources as they come
#[derive(Debug, Args)]
#[command(
    after_help = "Ends on Ctrl-C with 0. Exit code 1 if nothing can be watched, or if --for ends before --count."
)]
pub(super) struct Watch {
    /// The resources
    #[arg(value_name = "URI", required_unless_present = "list")]
    uris: Vec<String>,
    /// Say when the list of resources or templates changes, too
    #[arg(long)]
    list: bool,
    /// End after this many updates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after this time, such as 30s
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    lasting: Option<Duration>,
    /// Print a line of JSON for each update
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: OfTeam,
    #[command(flatten)]
    reach: Reach,
}

/// What is told, and how often it may be.
struct Teller {
    left: Option<u64>,
    json: bool,
    ended: Option<End>,
}

enum End {
    Count,
    Nothing,
    Output(io::Error),
}

impl Watch {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let wanted = Wanted { uris: self.uris, list: self.list };
        let mut door = self.reach.of_team(self.team).door().await?;
        door.keep_up();
        let mut teller = Teller { left: self.count, json: self.json, ended: None };
        let late = Answer::yes_if(self.count.is_none());
        // From before anything is said: who is told that this watches may ask it to stop.
        let mut stops = Stops::new();
        let watched = tokio::select! {
            watched = client::watch(|| door.client(), &wanted, |event| teller.tell(event)) => watched.map(|()| None),
            () = stops.next() => Ok(Some(Answer::Yes)),
            () = over(self.lasting) => Ok(Some(late)),
        };
        door.end().await;
        match (watched?, teller.ended) {
            (Some(answer), _) => Ok(answer),
            (None, Some(End::Output(error))) => Err(error.into()),
            (None, Some(End::Nothing)) => Ok(Answer::No),
            (None, Some(End::Count) | None) => Ok(Answer::Yes),
        }
    }
}

async fn over(lasting: Option<Duration>) {
    match lasting {
        Some(lasting) => tokio::time::sleep(lasting).await,
        None => std::future::pending().await,
    }
}

impl Teller {
    fn tell(&mut self, event: Event) -> ControlFlow<()> {
        match event {
            Event::Began { honoured, refused } => self.began(&honoured, &refused),
            Event::Lost { why, again } => {
                let again = humantime::format_duration(again);
                out::note(&format!("larder: lost: {why}; next try in {again}"));
                ControlFlow::Continue(())
            }
            Event::News(news) => self.news(&news),
        }
    }

    fn began(&mut self, honoured: &Wanted, refused: &[String]) -> ControlFlow<()> {
        for uri in refused {
            out::note(&format!("larder: {uri} cannot be watched: nobody offers it"));
        }
        let list = if honoured.list { " and the lists" } else { "" };
        match honoured.uris.len() {
            0 if !honoured.list => {
                self.ended = Some(End::Nothing);
                return ControlFlow::Break(());
            }
            0 => out::note("larder: watching the lists"),
            1 => out::note(&format!("larder: watching {}{list}", honoured.uris[0])),
            many => out::note(&format!("larder: watching {many} resources{list}")),
        }
        ControlFlow::Continue(())
    }

    fn news(&mut self, news: &News) -> ControlFlow<()> {
        let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        if let Err(error) = out::text(&line(&at, news, self.json)) {
            self.ended = Some(End::Output(error));
            return ControlFlow::Break(());
        }
        self.left = self.left.map(|left| left - 1);
        if self.left == Some(0) {
            self.ended = Some(End::Count);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

fn line(at: &str, news: &News, json: bool) -> String {
    let line = match (news, json) {
        (News::Updated(uri), true) => json!({ "at": at, "event": "updated", "uri": uri }).to_string(),
        (News::ListChanged, true) => json!({ "at": at, "event": "list-changed" }).to_string(),
        (News::Updated(uri), false) => format!("{at}  updated       {uri}"),
        (News::ListChanged, false) => format!("{at}  list changed"),
    };
    format!("{}\n", clean::line(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_of_news_is_one_line() {
        let updated = News::Updated("x:a\n\u{202e}b".into());
        let shown = |news: &News, json| line("T", news, json);
        assert_eq!(shown(&updated, false), "T  updated       x:a \\u202eb\n");
        assert_eq!(shown(&News::ListChanged, false), "T  list changed\n");
        let parsed: serde_json::Value = serde_json::from_str(&shown(&updated, true)).unwrap();
        assert_eq!(parsed, json!({ "at": "T", "event": "updated", "uri": "x:a\n\u{202e}b" }));
        assert_eq!(shown(&updated, true).lines().count(), 1);
    }
}
