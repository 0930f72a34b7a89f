//! Whatever two teams do, in whatever order: nothing of one ever shows to the other.

use std::time::Duration;

use larder_core::catalog::{Change, Watch};
use larder_core::gateway::{Error, Filter};
use larder_model::uri::Uri;
use proptest::prelude::*;

use super::{Two, by, caller};
use crate::revision::{NOW, number, revision, text, until};

#[derive(Debug, Clone, Copy)]
enum Act {
    Read,
    ReadOthers,
    ReadKept,
    List,
    StealCursor,
    Swap,
    Touch,
}

fn acts() -> impl Strategy<Value = Vec<(bool, Act)>> {
    let act = prop_oneof![
        Just(Act::Read),
        Just(Act::ReadOthers),
        Just(Act::ReadKept),
        Just(Act::List),
        Just(Act::StealCursor),
        Just(Act::Swap),
        Just(Act::Touch)
    ];
    prop::collection::vec((any::<bool>(), act), 1..14)
}

/// What a team has done and seen so far.
struct Side {
    name: &'static str,
    /// Its revisions have numbers of which no other team has one.
    revision: u32,
    watch: Watch,
    /// Whether anything happened in it that those who watch are told.
    acted: bool,
    kept: Option<String>,
}

const HELLO: &str = "echo://hello";
const KEPT: &str = "fresh://everyone/3600000/0/a";

fn side(two: &Two, name: &'static str, revision: u32) -> Side {
    let watch = two.gateway.watch(&caller(name));
    watch.watch_list(true);
    assert!(watch.add(Uri::parse(HELLO).unwrap()));
    Side { name, revision, watch, acted: false, kept: None }
}

async fn act(two: &Two, own: &mut Side, other: &Side, act: Act) {
    let exclusive = |side: &Side| format!("revision://only/{}", text(side.revision));
    match act {
        Act::Read => {
            assert_eq!(number(&two.text(own.name, NOW).await), own.revision);
            assert_eq!(number(&two.text(own.name, &exclusive(own)).await), own.revision);
        }
        Act::ReadOthers => {
            let (theirs, nobodys) = (exclusive(other), "revision://only/nobody");
            let [theirs_told, nobodys_told] =
                [two.text(own.name, &theirs).await, two.text(own.name, nobodys).await];
            assert_eq!(theirs_told.replace(&theirs, nobodys), nobodys_told);
        }
        Act::ReadKept => {
            let told = two.text(own.name, KEPT).await;
            assert_ne!(Some(&told), other.kept.as_ref());
            // What is updated may void another URI's answer by chance, but only in its own team.
            if !own.acted {
                assert_eq!(own.kept.as_ref().unwrap_or(&told), &told, "nothing voided it");
            }
            own.kept = Some(told);
        }
        Act::List => {
            let uris = two.uris(own.name).await;
            assert!(uris.contains(&exclusive(own)) && !uris.contains(&exclusive(other)), "{uris:?}");
        }
        Act::StealCursor => {
            let page = two.gateway.list(&by(other.name), None, &Filter::default()).await.unwrap();
            let stolen = two.gateway.list(&by(own.name), page.next.as_deref(), &Filter::default()).await;
            assert_eq!(stolen.map(|_| ()), Err(Error::BadCursor));
        }
        Act::Swap => {
            own.revision += 2;
            let house = if own.name == "alpha" { &two.alpha } else { &two.beta };
            std::fs::write(house.plugins.join("r.wasm"), revision(own.revision)).unwrap();
            until("it serves", async || two.text(own.name, NOW).await == text(own.revision)).await;
            own.acted = true;
        }
        Act::Touch => {
            two.text(own.name, &format!("echo://touch/{HELLO}")).await;
            own.acted = true;
        }
    }
}

async fn play(acts: Vec<(bool, Act)>) {
    let mut two = Two::of("echo fresh", 2, |team, plan| {
        plan.file("r.wasm", &revision(if team == "alpha" { 1 } else { 2 }))
    })
    .await;
    two.alpha.run();
    two.beta.run();
    let (mut alpha, mut beta) = (side(&two, "alpha", 1), side(&two, "beta", 2));
    for (first, one) in acts {
        let (own, other) = if first { (&mut alpha, &beta) } else { (&mut beta, &alpha) };
        act(&two, own, other, one).await;
    }
    for side in [&alpha, &beta] {
        let told = tokio::time::timeout(Duration::from_secs(60), side.watch.next());
        if side.acted {
            let told = told.await.expect("what it did was not told");
            assert!(told.iter().all(|change| match change {
                Change::List => true,
                Change::Updated(uri) => uri.as_str() == HELLO,
            }));
        }
    }
    // What one of them did has been told by now, and nothing of it to the other.
    for side in [&alpha, &beta] {
        if !side.acted {
            let quiet = futures_util::FutureExt::now_or_never(side.watch.next());
            assert!(quiet.is_none(), "{} hears of what it did not do: {quiet:?}", side.name);
        }
    }
    for house in [two.alpha, two.beta] {
        house.drain.finish(Duration::from_secs(10)).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_one_team_shows_to_the_other(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(play(acts));
    }
}
