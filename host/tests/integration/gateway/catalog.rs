//! Routing of URIs to providers, and pages over many providers.

use larder_core::gateway::Error;
use larder_model::resource::CompletionRequest;

use crate::support::harness::{TestServer, anonymous_call, component_path};

#[tokio::test]
async fn reads_by_entry_template_and_claim() {
    let server = TestServer::builder("echo").start().await;
    let caller = "caller: nobody of default with []";
    assert_eq!(
        server.text("echo://hello").await,
        format!("uri: echo://hello\n{caller}")
    );
    assert_eq!(
        server.text("echo://say/a%20b").await,
        format!("uri: echo://say/a%20b\ntemplate: echo://say/{{word}}\nvalue: word=a b\n{caller}")
    );
    assert_eq!(
        server.text("echo-claim:mine/x").await,
        format!(
            "uri: echo-claim:mine/x\ntemplate: echo-claim:mine/{{+rest}}\nvalue: rest=x\n{caller}"
        )
    );
    assert_eq!(
        server.text("echo-claim:other").await,
        "error: no resource at `echo-claim:other`"
    );
    assert_eq!(
        server.text("nobody:x").await,
        "error: no resource at `nobody:x`"
    );
}

#[tokio::test]
async fn keys_of_variables_are_passed_back_unchanged() {
    let server = TestServer::builder("keys").start().await;
    assert_eq!(
        server.text("keys:map?a=1&b=&a=2").await,
        "keys:map{?pairs*} pairs[a]=1 pairs[b]= pairs[a]=2 single[none]=one"
    );
    // The host itself extracts the values of a listed template, and the provider may add keys.
    assert_eq!(
        server.text("keys:listed/a/b").await,
        "keys:listed/{path} path[key]=a/b"
    );
    assert_eq!(
        server.text("keys:other/a/b").await,
        "keys:other/{path} path[none]=a/b"
    );
}

#[tokio::test]
async fn lists_and_maps_in_a_uri_are_passed_on() {
    let server = TestServer::builder("keys").start().await;
    assert_eq!(
        server.text("keys:found/red,blue%2C?a=1&page=3&b=%26").await,
        "keys:found{/tags}{?page,filter*} tags[none]=red tags[none]=blue, page[none]=3 filter[a]=1 filter[b]=&"
    );
    assert_eq!(
        server.text("keys:found?b=2").await,
        "keys:found{/tags}{?page,filter*} filter[b]=2"
    );
    for uri in [
        "keys:found/red,..",
        "keys:found/red,%2Fetc",
        "keys:found?a%00=1",
    ] {
        assert!(
            matches!(server.read(uri).await, Err(Error::Refused { .. })),
            "{uri}"
        );
    }
}

#[tokio::test]
async fn the_sdk_returns_the_items_of_lists_and_the_pairs_of_maps() {
    let server = TestServer::builder("across_slashes").start().await;
    assert_eq!(
        server
            .text("across-slashes:search/red,blue?a=1&page=3&b=2")
            .await,
        r#"["red", "blue"] [("a", "1"), ("b", "2")] Ok("3")"#
    );
    assert_eq!(
        server.text("across-slashes:search/red").await,
        r#"["red"] [] Err(Invalid("the URI has no value for `page`"))"#
    );
}

#[tokio::test]
async fn contents_without_a_uri_get_the_requested_one() {
    let server = TestServer::builder("echo").start().await;
    let reading = server.read("echo://many").await.unwrap();
    let uris: Vec<_> = reading
        .contents
        .iter()
        .map(|content| content.uri.as_str())
        .collect();
    assert_eq!(uris, ["echo://many/1", "echo://many/2", "echo://many"]);
}

#[tokio::test]
async fn template_values_are_decoded_once_and_checked() {
    let server = TestServer::builder("echo").start().await;
    assert!(
        server
            .text("echo://say/%252e%252e")
            .await
            .contains("value: word=%2e%2e\n")
    );
    for uri in [
        "echo://say/..",
        "echo://say/%2e%2e",
        "echo://say/a%2Fb",
        "echo://say/a%00b",
        "echo://say/C%3A",
    ] {
        assert!(
            matches!(server.read(uri).await, Err(Error::Refused { .. })),
            "{uri}"
        );
    }
    let raw = TestServer::builder("echo")
        .provider("echo", |grant, _| grant.raw_values = true)
        .start()
        .await;
    assert!(
        raw.text("echo://say/%2e%2e")
            .await
            .contains("value: word=..\n")
    );
}

#[tokio::test]
async fn expensive_templates_do_not_hide_those_of_other_providers() {
    let server = TestServer::builder("a@costly_templates b@costly_templates")
        .setting("a", "ways", "1000")
        .start()
        .await;
    let uri = format!("costly-templates://{}/end", "a".repeat(4_000));
    assert_eq!(server.text(&uri).await, "4004 bytes");
    // The provider's own templates match too, if a match is found within the budget.
    assert_eq!(
        server
            .text(&format!("costly-templates://{}!0", "a".repeat(20)))
            .await,
        "0 bytes"
    );
}

#[tokio::test]
async fn provider_errors_keep_their_kind() {
    let server = TestServer::builder("echo").start().await;
    let kind = async |kind: &str| {
        server
            .read(&format!("echo://error/{kind}"))
            .await
            .unwrap_err()
    };
    assert!(matches!(kind("not-found").await, Error::NotFound { .. }));
    assert!(matches!(kind("invalid").await, Error::Invalid { .. }));
    assert!(matches!(kind("denied").await, Error::Denied { .. }));
    assert!(matches!(
        kind("unavailable").await,
        Error::Unavailable { .. }
    ));
    assert!(matches!(kind("failed").await, Error::Failed { .. }));
    // `not-modified` is invalid if the client did not send a version.
    assert!(matches!(kind("not-modified").await, Error::Failed { .. }));
}

#[tokio::test]
async fn only_the_first_page_of_a_long_list_is_stored() {
    let server = TestServer::builder("echo many")
        .page_size(1_000)
        .start()
        .await;
    let stored = server
        .reader
        .snapshot()
        .offers()
        .iter()
        .map(|offer| offer.entries.len())
        .max();
    assert_eq!(stored, Some(1_000));
    let uris = server.uris().await;
    assert_eq!(uris.len(), 100_000 + 4);
    let mut numbers: Vec<u32> = uris
        .iter()
        .filter_map(|uri| uri.strip_prefix("many://")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..100_000));
    assert_eq!(server.text("many://99999").await, "number 99999");
    assert_eq!(
        server.text("many://100000").await,
        "error: no resource at `many://100000`"
    );
}

#[tokio::test]
async fn completion_is_routed_by_the_template() {
    let server = TestServer::builder("echo").start().await;
    let request = |template: &str, variable: &str| CompletionRequest {
        template: template.into(),
        variable: variable.into(),
        prefix: "he".into(),
        filled: vec![("owner".into(), "x".into())],
    };
    let answer = server
        .gateway
        .complete(&anonymous_call(), request("echo://say/{word}", "word"))
        .await
        .unwrap();
    assert_eq!(answer.values, ["hello", "help", "owner=x"]);
    let unknown = server
        .gateway
        .complete(&anonymous_call(), request("echo://nothing/{x}", "x"))
        .await;
    assert!(matches!(unknown, Err(Error::UnknownTemplate { .. })));
    let unknown = server
        .gateway
        .complete(&anonymous_call(), request("echo://say/{word}", "x"))
        .await;
    assert!(matches!(unknown, Err(Error::UnknownVariable { .. })));
}

#[tokio::test]
async fn update_signals_of_a_provider_reach_its_watchers() {
    use larder_core::catalog::Change;
    let mut server = TestServer::builder("echo").start().await;
    let watch = server
        .gateway
        .watch(anonymous_call().caller.as_ref().unwrap());
    let uri = larder_model::uri::Uri::parse("echo://hello").unwrap();
    assert!(watch.add(uri.clone()));
    server.run_reconciler();
    let touched = server.read("echo://touch/echo://hello").await;
    assert!(touched.is_ok(), "{touched:?}");
    let changes = tokio::time::timeout(std::time::Duration::from_secs(60), watch.next()).await;
    assert_eq!(changes.unwrap(), [Change::Updated(uri)]);
    server
        .drain
        .finish(std::time::Duration::from_secs(10))
        .await;
}

#[tokio::test]
async fn omissions_are_reported_when_they_change() {
    let mut server = TestServer::builder("endless_list").start().await;
    let expected =
        ["omitted or changed in endless_list: the rest of a list whose cursor does not change"];
    assert_eq!(server.first_pass.omitted, expected);
    assert!(
        server.first_pass.to_string().contains(expected[0]),
        "{}",
        server.first_pass
    );
    let mut bytes = std::fs::read(component_path("endless_list")).unwrap();
    // A custom section makes this another revision with the same omissions.
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(server.plugins.join("new"), bytes).unwrap();
    std::fs::rename(
        server.plugins.join("new"),
        server.plugins.join("endless_list.wasm"),
    )
    .unwrap();
    let pass = server.reconciler().run_pass().await;
    assert_eq!((pass.replaced.len(), pass.omitted.len()), (1, 0));
}
