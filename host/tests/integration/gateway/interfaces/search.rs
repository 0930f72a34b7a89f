//! Searches, and the limits of their results.

use larder_model::search::SearchQuery;
use larder_provider::Provider as _;

use super::{hostile, interactive, permit};

#[tokio::test]
async fn searches_and_filters_again() {
    let loaded = interactive().await;
    let found = async |query: SearchQuery| {
        let hits = loaded
            .provider
            .search_for_caller(permit(), &query)
            .await
            .unwrap();
        assert_eq!(hits.freshness.ttl.as_secs(), 1);
        let hits = hits
            .hits
            .iter()
            .map(|hit| format!("{} {:?}", hit.entry.uri, hit.excerpt));
        hits.collect::<Vec<_>>().join(", ")
    };
    let query = SearchQuery {
        text: "x".into(),
        limit: 10,
        ..SearchQuery::default()
    };
    let (note, whole) = (
        r#"interactive:note Some("about x")"#,
        r#"interactive:page Some("about x")"#,
    );
    assert_eq!(found(query.clone()).await, format!("{note}, {whole}"));
    assert_eq!(
        found(SearchQuery {
            limit: 1,
            ..query.clone()
        })
        .await,
        note
    );
    assert_eq!(
        found(SearchQuery {
            kind: Some("page".into()),
            ..query.clone()
        })
        .await,
        whole
    );
    let uri_prefix = Some("interactive:n".to_owned());
    assert_eq!(
        found(SearchQuery {
            uri_prefix,
            ..query
        })
        .await,
        note
    );
}

#[tokio::test]
async fn bounds_hits() {
    let loaded = hostile().await;
    let search = async |text: &str, limit| {
        let query = SearchQuery {
            text: text.into(),
            limit,
            ..SearchQuery::default()
        };
        loaded.provider.search_for_caller(permit(), &query).await
    };
    let hits = search("", 6).await.unwrap().hits;
    let shown = hits.iter().map(|hit| {
        format!(
            "{} {:?}",
            hit.entry.uri,
            hit.excerpt.as_ref().map(String::len)
        )
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        ["hostile:0 Some(4000)", "hostile:1 None", "hostile:2 None"]
    );
    assert_eq!(search("", 0).await.unwrap().hits.len(), 0);
    assert_eq!(search("many", 10).await.unwrap().hits.len(), 7);
}
