//! Who owns a URI, what happens to two that want the same, and pages over many providers.

use larder_core::gateway::{Error, Filter};
use larder_model::resource::{Call, Caller, CompletionRequest};

use crate::house::{Plan, component, someone};

#[tokio::test]
async fn an_exact_uri_a_template_and_a_claim() {
    let house = Plan::of("echo").open().await;
    let caller = "caller: nobody of default with []";
    assert_eq!(house.text("echo://hello").await, format!("uri: echo://hello\n{caller}"));
    assert_eq!(
        house.text("echo://say/a%20b").await,
        format!("uri: echo://say/a%20b\ntemplate: echo://say/{{word}}\nvalue: word=a b\n{caller}")
    );
    assert_eq!(
        house.text("echo-claim:mine/x").await,
        format!("uri: echo-claim:mine/x\ntemplate: echo-claim:mine/{{+rest}}\nvalue: rest=x\n{caller}")
    );
    assert_eq!(house.text("echo-claim:other").await, "error: no resource at `echo-claim:other`");
    assert_eq!(house.text("nobody:x").await, "error: no resource at `nobody:x`");
}

#[tokio::test]
async fn contents_come_back_under_the_uri_that_was_asked() {
    let house = Plan::of("echo").open().await;
    let reading = house.read("echo://many").await.unwrap();
    let uris: Vec<_> = reading.contents.iter().map(|content| content.uri.as_str()).collect();
    assert_eq!(uris, ["echo://many/1", "echo://many/2", "echo://many"]);
}

#[tokio::test]
async fn values_are_decoded_once_and_screened() {
    let house = Plan::of("echo").open().await;
    assert!(house.text("echo://say/%252e%252e").await.contains("value: word=%2e%2e\n"));
    for uri in
        ["echo://say/..", "echo://say/%2e%2e", "echo://say/a%2Fb", "echo://say/a%00b", "echo://say/C%3A"]
    {
        assert!(matches!(house.read(uri).await, Err(Error::Refused { .. })), "{uri}");
    }
    let raw = Plan::of("echo").terms("echo", |grant, _| grant.raw_values = true).open().await;
    assert!(raw.text("echo://say/%2e%2e").await.contains("value: word=..\n"));
}

#[tokio::test]
async fn a_provider_with_a_thousand_mazes_hides_nobody_elses_templates() {
    let house = Plan::of("a@maze b@maze").setting("a", "ways", "1000").open().await;
    let uri = format!("maze://{}/end", "a".repeat(4_000));
    assert_eq!(house.text(&uri).await, "4004 bytes");
    // Nor its own, where the way through one is found.
    assert_eq!(house.text(&format!("maze://{}!0", "a".repeat(20))).await, "0 bytes");
}

#[tokio::test]
async fn the_providers_own_errors_keep_their_kind() {
    let house = Plan::of("echo").open().await;
    let kind = async |kind: &str| house.read(&format!("echo://error/{kind}")).await.unwrap_err();
    assert!(matches!(kind("not-found").await, Error::NotFound { .. }));
    assert!(matches!(kind("invalid").await, Error::Invalid { .. }));
    assert!(matches!(kind("denied").await, Error::Denied { .. }));
    assert!(matches!(kind("unavailable").await, Error::Unavailable { .. }));
    assert!(matches!(kind("failed").await, Error::Failed { .. }));
    // One that makes no sense where no version is held.
    assert!(matches!(kind("not-modified").await, Error::Failed { .. }));
}

#[tokio::test]
async fn of_two_with_the_same_the_name_decides_and_the_priority_before_it() {
    let house = Plan::of("b@echo a@echo").open().await;
    let collisions = house.reader.snapshot().collisions().to_vec();
    // Four entries and four templates.
    assert_eq!(collisions.len(), 8, "{collisions:?}");
    assert!(collisions.iter().all(|collision| collision.owner.as_str() == "a"));
    assert_eq!(house.uris().await.iter().filter(|uri| *uri == "echo://hello").count(), 1);

    let house = Plan::of("b@echo a@echo").terms("b", |_, priority| *priority = 1).open().await;
    assert!(house.reader.snapshot().collisions().iter().all(|collision| collision.owner.as_str() == "b"));
}

#[tokio::test]
async fn who_was_there_first_keeps_it() {
    let mut house = Plan::of("b@echo").open().await;
    std::fs::copy(crate::house::component("echo"), house.folder.path().join("a.wasm")).unwrap();
    house.reconcile().run_pass().await;
    let collisions = house.reader.snapshot().collisions().to_vec();
    assert!(!collisions.is_empty() && collisions.iter().all(|collision| collision.owner.as_str() == "b"));
}

#[tokio::test]
async fn pages_show_everything_once() {
    let mut all = None;
    for page_size in [1, 2, 3, 7, 1_000, 0] {
        let house = Plan::of("echo full trap_nth empty@nothing").page_size(page_size).open().await;
        let uris = house.uris().await;
        let mut sorted = uris.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), uris.len(), "{uris:?}");
        assert_eq!(*all.get_or_insert(uris.clone()), uris);
    }
    assert_eq!(all.unwrap().len(), 4 + 1 + 10);
}

#[tokio::test]
async fn a_hundred_thousand_entries_are_not_read_whole() {
    let house = Plan::of("echo many").page_size(1_000).open().await;
    let held = house.reader.snapshot().offers().iter().map(|offer| offer.entries.len()).max();
    assert_eq!(held, Some(1_000));
    let uris = house.uris().await;
    assert_eq!(uris.len(), 100_000 + 4);
    let mut numbers: Vec<u32> =
        uris.iter().filter_map(|uri| uri.strip_prefix("many://")?.parse().ok()).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..100_000));
    assert_eq!(house.text("many://99999").await, "number 99999");
    assert_eq!(house.text("many://100000").await, "error: no resource at `many://100000`");
}

#[tokio::test]
async fn a_cursor_outlives_the_provider_it_names() {
    let mut house = Plan::of("a@trap_nth b@echo").page_size(5).open().await;
    let page = house.gateway.list(&someone(), None, &Filter::default()).await.unwrap();
    let cursor = page.next.unwrap();
    std::fs::remove_file(house.folder.path().join("a.wasm")).unwrap();
    house.reconcile().run_pass().await;
    let page = house.gateway.list(&someone(), Some(&cursor), &Filter::default()).await.unwrap();
    assert_eq!(page.items.len(), 4);
    assert!(page.next.is_none());
}

#[tokio::test]
async fn a_bad_cursor_is_refused() {
    let house = Plan::of("echo many").page_size(1_000).open().await;
    let first = house.gateway.list(&someone(), None, &Filter::default()).await.unwrap().next.unwrap();
    let templates = house.gateway.templates(&someone(), Some(&first), &Filter::default()).await;
    assert!(matches!(templates, Err(Error::BadCursor)), "a cursor of another list");
    for cursor in ["", "1", "bm90IG91cnM", &first[1..]] {
        assert!(
            matches!(
                house.gateway.list(&someone(), Some(cursor), &Filter::default()).await,
                Err(Error::BadCursor)
            ),
            "{cursor}"
        );
    }
}

#[tokio::test]
async fn another_team_sees_nothing() {
    let house = Plan::of("echo many").open().await;
    let teams = larder_model::name::TeamName::parse("other").unwrap().into();
    let stranger =
        std::sync::Arc::new(Call::from_caller(Caller { subject: None, issuer: None, teams, scopes: vec![] }));
    assert!(house.gateway.list(&stranger, None, &Filter::default()).await.unwrap().items.is_empty());
    assert!(house.gateway.templates(&stranger, None, &Filter::default()).await.unwrap().items.is_empty());
    let read = house.gateway.read(&stranger, "echo://hello", None).await;
    assert!(matches!(read, Err(Error::NotFound { .. })));
    assert!(!house.gateway.is_readable(&stranger, "echo://hello").await);
}

#[tokio::test]
async fn completion_goes_to_the_keeper_of_the_template() {
    let house = Plan::of("echo").open().await;
    let ask = |template: &str, variable: &str| CompletionRequest {
        template: template.into(),
        variable: variable.into(),
        prefix: "he".into(),
        filled: vec![("owner".into(), "x".into())],
    };
    let answer = house.gateway.complete(&someone(), ask("echo://say/{word}", "word")).await.unwrap();
    assert_eq!(answer.values, ["hello", "help", "owner=x"]);
    let unknown = house.gateway.complete(&someone(), ask("echo://nothing/{x}", "x")).await;
    assert!(matches!(unknown, Err(Error::UnknownTemplate { .. })));
    let unknown = house.gateway.complete(&someone(), ask("echo://say/{word}", "x")).await;
    assert!(matches!(unknown, Err(Error::UnknownVariable { .. })));
}

#[tokio::test]
async fn what_a_provider_says_during_a_call_reaches_those_who_watch() {
    use larder_core::catalog::Change;
    let mut house = Plan::of("echo").open().await;
    let watch = house.gateway.watch(someone().caller.as_ref().unwrap());
    let uri = larder_model::uri::Uri::parse("echo://hello").unwrap();
    assert!(watch.add(uri.clone()));
    house.run();
    let touched = house.gateway.read(&someone(), "echo://touch/echo://hello", None).await;
    assert!(touched.is_ok(), "{touched:?}");
    let changes = tokio::time::timeout(std::time::Duration::from_secs(10), watch.next()).await;
    assert_eq!(changes.unwrap(), [Change::Updated(uri)]);
    house.drain.finish(std::time::Duration::from_secs(10)).await;
}

#[tokio::test]
async fn omissions_are_reported_when_they_change() {
    let mut house = Plan::of("liar").open().await;
    let said = ["omitted or changed in liar: the rest of a list whose cursor does not change"];
    assert_eq!(house.round.omitted, said);
    assert!(house.round.to_string().contains(said[0]), "{}", house.round);
    let mut bytes = std::fs::read(component("liar")).unwrap();
    // A custom section: another revision, which says the same.
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(house.plugins.join("new"), bytes).unwrap();
    std::fs::rename(house.plugins.join("new"), house.plugins.join("liar.wasm")).unwrap();
    let round = house.reconcile().run_pass().await;
    assert_eq!((round.replaced.len(), round.omitted.len()), (1, 0));
}
