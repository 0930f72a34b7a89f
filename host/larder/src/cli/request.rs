//! `larder request`: calls any method by its name, and prints the notifications that follow.

use clap::Args;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, out, sanitize};
use crate::app::ShutdownSignals;
use larder_client::{ClientError, ListenTargets, ListeningClient};

/// Call any method by its name and print the result as one line of JSON
#[derive(Debug, Args)]
#[command(
    after_help = "If the server returns an error, it is printed to stderr as JSON, and the exit code is 1. \
Example: larder request resources/get '{\"uri\": \"file:///docs/hello.md\"}'"
)]
pub(super) struct Request {
    /// The method, such as resources/get
    method: String,
    /// The parameters, a JSON object
    #[arg(default_value = "{}", hide_default_value = true, value_parser = parse_object)]
    params: Map<String, Value>,
    /// Keep the session open and print each notification as one line of JSON, until Ctrl-C
    #[arg(long)]
    listen: bool,
    /// Exit after this many notifications
    #[arg(long, value_name = "N", requires = "listen", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Call this method with the same parameters at the end, such as resources/unsubscribe
    #[arg(long, value_name = "METHOD", requires = "listen")]
    then: Option<String>,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

fn parse_object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

impl Request {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        if self.listen {
            return self.listen().await;
        }
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let answer = connection.client.request(&self.method, self.params).await;
        connection.end().await;
        print(answer)
    }

    async fn listen(self) -> Result<Outcome, CommandError> {
        let mut factory = self
            .connection
            .with_team(self.team)
            .with_session()?
            .client_factory()
            .await?;
        factory.follow_changes();
        let mut listening = factory
            .client()
            .await?
            .listen(&ListenTargets::default())
            .await?;
        let answer = call_and_listen(
            &mut listening,
            &self.method,
            self.params,
            self.count,
            self.then.as_deref(),
        )
        .await;
        listening.close().await;
        factory.end().await;
        answer
    }
}

async fn call_and_listen(
    listening: &mut ListeningClient,
    method: &str,
    params: Map<String, Value>,
    count: Option<u64>,
    then: Option<&str>,
) -> Result<Outcome, CommandError> {
    let answer = listening.request(method, params.clone()).await;
    // Signals are handled before the answer is printed, because scripts may send a signal after it.
    let mut signals = ShutdownSignals::new();
    if print(answer)? == Outcome::Negative {
        return Ok(Outcome::Negative);
    }
    let is_open = tokio::select! {
        is_open = print_notifications(listening, count) => is_open?,
        () = signals.next() => true,
    };
    match then {
        _ if !is_open => Ok(Outcome::Negative),
        Some(then) => print(listening.request(then, params).await),
        None => Ok(Outcome::Success),
    }
}

/// Prints notifications, up to `count`. Returns false if the server ended the stream.
async fn print_notifications(
    listening: &mut ListeningClient,
    count: Option<u64>,
) -> Result<bool, CommandError> {
    let mut remaining = count;
    while remaining != Some(0) {
        let Some(notification) = listening.next_notification().await? else {
            out::note("larder: the server ended the stream");
            return Ok(false);
        };
        out::text(&line(&json!(notification).to_string()))?;
        remaining = remaining.map(|remaining| remaining - 1);
    }
    Ok(true)
}

fn print(answer: Result<Box<RawValue>, ClientError>) -> Result<Outcome, CommandError> {
    match answer {
        Ok(result) => out::text(&line(result.get()))?,
        // The whole error object is printed, because scripts may need its data.
        Err(ClientError::Rpc(error)) => {
            out::note(&json!(error).to_string());
            return Ok(Outcome::Negative);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Outcome::Success)
}

/// Writes JSON on one line. Its line breaks are whitespace between tokens, because line breaks in strings are escaped.
fn line(json: &str) -> String {
    format!("{}\n", sanitize::line(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_must_be_an_object() {
        assert_eq!(parse_object(r#"{"uri":"a:b"}"#).unwrap()["uri"], "a:b");
        for wrong in ["", "a:b", "[]", "null", "{} {}"] {
            assert!(
                parse_object(wrong)
                    .unwrap_err()
                    .starts_with("not a JSON object: "),
                "{wrong}"
            );
        }
    }

    #[test]
    fn prints_results_on_one_line() {
        let answer = "{\n  \"a\": \"b\u{202e}\\n\",\r\n\t\"c\": 1.50\n}";
        let shown = line(answer);
        assert_eq!(
            (shown.lines().count(), shown.contains('\u{202e}')),
            (1, false)
        );
        let same: [Value; 2] = [answer, &shown].map(|json| serde_json::from_str(json).unwrap());
        assert_eq!(same[0], same[1]);
        assert!(shown.contains("1.50"), "{shown}");
    }
}
