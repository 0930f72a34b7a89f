//! A caller of several teams sees the resources of all of them: in order, each URI once, and reads return
//! what was listed.

use larder_core::catalog::{Change, Lists};
use larder_core::gateway::Filter;
use larder_model::policy::ToolGrant;
use larder_model::uri::Uri;

use super::{TwoTeams, call_by, caller};
use crate::revision::{NOW, revision, text};

/// Starts two teams with different revisions of the same component.
async fn different_revisions(page_size: u32) -> TwoTeams {
    TwoTeams::start("", page_size, |team, builder| {
        let number = if team == "alpha" { 1 } else { 2 };
        builder
            .file("r.wasm", &revision(number))
            .file("z.wasm", &std::fs::read(crate::harness::component_path("full")).unwrap())
    })
    .await
}

#[tokio::test]
async fn lists_are_ordered_and_contain_each_uri_once() {
    let own = |number: u32| format!("revision://only/{}", text(number));
    for page_size in [1, 2, 100] {
        let two = different_revisions(page_size).await;
        let (alpha_uris, beta_uris) = (two.uris("alpha").await, two.uris("beta").await);
        assert!(alpha_uris.contains(&own(1)) && !alpha_uris.contains(&own(2)), "{alpha_uris:?}");
        // All URIs of alpha in the order of alpha, then the URIs that only beta has.
        let only_beta = beta_uris.iter().filter(|uri| !alpha_uris.contains(uri)).cloned();
        let expected: Vec<_> = alpha_uris.iter().cloned().chain(only_beta).collect();
        assert_eq!(two.uris("alpha beta").await, expected);
        assert_eq!(expected.last(), Some(&own(2)));
    }
}

#[tokio::test]
async fn reads_come_from_the_team_whose_entry_is_listed() {
    let two = different_revisions(100).await;
    let page = two.gateway.list(&call_by("alpha beta"), None, &Filter::default()).await.unwrap();
    let listed = page.items.iter().find(|entry| entry.uri.as_str() == NOW).unwrap();
    assert_eq!(listed.name, text(1));
    assert_eq!(two.text("alpha beta", NOW).await, text(1));
    assert_eq!(two.text("beta", NOW).await, text(2));
    let own = |number: u32| format!("revision://only/{}", text(number));
    assert_eq!(two.text("alpha beta", &own(2)).await, text(2));
    let templates = two.gateway.templates(&call_by("alpha beta"), None, &Filter::default()).await.unwrap();
    let mut names: Vec<_> = templates.items.iter().map(|t| t.uri_template.as_str().to_owned()).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "each template once");
    assert_eq!(two.text("alpha beta", "revision://template/x").await, text(1));
}

#[tokio::test]
async fn reads_come_from_the_team_that_lists_the_uri() {
    // Alpha comes first, but only `ledger` in beta lists the URI.
    let two = TwoTeams::start("", 100, |team, builder| {
        let guest = if team == "alpha" { "dirs" } else { "ledger" };
        builder.file("p.wasm", &std::fs::read(crate::harness::component_path(guest)).unwrap())
    })
    .await;
    assert_eq!(two.text("alpha beta", "ledger:edition").await, "edition one");
    let two = TwoTeams::start("fresh", 100, |_, builder| builder).await;
    let listed = "fresh://everyone/0/0/listed";
    let names = async |teams: &str| {
        let page = two.gateway.list(&call_by(teams), None, &Filter::default()).await.unwrap();
        page.items.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("alpha beta").await, names("alpha").await, "{listed} is alpha's");
}

#[tokio::test]
async fn a_listed_uri_wins_over_the_template_of_an_earlier_team() {
    // Only beta lists the URI. The template of alpha matches it and every other one, so only alpha gets its path.
    let two = TwoTeams::start("maze", 100, |team, builder| match team {
        "alpha" => builder,
        _ => builder.setting("maze", "ways", "1").setting("maze", "long", "1"),
    })
    .await;
    for (teams, expected) in [("alpha", "6 bytes"), ("beta", "0 bytes"), ("alpha beta", "0 bytes")] {
        assert_eq!(two.text(teams, "maze://long/0").await, expected, "{teams}");
    }
    assert_eq!(two.text("alpha beta", "maze://long/1").await, "6 bytes", "nobody lists it");
}

#[tokio::test]
async fn a_watch_covers_all_teams() {
    let mut two = different_revisions(100).await;
    let watch = two.gateway.watch(&caller("alpha beta"));
    watch.watch_list(true);
    assert!(watch.add(Uri::parse(NOW).unwrap()));
    two.alpha.run_reconciler();
    two.beta.run_reconciler();
    for server in [&two.alpha, &two.beta] {
        std::fs::write(server.plugins.join("r.wasm"), revision(9)).unwrap();
        let changes = tokio::time::timeout(std::time::Duration::from_secs(60), watch.next()).await.unwrap();
        assert_eq!(changes, [Change::List]);
    }
}

#[tokio::test]
async fn a_tool_that_another_team_has_too_is_no_change() {
    let mut two = TwoTeams::start("defined", 100, |team, builder| {
        let more = if team == "beta" { "own" } else { "" };
        builder
            .setting("defined", "more", more)
            .provider("defined", |grant, _| (grant.tools, grant.prompts) = (ToolGrant::All, true))
            .file("later.wasm", &std::fs::read(crate::harness::component_path("defined")).unwrap())
            .provider("later", |grant, _| grant.tools = ToolGrant::All)
    })
    .await;
    let watches = ["alpha beta", "beta"].map(|teams| two.gateway.watch(&caller(teams)));
    watches
        .iter()
        .for_each(|watch| watch.watch_lists(Lists { tools: true, prompts: true, resources: false }));
    // Beta loses the tool `double` and the prompt `double`, which alpha has as well, and its tool `own`.
    let expected = [vec![Change::Tools], vec![Change::Tools, Change::Prompts]];
    std::fs::remove_file(two.beta.plugins.join("later.wasm")).unwrap();
    std::fs::remove_file(two.beta.plugins.join("defined.wasm")).unwrap();
    two.beta.reconciler().run_pass().await;
    assert_eq!(watches.each_ref().map(|watch| watch.take()), expected);
    // It gets `double` back, but not `own`.
    let component = std::fs::read(crate::harness::component_path("defined")).unwrap();
    std::fs::write(two.beta.plugins.join("later.wasm"), component).unwrap();
    two.beta.reconciler().run_pass().await;
    assert_eq!(watches.each_ref().map(|watch| watch.take()), [vec![], vec![Change::Tools]]);
    // A client that may have missed something is told about everything.
    watches[0].mark_all_changed();
    assert_eq!(watches[0].take(), [Change::Tools, Change::Prompts]);
}
