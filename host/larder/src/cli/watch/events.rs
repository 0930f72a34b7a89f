//! `larder watch --events`: prints the events of a server.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::super::error::CommandError;
use super::super::server_address::ServerAddress;
use super::super::{Outcome, out, sanitize};
use super::{Watch, sleep};
use crate::app::ShutdownSignals;
use larder_client::{AdminEvents, ClientError};

/// The delay before the connection is established again. The delay doubles each time, up to a limit.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// An event of a server. Other messages of the stream have no kind.
#[derive(Debug, Deserialize)]
struct Event {
    id: Value,
    at: String,
    kind: String,
    team: Option<String>,
    provider: Option<String>,
    text: String,
}

/// Prints the events that match the options, up to a number of events.
struct EventPrinter {
    kind: Option<String>,
    team: Option<String>,
    provider: Option<String>,
    remaining: Option<u64>,
    json: bool,
    /// The id of the last event.
    last: Option<String>,
}

impl Watch {
    pub(super) async fn run_events(self) -> Result<Outcome, CommandError> {
        let server = self.connection.admin_address(self.admin)?;
        let mut printer = EventPrinter {
            kind: self.kind,
            team: self.team.team.map(|team| team.to_string()),
            provider: self.provider,
            remaining: self.count,
            json: self.json,
            last: None,
        };
        let timed_out = Outcome::success_if(self.count.is_none());
        let mut signals = ShutdownSignals::new();
        // Without a first connection, there are no events to wait for.
        let stream = printer.connect(&server).await?;
        out::note(&format!("larder: watching the events of {}", server.url));
        tokio::select! {
            printed = printer.follow(&server, stream) => printed.map(|()| Outcome::Success),
            () = signals.next() => Ok(Outcome::Success),
            () = sleep(self.duration) => Ok(timed_out),
        }
    }
}

impl EventPrinter {
    async fn connect(&self, server: &ServerAddress) -> Result<AdminEvents, ClientError> {
        let after = self.last.as_ref().map(|id| format!("?after={id}"));
        let path = format!("/api/events/stream{}", after.unwrap_or_default());
        let builder = server.builder.clone();
        builder.admin_events(&server.url, &path).await
    }

    /// Prints events until the requested number is reached. Connects again when the stream ends.
    async fn follow(
        &mut self,
        server: &ServerAddress,
        mut stream: AdminEvents,
    ) -> Result<(), CommandError> {
        let mut delay = RETRY_DELAY;
        loop {
            let why = match stream.next().await {
                Ok(Some(data)) => {
                    delay = RETRY_DELAY;
                    if self.print(&data)? {
                        return Ok(());
                    }
                    continue;
                }
                Ok(None) => "the server ended the stream".to_owned(),
                Err(error) => error.to_string(),
            };
            out::note(&format!("larder: connection lost: {why}"));
            stream = self.reconnect(server, &mut delay).await?;
        }
    }

    /// Connects again as soon as possible. Fails if the server does not accept the token any more.
    async fn reconnect(
        &self,
        server: &ServerAddress,
        delay: &mut Duration,
    ) -> Result<AdminEvents, CommandError> {
        loop {
            tokio::time::sleep(*delay).await;
            *delay = (*delay * 2).min(MAX_RETRY_DELAY);
            match self.connect(server).await {
                Err(error) if !is_temporary(&error) => return Err(error.into()),
                Err(error) => out::note(&format!("larder: {error}")),
                Ok(stream) => return Ok(stream),
            }
        }
    }

    /// Prints an event if it matches the options. Returns whether it was the last event.
    fn print(&mut self, data: &str) -> Result<bool, CommandError> {
        let Ok(event) = serde_json::from_str::<Event>(data) else {
            return Ok(false);
        };
        self.last = Some(event.id());
        if !self.is_wanted(&event) {
            return Ok(false);
        }
        let line = if self.json {
            data.to_owned()
        } else {
            event.line()
        };
        out::text(&format!("{}\n", sanitize::line(&line)))?;
        self.remaining = self.remaining.map(|remaining| remaining - 1);
        Ok(self.remaining == Some(0))
    }

    fn is_wanted(&self, event: &Event) -> bool {
        let team = event.team.as_deref().unwrap_or("default");
        fits(self.kind.as_deref(), Some(&event.kind))
            && fits(self.team.as_deref(), Some(team))
            && self.is_of_provider(event)
    }

    fn is_of_provider(&self, event: &Event) -> bool {
        let wanted = self.provider.as_deref();
        fits(wanted, event.provider.as_deref()) || fits(wanted, event.provider_name())
    }
}

/// Whether an event has the value of an option, if the option is set.
fn fits(wanted: Option<&str>, own: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| own == Some(wanted))
}

/// Whether a later attempt may succeed.
fn is_temporary(error: &ClientError) -> bool {
    match error {
        ClientError::Unreachable { .. } | ClientError::Closed | ClientError::TimedOut(_) => true,
        ClientError::Admin { status, .. } | ClientError::Status { status, .. } => *status >= 429,
        _ => false,
    }
}

impl Event {
    fn id(&self) -> String {
        match &self.id {
            Value::String(id) => id.clone(),
            id => id.to_string(),
        }
    }

    /// The name of the provider without its team.
    fn provider_name(&self) -> Option<&str> {
        let name = self.provider.as_deref()?;
        name.rsplit('/').next()
    }

    fn line(&self) -> String {
        let of = self.provider.as_ref().or(self.team.as_ref());
        let of = of.map(|name| format!("{name}: ")).unwrap_or_default();
        format!("{}  {:<12}  {of}{}", self.at, self.kind, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_events_that_fit() {
        let printer = |kind: Option<&str>, count| EventPrinter {
            kind: kind.map(ToOwned::to_owned),
            team: None,
            provider: None,
            remaining: Some(count),
            json: false,
            last: None,
        };
        let fault = r#"{"id": 7, "at": "T", "kind": "fault", "team": "a", "provider": "a/wiki", "text": "it trapped"}"#;
        let event: Event = serde_json::from_str(fault).unwrap();
        assert_eq!(event.line(), "T  fault         a/wiki: it trapped");
        let mut all = printer(None, 2);
        assert!(
            !all.print(r#"{"version": "1", "uptime_seconds": 1}"#)
                .unwrap(),
            "the overview is no event"
        );
        assert!(!all.print(fault).unwrap() && all.print(fault).unwrap());
        assert_eq!(all.last.as_deref(), Some("7"));
        let mut loads = printer(Some("load"), 1);
        assert!(!loads.print(fault).unwrap());
        assert_eq!(loads.last.as_deref(), Some("7"), "it is not sent again");
    }
}
