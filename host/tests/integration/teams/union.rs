//! Who belongs to several teams sees what all of them have: in order, each URI once, and what is shown is read.

use larder_core::catalog::Change;
use larder_core::gateway::Filter;
use larder_model::uri::Uri;

use super::{Two, by, caller};
use crate::revision::{NOW, revision, text};

/// Another revision in each team.
async fn revisions(page_size: u32) -> Two {
    Two::of("", page_size, |team, plan| {
        let number = if team == "alpha" { 1 } else { 2 };
        plan.file("r.wasm", &revision(number))
            .file("z.wasm", &std::fs::read(crate::house::component("full")).unwrap())
    })
    .await
}

#[tokio::test]
async fn lists_are_in_order_and_each_uri_is_shown_once() {
    let own = |number: u32| format!("revision://only/{}", text(number));
    for page_size in [1, 2, 100] {
        let two = revisions(page_size).await;
        let (alphas, betas) = (two.uris("alpha").await, two.uris("beta").await);
        assert!(alphas.contains(&own(1)) && !alphas.contains(&own(2)), "{alphas:?}");
        // All of alpha's as alpha shows it, then what beta has beyond that.
        let beyond = betas.iter().filter(|uri| !alphas.contains(uri)).cloned();
        let expected: Vec<_> = alphas.iter().cloned().chain(beyond).collect();
        assert_eq!(two.uris("alpha beta").await, expected);
        assert_eq!(expected.last(), Some(&own(2)));
    }
}

#[tokio::test]
async fn the_one_that_is_shown_is_the_one_that_is_read() {
    let two = revisions(100).await;
    let page = two.gateway.list(&by("alpha beta"), None, &Filter::default()).await.unwrap();
    let shown = page.items.iter().find(|entry| entry.uri.as_str() == NOW).unwrap();
    assert_eq!(shown.name, text(1));
    assert_eq!(two.text("alpha beta", NOW).await, text(1));
    assert_eq!(two.text("beta", NOW).await, text(2));
    let own = |number: u32| format!("revision://only/{}", text(number));
    assert_eq!(two.text("alpha beta", &own(2)).await, text(2));
    let templates = two.gateway.templates(&by("alpha beta"), None, &Filter::default()).await.unwrap();
    let mut names: Vec<_> = templates.items.iter().map(|t| t.uri_template.as_str().to_owned()).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "each template once");
    assert_eq!(two.text("alpha beta", "revision://template/x").await, text(1));
}

#[tokio::test]
async fn what_is_listed_goes_before_what_is_matched_in_whichever_team() {
    // `echo` has a template for it, and comes first by its team; `fresh` lists it.
    let two = Two::of("", 100, |team, plan| {
        let guest = if team == "alpha" { "dirs" } else { "ledger" };
        plan.file("p.wasm", &std::fs::read(crate::house::component(guest)).unwrap())
    })
    .await;
    assert_eq!(two.text("alpha beta", "ledger:edition").await, "edition one");
    let two = Two::of("fresh", 100, |_, plan| plan).await;
    let listed = "fresh://everyone/0/0/listed";
    let names = async |teams: &str| {
        let page = two.gateway.list(&by(teams), None, &Filter::default()).await.unwrap();
        page.items.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("alpha beta").await, names("alpha").await, "{listed} is alpha's");
}

#[tokio::test]
async fn a_watch_is_over_all_teams() {
    let mut two = revisions(100).await;
    let watch = two.gateway.watch(&caller("alpha beta"));
    watch.watch_list(true);
    assert!(watch.add(Uri::parse(NOW).unwrap()));
    two.alpha.run();
    two.beta.run();
    for house in [&two.alpha, &two.beta] {
        std::fs::write(house.plugins.join("r.wasm"), revision(9)).unwrap();
        let told = tokio::time::timeout(std::time::Duration::from_secs(60), watch.next()).await.unwrap();
        assert_eq!(told, [Change::List]);
    }
}
