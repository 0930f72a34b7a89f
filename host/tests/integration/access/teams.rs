//! Isolation between teams: two teams that use the same names, and a caller that belongs to both.

mod commands;
mod interleaved;
mod isolation;
mod shares;
mod union;

use std::sync::Arc;

use larder_core::gateway::{Filter, Gateway};
use larder_model::name::{TeamName, Teams};
use larder_model::resource::{Body, Call, Caller, ReadResult};

use crate::support::harness::{TestServer, TestServerBuilder, parse_uri, shared_gateway};

/// The servers of the teams `alpha` and `beta`, behind one gateway.
struct TwoTeams {
    gateway: Gateway,
    alpha: TestServer,
    beta: TestServer,
}

impl TwoTeams {
    /// Starts both servers with the same guests. `own` changes the configuration of each team.
    async fn start(
        guests: &str,
        page_size: u32,
        own: impl Fn(&str, TestServerBuilder) -> TestServerBuilder,
    ) -> Self {
        let builder = |team: &str| own(team, TestServer::builder(guests).team(team));
        let (alpha, beta) = tokio::join!(builder("alpha").start(), builder("beta").start());
        Self {
            gateway: shared_gateway(&[&alpha, &beta], page_size),
            alpha,
            beta,
        }
    }

    /// Reads a URI as a member of these teams. Returns the text, or the error as text.
    async fn text(&self, teams: &str, uri: &str) -> String {
        let call = call_by(teams);
        let answer = self.gateway.read(&call, &parse_uri(uri), None).await;
        answer.map_or_else(|error| format!("error: {error}"), |reading| text(&reading))
    }

    async fn uris(&self, teams: &str) -> Vec<String> {
        let mut uris = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page = self
                .gateway
                .list(&call_by(teams), cursor.as_deref(), &Filter::default())
                .await
                .unwrap();
            uris.extend(page.items.iter().map(|entry| entry.uri.to_string()));
            match page.next {
                Some(next) => assert_ne!(cursor.replace(next), cursor, "the cursor does not move"),
                None => return uris,
            }
        }
    }
}

fn caller(teams: &str) -> Caller {
    let teams = teams.split(' ').map(|team| TeamName::parse(team).unwrap());
    Caller {
        subject: Some("ann".into()),
        issuer: None,
        teams: Teams::of(teams).unwrap(),
        scopes: vec![],
    }
}

/// A call by the same subject, as a member of these teams.
fn call_by(teams: &str) -> Arc<Call> {
    Arc::new(Call::from_caller(caller(teams)))
}

fn text(reading: &ReadResult) -> String {
    match &reading.contents[0].body {
        Body::Text(text) => text.clone(),
        Body::Blob(blob) => format!("{blob:?}"),
    }
}
