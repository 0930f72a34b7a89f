//! Lists and resources that depend on the caller.

use std::time::Duration;

use super::*;
use larder_provider::{ListPage, ListQuery};

/// Lists and serves only resources of the caller. For calls of the host itself, the list is empty.
pub(super) fn personal() -> FakeContent {
    FakeContent::default()
        .with_lister(list_personal)
        .with_reader(read_personal)
}

fn list_personal(query: &ListQuery, call: &Call) -> Result<ListPage<Entry>, CallError> {
    let names =
        subject(call).map(|subject| ["b", "a"].map(|name| format!("mine:{subject}/{name}")));
    let mut items: Vec<_> = names.iter().flatten().map(|uri| entry(uri)).collect();
    items.drain(..items.len().min(usize::from(query.cursor.is_some())));
    let has_more = items.len() > query.limit as usize;
    items.truncate(query.limit as usize);
    Ok(ListPage {
        items,
        next: has_more.then(|| "second".to_owned()),
        freshness: Some(Freshness {
            ttl: Duration::from_secs(60),
            scope: Scope::Caller,
        }),
        ..ListPage::empty()
    })
}

fn read_personal(read: &FakeRead<'_>) -> Result<ReadResult, CallError> {
    let own = format!("mine:{}/", subject(read.call).unwrap_or_default());
    let name = read.uri.as_str().strip_prefix(&own);
    let text = format!("{} of {own}", name.ok_or(CallError::NotFound)?);
    Ok(ReadResult {
        contents: Arc::new([text_of(read.uri, text)].into_iter().collect()),
        version: None,
        freshness: Freshness::UNKNOWN,
        shared: false,
    })
}

/// A provider whose list depends on the caller, and cannot be listed for callers.
pub(super) fn broken() -> FakeContent {
    personal().with_lister(|query, call| match subject(call) {
        Some(_) => Err(CallError::Unavailable("not today".into())),
        None => list_personal(query, call),
    })
}

async fn list_all(team: &TestTeam, call: &Arc<Call>) -> Vec<String> {
    let mut uris = Vec::new();
    let mut cursor = None;
    let filter = Filter::default();
    loop {
        let page = team.gateway.list(call, cursor.as_deref(), &filter).await;
        let page = page.unwrap();
        assert_eq!(page.freshness.scope, Scope::Caller);
        uris.extend(page.items.iter().map(|entry| entry.uri.to_string()));
        match page.next {
            Some(next) => assert_ne!(cursor.replace(next), cursor, "the cursor does not change"),
            None => return uris,
        }
    }
}

#[tokio::test]
async fn a_list_depends_on_the_caller() {
    for page_size in [100, 4, 3, 1] {
        let texts = |uris: [&str; 2]| {
            let content = FakeContent::default();
            uris.iter()
                .fold(content, |content, uri| content.with_text(uri, ""))
        };
        let providers = [
            texts(["a:1", "a:2"]).provider("a", Grant::default()),
            personal().provider("personal", Grant::default()),
            texts(["z:1", "z:2"]).provider("z", Grant::default()),
        ];
        let team = TestTeam::new(providers, page_size).await;
        for subject in ["ann", "bob"] {
            let own = ["b", "a"].map(|name| format!("mine:{subject}/{name}"));
            let all = ["a:1", "a:2", &own[0], &own[1], "z:1", "z:2"];
            let listed = list_all(&team, &call_by(subject)).await;
            assert_eq!(listed, all, "pages of {page_size}");
        }
    }
    let team = team(&personal()).await;
    let uri = "mine:ann/a";
    assert_eq!(read_by(&team, &call_by("ann"), uri).await, "a of mine:ann/");
    assert_eq!(
        read_by(&team, &call_by("bob"), uri).await,
        "error: no resource at `mine:ann/a`"
    );
    let anonymous = list_all(&team, &TestTeam::call()).await;
    assert_eq!(anonymous, [""; 0]);
}

#[tokio::test]
async fn a_list_that_fails_does_not_affect_others() {
    let providers = [
        FakeContent::default()
            .with_text("a:1", "")
            .provider("a", Grant::default()),
        broken().provider("personal", Grant::default()),
    ];
    let team = TestTeam::new(providers, 100).await;
    assert_eq!(list_all(&team, &call_by("ann")).await, ["a:1"]);
}

/// The provider decides which caller may read a resource that it does not list for everybody. Only such callers are
/// notified of updates. A resource that does not exist yet may be watched.
#[tokio::test]
async fn a_caller_that_may_not_read_a_resource_may_not_watch_it() {
    let errors = FakeContent::default()
        .with_template(template("error:{kind}"))
        .with_reader(|read| {
            Err(match read.uri.as_str() {
                "error:denied" => CallError::Denied("no".into()),
                "error:invalid" => CallError::Invalid("no".into()),
                "error:unavailable" => CallError::Unavailable("no".into()),
                _ => CallError::NotFound,
            })
        });
    let providers = [
        errors.provider("errors", Grant::default()),
        personal().provider("personal", Grant::default()),
    ];
    let team = TestTeam::new(providers, 100).await;
    for (subject, of, expected) in [
        ("ann", "error:denied", false),
        ("ann", "error:invalid", false),
        ("ann", "error:not-found", true),
        ("ann", "error:unavailable", true),
        ("ann", "mine:ann/a", true),
        ("bob", "mine:ann/a", false),
    ] {
        let call = call_by(subject);
        let is_readable = team.gateway.is_readable(&call, &uri(of)).await;
        assert_eq!(is_readable, expected, "{subject} {of}");
    }
}
