//! The border between teams: two of them that are as like each other as can be, and whoever belongs to both.

mod border;
mod commands;
mod interleaved;
mod union;

use std::sync::Arc;

use larder_core::gateway::{Filter, Gateway};
use larder_model::name::{TeamName, Teams};
use larder_model::resource::{Body, Call, Caller, ReadResult};

use crate::house::{House, Plan, gateway};

/// Houses of the teams `alpha` and `beta`, with one door.
struct Two {
    gateway: Gateway,
    alpha: House,
    beta: House,
}

impl Two {
    /// The same plan for both, but for what is done to it for each.
    async fn of(guests: &str, page_size: u32, own: impl Fn(&str, Plan) -> Plan) -> Self {
        let plan = |team: &str| own(team, Plan::of(guests).team(team));
        let (alpha, beta) = tokio::join!(plan("alpha").open(), plan("beta").open());
        Self { gateway: gateway(&[&alpha, &beta], page_size), alpha, beta }
    }

    /// What a caller of these teams is told.
    async fn text(&self, teams: &str, uri: &str) -> String {
        let call = by(teams);
        let answer = self.gateway.read(&call, uri, None).await;
        answer.map_or_else(|error| format!("error: {error}"), |reading| text(&reading))
    }

    async fn uris(&self, teams: &str) -> Vec<String> {
        let mut uris = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page = self.gateway.list(&by(teams), cursor.as_deref(), &Filter::default()).await.unwrap();
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
    Caller { subject: Some("ann".into()), issuer: None, teams: Teams::of(teams).unwrap(), scopes: vec![] }
}

/// The same person, as a member of these teams.
fn by(teams: &str) -> Arc<Call> {
    Arc::new(Call::from_caller(caller(teams)))
}

fn text(reading: &ReadResult) -> String {
    match &reading.contents[0].body {
        Body::Text(text) => text.clone(),
        Body::Blob(blob) => format!("{blob:?}"),
    }
}
