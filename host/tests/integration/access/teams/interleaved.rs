//! Random sequences of actions in two teams: nothing of one team ever becomes visible in the other team.

use std::time::Duration;

use larder_core::catalog::{Change, Watch};
use larder_core::gateway::{Error, Filter};
use larder_model::uri::Uri;
use proptest::prelude::*;

use super::{TwoTeams, call_by, caller};
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::revision::{NOW, number, revision, text};

#[derive(Debug, Clone, Copy)]
enum Action {
    Read,
    ReadOfOther,
    ReadCached,
    List,
    UseForeignCursor,
    Swap,
    Touch,
}

fn actions() -> impl Strategy<Value = Vec<(bool, Action)>> {
    let action = prop_oneof![
        Just(Action::Read),
        Just(Action::ReadOfOther),
        Just(Action::ReadCached),
        Just(Action::List),
        Just(Action::UseForeignCursor),
        Just(Action::Swap),
        Just(Action::Touch)
    ];
    prop::collection::vec((any::<bool>(), action), 1..14)
}

/// The previous actions and observations of a team.
struct TeamState {
    name: &'static str,
    /// The current revision. The teams use different numbers.
    revision: u32,
    watch: Watch,
    /// Whether the team did something that its watch reports.
    changed: bool,
    cached: Option<String>,
}

const HELLO: &str = "echo://hello";
const CACHEABLE: &str = "fresh://everyone/3600000/0/a";

fn team_state(two: &TwoTeams, name: &'static str, revision: u32) -> TeamState {
    let watch = two.gateway.watch(&caller(name));
    watch.watch_list(true);
    assert!(watch.add(Uri::parse(HELLO).unwrap()));
    TeamState {
        name,
        revision,
        watch,
        changed: false,
        cached: None,
    }
}

async fn perform(two: &TwoTeams, own: &mut TeamState, other: &TeamState, action: Action) {
    let exclusive = |team: &TeamState| format!("revision://only/{}", text(team.revision));
    match action {
        Action::Read => {
            assert_eq!(number(&two.text(own.name, NOW).await), own.revision);
            assert_eq!(
                number(&two.text(own.name, &exclusive(own)).await),
                own.revision
            );
        }
        Action::ReadOfOther => {
            let (foreign, missing) = (exclusive(other), "revision://only/nobody");
            let foreign_response = two.text(own.name, &foreign).await;
            let missing_response = two.text(own.name, missing).await;
            assert_eq!(
                foreign_response.replace(&foreign, missing),
                missing_response
            );
        }
        Action::ReadCached => {
            let response = two.text(own.name, CACHEABLE).await;
            assert_ne!(Some(&response), other.cached.as_ref());
            // An update may also invalidate the cached response of another URI, but only in its own team.
            if !own.changed {
                assert_eq!(
                    own.cached.as_ref().unwrap_or(&response),
                    &response,
                    "nothing invalidated it"
                );
            }
            own.cached = Some(response);
        }
        Action::List => {
            let uris = two.uris(own.name).await;
            assert!(
                uris.contains(&exclusive(own)) && !uris.contains(&exclusive(other)),
                "{uris:?}"
            );
        }
        Action::UseForeignCursor => {
            let page = two
                .gateway
                .list(&call_by(other.name), None, &Filter::default())
                .await
                .unwrap();
            let foreign = two
                .gateway
                .list(&call_by(own.name), page.next.as_deref(), &Filter::default())
                .await;
            assert_eq!(foreign.map(|_| ()), Err(Error::BadCursor));
        }
        Action::Swap => {
            own.revision += 2;
            let server = if own.name == "alpha" {
                &two.alpha
            } else {
                &two.beta
            };
            std::fs::write(server.plugins.join("r.wasm"), revision(own.revision)).unwrap();
            eventually_within(SLOW_WAIT, "the new revision serves", async || {
                two.text(own.name, NOW).await == text(own.revision)
            })
            .await;
            own.changed = true;
        }
        Action::Touch => {
            two.text(own.name, &format!("echo://touch/{HELLO}")).await;
            own.changed = true;
        }
    }
}

async fn run_actions(actions: Vec<(bool, Action)>) {
    let mut two = TwoTeams::start("echo fresh", 2, |team, builder| {
        builder.file("r.wasm", &revision(if team == "alpha" { 1 } else { 2 }))
    })
    .await;
    two.alpha.run_reconciler();
    two.beta.run_reconciler();
    let (mut alpha, mut beta) = (team_state(&two, "alpha", 1), team_state(&two, "beta", 2));
    for (in_alpha, action) in actions {
        let (own, other) = if in_alpha {
            (&mut alpha, &beta)
        } else {
            (&mut beta, &alpha)
        };
        perform(&two, own, other, action).await;
    }
    for team in [&alpha, &beta] {
        let changes = tokio::time::timeout(Duration::from_secs(60), team.watch.next());
        if team.changed {
            let changes = changes.await.expect("no change was reported");
            assert!(changes.iter().all(|change| match change {
                Change::List => true,
                Change::Tools | Change::Prompts => false,
                Change::Updated(uri) => uri.as_str() == HELLO,
            }));
        }
    }
    // The changes of each team have been reported by now. The other team must not get them.
    for team in [&alpha, &beta] {
        if !team.changed {
            let pending = futures_util::FutureExt::now_or_never(team.watch.next());
            assert!(
                pending.is_none(),
                "{} got changes of the other team: {pending:?}",
                team.name
            );
        }
    }
    for server in [two.alpha, two.beta] {
        server.drain.finish(Duration::from_secs(10)).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_one_team_is_visible_in_the_other(actions in actions()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(run_actions(actions));
    }
}
