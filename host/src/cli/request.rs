//! `larder request`: a method by its name, such as no other command has, and what the server says afterwards.

use clap::Args;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::reach::Reach;
use super::team::OfTeam;
use super::{Answer, clean, out};
use crate::app::Stops;
use crate::client::{ClientError, Listening, Wanted};

/// Asks by the name of a method, and prints the result as it comes, a line of JSON
#[derive(Debug, Args)]
#[command(
    after_help = "Where the server says no, its error is on stderr, as JSON too, and the exit code is 1. \
Example: larder request resources/get '{\"uri\": \"file:///docs/hello.md\"}'"
)]
pub(super) struct Request {
    /// The method, such as resources/get
    method: String,
    /// Its parameters: an object of JSON
    #[arg(default_value = "{}", hide_default_value = true, value_parser = object)]
    params: Map<String, Value>,
    /// Go on in a session, and print what the server says, a line of JSON for each notification, until Ctrl-C
    #[arg(long)]
    listen: bool,
    /// End after this many notifications
    #[arg(long, value_name = "N", requires = "listen", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// At the end ask this with the same parameters: after resources/subscribe, resources/unsubscribe
    #[arg(long, value_name = "METHOD", requires = "listen")]
    then: Option<String>,
    #[command(flatten)]
    team: OfTeam,
    #[command(flatten)]
    reach: Reach,
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not an object of JSON: {error}"))
}

impl Request {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        if self.listen {
            return self.listen().await;
        }
        let mut reached = self.reach.of_team(self.team).connect().await?;
        let answer = reached.client.request(&self.method, self.params).await;
        reached.end().await;
        print(answer)
    }

    async fn listen(self) -> Result<Answer, Failure> {
        let mut door = self.reach.of_team(self.team).in_session()?.door().await?;
        door.keep_up();
        let mut listening = door.client().await?.listen(&Wanted::default()).await?;
        let answer = talk(&mut listening, &self.method, self.params, self.count, self.then.as_deref()).await;
        listening.close().await;
        door.end().await;
        answer
    }
}

async fn talk(
    listening: &mut Listening,
    method: &str,
    params: Map<String, Value>,
    count: Option<u64>,
    then: Option<&str>,
) -> Result<Answer, Failure> {
    let answer = listening.request(method, params.clone()).await;
    // From before it is printed: who sees it may ask this to stop.
    let mut stops = Stops::new();
    if print(answer)? == Answer::No {
        return Ok(Answer::No);
    }
    let goes_on = tokio::select! {
        heard = hear(listening, count) => heard?,
        () = stops.next() => true,
    };
    match then {
        _ if !goes_on => Ok(Answer::No),
        Some(then) => print(listening.request(then, params).await),
        None => Ok(Answer::Yes),
    }
}

/// False if the server ended it.
async fn hear(listening: &mut Listening, count: Option<u64>) -> Result<bool, Failure> {
    let mut left = count;
    while left != Some(0) {
        let Some(said) = listening.said().await? else {
            out::note("larder: the server ended it");
            return Ok(false);
        };
        out::text(&line(&json!(said).to_string()))?;
        left = left.map(|left| left - 1);
    }
    Ok(true)
}

fn print(answer: Result<Box<RawValue>, ClientError>) -> Result<Answer, Failure> {
    match answer {
        Ok(result) => out::text(&line(result.get()))?,
        // Whole, since what belongs to it may be what was asked for.
        Err(ClientError::Refused(refusal)) => {
            out::note(&json!(refusal).to_string());
            return Ok(Answer::No);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Answer::Yes)
}

/// Line breaks can stand between the words of JSON only, so it stays the same.
fn line(json: &str) -> String {
    format!("{}\n", clean::line(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_an_object() {
        assert_eq!(object(r#"{"uri":"a:b"}"#).unwrap()["uri"], "a:b");
        for wrong in ["", "a:b", "[]", "null", "{} {}"] {
            assert!(object(wrong).unwrap_err().starts_with("it is not an object of JSON: "), "{wrong}");
        }
    }

    #[test]
    fn an_answer_is_one_line_however_it_was_written() {
        let answer = "{\n  \"a\": \"b\u{202e}\\n\",\r\n\t\"c\": 1.50\n}";
        let shown = line(answer);
        assert_eq!((shown.lines().count(), shown.contains('\u{202e}')), (1, false));
        let same: [Value; 2] = [answer, &shown].map(|json| serde_json::from_str(json).unwrap());
        assert_eq!(same[0], same[1]);
        assert!(shown.contains("1.50"), "{shown}");
    }
}
