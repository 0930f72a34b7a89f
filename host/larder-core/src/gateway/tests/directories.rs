use std::time::{Duration, Instant};

use super::uri;
use crate::gateway::Error;
use crate::test_team::{TestTeam, template};
use larder_model::policy::Grant;
use larder_provider::fake::FakeContent;

fn content(uris: &[&str]) -> FakeContent {
    uris.iter().fold(FakeContent::default(), |content, uri| {
        content.with_text(uri, "")
    })
}

/// Returns the children on all pages, and the number of pages.
async fn listed(team: &TestTeam, of: &str) -> Result<(String, usize), Error> {
    let call = TestTeam::call();
    let mut children = Vec::new();
    let mut cursor = None;
    let mut pages = 0;
    loop {
        let page = team
            .gateway
            .directory(&call, &uri(of), cursor.as_deref())
            .await?;
        pages += 1;
        for entry in page.items {
            let is_folder = entry.mime_type.as_deref() == Some("inode/directory");
            children.push(format!("{}{}", entry.uri, if is_folder { "/" } else { "" }));
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok((children.join(" "), pages));
        }
    }
}

#[tokio::test]
async fn folders_of_several_providers_are_merged_in_pages() {
    let one = content(&["x://a/b/1", "x://a/d", "x://a/f/1", "x://z"]);
    let two = content(&["x://a/b/2", "x://a/c", "x://a/e"]);
    let providers = [
        one.provider("one", Grant::default()),
        two.provider("two", Grant::default()),
    ];
    let team = TestTeam::new(providers, 2).await;
    let (children, pages) = listed(&team, "x://a").await.unwrap();
    assert_eq!(children, "x://a/b/ x://a/c x://a/d x://a/e x://a/f/");
    assert_eq!(pages, 3);
    assert_eq!(
        listed(&team, "x://a/b").await.unwrap().0,
        "x://a/b/1 x://a/b/2"
    );
    for bad in ["x://a/c", "x://nothing", "x://a/b/1"] {
        let error = listed(&team, bad).await.unwrap_err();
        assert!(matches!(error, Error::NoDirectory { .. }), "{bad}: {error}");
    }
    let calls = one.calls();
    assert_eq!(calls, ["probe"], "folders are listed from the catalog");
}

#[tokio::test]
async fn a_cursor_belongs_to_its_folder() {
    let all = content(&["x://a/1", "x://a/2", "x://a/3", "x://b/1"]);
    let team = TestTeam::new([all.provider("one", Grant::default())], 1).await;
    let call = TestTeam::call();
    let page = team
        .gateway
        .directory(&call, &uri("x://a"), None)
        .await
        .unwrap();
    let other = team
        .gateway
        .directory(&call, &uri("x://b"), page.next.as_deref())
        .await;
    assert_eq!(other.unwrap_err(), Error::FilterMismatch);
    let bad = team
        .gateway
        .directory(&call, &uri("x://a"), Some("x"))
        .await;
    assert_eq!(bad.unwrap_err(), Error::BadCursor);
}

#[tokio::test]
async fn a_page_of_a_large_folder_does_not_visit_all_entries() {
    let mut grant = Grant::default();
    grant.limits.catalog_entries = 300_000;
    let many = (0..300_000).fold(FakeContent::default(), |content, n| {
        content.with_text(&format!("x://a/{}/{n}", n / 100_000), "")
    });
    let team = TestTeam::new([many.provider("one", grant)], 100).await;
    let begin = Instant::now();
    for _ in 0..100 {
        let (children, _) = listed(&team, "x://a").await.unwrap();
        assert_eq!(children, "x://a/0/ x://a/1/ x://a/2/");
        let call = TestTeam::call();
        let page = team
            .gateway
            .directory(&call, &uri("x://a/1"), None)
            .await
            .unwrap();
        assert_eq!(page.items.len(), 100);
    }
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
}

/// Returns the URIs and types of the children on all pages.
async fn children(team: &TestTeam, of: &str) -> Result<Vec<String>, Error> {
    let call = TestTeam::call();
    let mut children = Vec::new();
    let mut cursor = None;
    loop {
        let page = team
            .gateway
            .directory(&call, &uri(of), cursor.as_deref())
            .await?;
        children.extend(page.items.iter().map(|entry| {
            let kind = entry.mime_type.as_deref().unwrap_or("file");
            format!("{} {kind}", entry.uri)
        }));
        cursor = page.next;
        if cursor.is_none() {
            return Ok(children);
        }
    }
}

#[tokio::test]
async fn a_provider_lists_folders_that_the_catalog_does_not_hold() {
    let long = content(&["x://a/1", "x://a/2", "x://b/3"])
        .with_template(template("x://{+path}"))
        .with_directory(
            "x://b/",
            &["x://b/c/", "x://b/d", "x://b/c/deep", "x://a/1", "y:1"],
        )
        .with_directory("x://a/", &["x://a/1", "x://a/2", "x://a/3"]);
    let mut grant = Grant::default();
    grant.limits.catalog_entries = 1;
    let team = TestTeam::new([long.provider("wiki", grant)], 10).await;
    let expected = ["x://b/c inode/directory", "x://b/d text/plain"];
    let found = children(&team, "x://b").await.unwrap();
    assert_eq!(
        found[..2],
        expected,
        "what is outside of the folder is omitted"
    );
    assert_eq!(
        children(&team, "x://a/").await.unwrap(),
        [
            "x://a/1 text/plain",
            "x://a/2 text/plain",
            "x://a/3 text/plain"
        ]
    );
    let calls = long.calls();
    let of_directories: Vec<_> = calls
        .iter()
        .filter(|call| call.starts_with("dir"))
        .collect();
    assert_eq!(of_directories.len(), 5, "{calls:?}");
    // Without the folder, the catalog answers.
    let missing = children(&team, "x://none").await;
    assert!(
        matches!(missing, Err(Error::NoDirectory { .. })),
        "{missing:?}"
    );
}

#[tokio::test]
async fn a_folder_in_the_catalog_needs_no_call() {
    let held = content(&["x://a/1"])
        .with_template(template("x://{+path}"))
        .with_directory("x://a/", &["x://a/other"]);
    let team = TestTeam::new([held.provider("wiki", Grant::default())], 10).await;
    assert_eq!(
        children(&team, "x://a").await.unwrap(),
        ["x://a/1 text/plain"]
    );
    assert_eq!(held.calls(), ["probe"]);
}

#[tokio::test]
async fn a_cursor_of_another_folder_is_rejected() {
    let long = content(&[])
        .with_template(template("x://{+path}"))
        .with_directory("x://a/", &["x://a/1", "x://a/2", "x://a/3"]);
    let team = TestTeam::new([long.provider("wiki", Grant::default())], 10).await;
    let call = TestTeam::call();
    let page = team.gateway.directory(&call, &uri("x://a"), None).await;
    let cursor = page.unwrap().next.unwrap();
    let other = uri("x://b");
    let rejected = team.gateway.directory(&call, &other, Some(&cursor)).await;
    let _ = long.clone().without_directory("x://a/");
    let folder = uri("x://a");
    let gone = team.gateway.directory(&call, &folder, Some(&cursor)).await;
    assert!(matches!(gone, Err(Error::BadCursor)), "{gone:?}");
    assert!(
        matches!(rejected, Err(Error::FilterMismatch)),
        "{rejected:?}"
    );
}
