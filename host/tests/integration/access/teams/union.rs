//! A caller of several teams sees the resources of all these teams: in order, and each URI once. Reads return the
//! listed resources.

use larder_core::catalog::{Change, Lists};
use larder_core::gateway::Filter;
use larder_model::policy::ToolGrant;
use larder_model::search::SearchQuery;
use larder_model::uri::Uri;

use super::{TwoTeams, call_by, caller};
use crate::support::harness::{component_path, parse_uri};
use crate::support::revision::{NOW, revision, text};

fn component(guest: &str) -> Vec<u8> {
    std::fs::read(component_path(guest)).unwrap()
}

/// Starts two teams with different revisions of the same component.
async fn different_revisions(page_size: u32) -> TwoTeams {
    TwoTeams::start("", page_size, |team, builder| {
        let number = if team == "alpha" { 1 } else { 2 };
        builder.file("r.wasm", &revision(number)).file(
            "z.wasm",
            &std::fs::read(crate::support::harness::component_path("full")).unwrap(),
        )
    })
    .await
}

#[tokio::test]
async fn lists_are_ordered_and_contain_each_uri_once() {
    let own = |number: u32| format!("revision://only/{}", text(number));
    for page_size in [1, 2, 100] {
        let two = different_revisions(page_size).await;
        let (alpha_uris, beta_uris) = (two.uris("alpha").await, two.uris("beta").await);
        assert!(
            alpha_uris.contains(&own(1)) && !alpha_uris.contains(&own(2)),
            "{alpha_uris:?}"
        );
        // All URIs of alpha in the order of alpha, then the URIs that only beta has.
        let only_beta = beta_uris
            .iter()
            .filter(|uri| !alpha_uris.contains(uri))
            .cloned();
        let expected: Vec<_> = alpha_uris.iter().cloned().chain(only_beta).collect();
        assert_eq!(two.uris("alpha beta").await, expected);
        assert_eq!(expected.last(), Some(&own(2)));
    }
}

#[tokio::test]
async fn reads_come_from_the_team_whose_entry_is_listed() {
    let two = different_revisions(100).await;
    let page = two
        .gateway
        .list(&call_by("alpha beta"), None, &Filter::default())
        .await
        .unwrap();
    let listed = page
        .items
        .iter()
        .find(|entry| entry.uri.as_str() == NOW)
        .unwrap();
    assert_eq!(listed.name, text(1));
    assert_eq!(two.text("alpha beta", NOW).await, text(1));
    assert_eq!(two.text("beta", NOW).await, text(2));
    let own = |number: u32| format!("revision://only/{}", text(number));
    assert_eq!(two.text("alpha beta", &own(2)).await, text(2));
    let templates = two
        .gateway
        .templates(&call_by("alpha beta"), None, &Filter::default())
        .await
        .unwrap();
    let mut names: Vec<_> = templates
        .items
        .iter()
        .map(|t| t.uri_template.as_str().to_owned())
        .collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "each template once");
    assert_eq!(
        two.text("alpha beta", "revision://template/x").await,
        text(1)
    );
}

#[tokio::test]
async fn reads_come_from_the_team_that_lists_the_uri() {
    // Alpha comes first, but only `versioned_files` in beta lists the URI.
    let two = TwoTeams::start("", 100, |team, builder| {
        let guest = if team == "alpha" {
            "dirs"
        } else {
            "versioned_files"
        };
        builder.file(
            "p.wasm",
            &std::fs::read(crate::support::harness::component_path(guest)).unwrap(),
        )
    })
    .await;
    assert_eq!(
        two.text("alpha beta", "versioned-files:edition").await,
        "edition one"
    );
    let two = TwoTeams::start("fresh", 100, |_, builder| builder).await;
    let listed = "fresh://everyone/0/0/listed";
    let names = async |teams: &str| {
        let page = two
            .gateway
            .list(&call_by(teams), None, &Filter::default())
            .await
            .unwrap();
        page.items
            .iter()
            .map(|entry| entry.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names("alpha beta").await,
        names("alpha").await,
        "{listed} is alpha's"
    );
}

#[tokio::test]
async fn the_order_of_the_teams_decides_and_not_their_names() {
    let two = different_revisions(2).await;
    assert_eq!(two.text("alpha beta", NOW).await, text(1));
    assert_eq!(two.text("beta alpha", NOW).await, text(2));
    let (of_beta, of_both) = (two.uris("beta").await, two.uris("beta alpha").await);
    assert_eq!(of_both[..of_beta.len()], of_beta);
    assert_eq!(
        of_both.last().unwrap(),
        &format!("revision://only/{}", text(1))
    );
}

#[tokio::test]
async fn a_template_of_an_earlier_team_comes_before_an_entry_of_a_later_one() {
    // Only beta lists the URI. The template of alpha matches every URI, so only alpha gets the path.
    let two = TwoTeams::start("costly_templates", 100, |team, builder| match team {
        "alpha" => builder,
        _ => builder.setting("costly_templates", "ways", "1").setting(
            "costly_templates",
            "long",
            "1",
        ),
    })
    .await;
    let (listed, everything) = ("costly-templates://long/0", Filter::default());
    for (teams, expected, lists) in [
        ("alpha", "6 bytes", false),
        ("beta", "0 bytes", true),
        ("alpha beta", "6 bytes", false),
        ("beta alpha", "0 bytes", true),
    ] {
        assert_eq!(two.text(teams, listed).await, expected, "{teams}");
        assert_eq!(
            two.uris(teams).await.contains(&listed.to_owned()),
            lists,
            "{teams}"
        );
        let entry = two
            .gateway
            .listed_entry(&call_by(teams), &parse_uri(listed));
        assert_eq!(entry.is_some(), lists, "{teams}");
        let query = SearchQuery {
            text: "long".into(),
            limit: 100,
            ..SearchQuery::default()
        };
        let found = two
            .gateway
            .search(&call_by(teams), &query, None)
            .await
            .unwrap()
            .results;
        assert_eq!(found.len(), usize::from(lists), "{teams}");
        let readable = two
            .gateway
            .templates(&call_by(teams), None, &everything)
            .await
            .unwrap()
            .items;
        let is_first = |team: &str| teams.starts_with(team);
        assert_eq!(
            readable[0].uri_template.as_str() == "costly-templates://{+path}",
            is_first("alpha"),
            "{teams}"
        );
    }
    assert_eq!(
        two.text("alpha beta", "costly-templates://long/1").await,
        "6 bytes",
        "nobody lists it"
    );
}

#[tokio::test]
async fn a_prefix_of_an_earlier_team_comes_before_an_entry_of_a_later_one() {
    // `keys` claims this scheme and decides that it does not have the URI, which is then read from beta.
    let two = TwoTeams::start("", 100, |team, builder| match team {
        "alpha" => builder.file("p.wasm", &component("keys")),
        _ => builder
            .file("p.wasm", &component("searchable"))
            .setting("p", "scheme", "keys"),
    })
    .await;
    assert_eq!(two.uris("beta alpha").await, ["keys:one", "keys:two"]);
    assert!(two.uris("alpha beta").await.is_empty());
    for teams in ["beta", "beta alpha", "alpha beta"] {
        assert_eq!(
            two.text(teams, "keys:one").await,
            "the text of keys:one",
            "{teams}"
        );
    }
}

#[tokio::test]
async fn a_list_that_depends_on_the_caller_comes_before_a_later_team() {
    // `personal` has no templates and no claims, and its list for the server is empty, so it may have any URI.
    let two = TwoTeams::start("", 100, |team, builder| match team {
        "alpha" => builder.file("p.wasm", &component("personal")),
        _ => builder
            .file("p.wasm", &component("searchable"))
            .setting("p", "scheme", "other"),
    })
    .await;
    let own = ["personal://ann/b", "personal://ann/a"];
    assert_eq!(two.uris("alpha beta").await, own);
    assert_eq!(
        two.uris("beta alpha").await,
        [["other:one", "other:two"], own].concat()
    );
    assert_eq!(
        two.text("alpha beta", "other:one").await,
        "the text of other:one",
        "personal does not have it"
    );
}

#[tokio::test]
async fn a_provider_that_declares_its_uris_does_not_hide_others_of_its_scheme() {
    // `filter_hints` has templates, and more entries than the catalog holds.
    let two = TwoTeams::start("", 100, |team, builder| match team {
        "alpha" => builder.file("p.wasm", &component("filter_hints")),
        _ => {
            builder
                .file("p.wasm", &component("searchable"))
                .setting("p", "scheme", "filter-hints")
        }
    })
    .await;
    let uris = two.uris("alpha beta").await;
    assert_eq!(
        uris[uris.len() - 2..],
        ["filter-hints:one", "filter-hints:two"]
    );
    assert_eq!(
        two.text("alpha beta", "filter-hints:one").await,
        "the text of filter-hints:one"
    );
}

#[tokio::test]
async fn tools_and_prompts_come_from_the_first_team() {
    let two = TwoTeams::start("defined", 100, |team, builder| {
        builder
            .setting("defined", "description", team)
            .provider("defined", |grant, _| {
                (grant.tools, grant.prompts) = (ToolGrant::All, true)
            })
    })
    .await;
    for (teams, first) in [("alpha beta", "alpha"), ("beta alpha", "beta")] {
        let tools = two
            .gateway
            .tools(&call_by(teams), None)
            .await
            .unwrap()
            .items;
        assert_eq!(tools.len(), 1, "{teams}");
        assert_eq!(tools[0].tool.description.as_deref(), Some(first));
    }
}

#[tokio::test]
async fn a_new_claim_of_an_earlier_team_is_a_change_of_the_list() {
    let mut two = TwoTeams::start("", 100, |team, builder| match team {
        "alpha" => builder,
        _ => builder
            .file("p.wasm", &component("searchable"))
            .setting("p", "scheme", "keys"),
    })
    .await;
    let watch = two.gateway.watch(&caller("alpha beta"));
    watch.watch_list(true);
    assert_eq!(two.uris("alpha beta").await, ["keys:one", "keys:two"]);
    std::fs::write(two.alpha.plugins.join("keys.wasm"), component("keys")).unwrap();
    two.alpha.reconciler().run_pass().await;
    assert_eq!(two.uris("alpha beta").await, two.uris("alpha").await);
    assert_eq!(watch.take(), [Change::List]);
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
        let changes = tokio::time::timeout(std::time::Duration::from_secs(60), watch.next())
            .await
            .unwrap();
        assert_eq!(changes, [Change::List]);
    }
}

#[tokio::test]
async fn a_tool_that_another_team_has_too_is_no_change() {
    let mut two = TwoTeams::start("defined", 100, |team, builder| {
        let more = if team == "beta" { "own" } else { "" };
        builder
            .setting("defined", "more", more)
            .provider("defined", |grant, _| {
                (grant.tools, grant.prompts) = (ToolGrant::All, true)
            })
            .file(
                "later.wasm",
                &std::fs::read(crate::support::harness::component_path("defined")).unwrap(),
            )
            .provider("later", |grant, _| grant.tools = ToolGrant::All)
    })
    .await;
    let watches = ["alpha beta", "beta"].map(|teams| two.gateway.watch(&caller(teams)));
    watches.iter().for_each(|watch| {
        watch.watch_lists(Lists {
            tools: true,
            prompts: true,
            resources: false,
        })
    });
    // Beta loses the tool `double` and the prompt `double`, which alpha has as well, and its tool `own`.
    let expected = [vec![Change::Tools], vec![Change::Tools, Change::Prompts]];
    std::fs::remove_file(two.beta.plugins.join("later.wasm")).unwrap();
    std::fs::remove_file(two.beta.plugins.join("defined.wasm")).unwrap();
    two.beta.reconciler().run_pass().await;
    assert_eq!(watches.each_ref().map(|watch| watch.take()), expected);
    // The client gets `double` back, but not `own`.
    let component = std::fs::read(crate::support::harness::component_path("defined")).unwrap();
    std::fs::write(two.beta.plugins.join("later.wasm"), component).unwrap();
    two.beta.reconciler().run_pass().await;
    assert_eq!(
        watches.each_ref().map(|watch| watch.take()),
        [vec![], vec![Change::Tools]]
    );
    // A client that may have missed changes is told that everything changed.
    watches[0].mark_all_changed();
    assert_eq!(watches[0].take(), [Change::Tools, Change::Prompts]);
}
