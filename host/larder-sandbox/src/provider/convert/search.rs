//! Converts searches and their results.

use std::collections::HashSet;

use super::pace::Pace;
use super::parts::freshness;
use super::resources::{entry, entry_size};
use super::{MAX_ITEM_BYTES, too_large};
use crate::bindings::exports::larder::provider::search_provider as wit;
use crate::provider::omissions::Omissions;
use larder_model::resource::Freshness;
use larder_model::search::{Hit, Hits, SearchQuery};

/// Maximum number of characters of an excerpt.
const MAX_EXCERPT: usize = 4_000;

pub(in crate::provider) fn wit_search_query(query: &SearchQuery) -> wit::SearchQuery {
    wit::SearchQuery {
        text: query.text.clone(),
        limit: query.limit,
        uri_prefix: query.uri_prefix.clone(),
        kind: query.kind.clone(),
    }
}

/// The key in the metadata of a hit with which a provider reports that other hits are missing.
const INCOMPLETE: &str = "dev.larder.search/incomplete";

/// Converts the hits. Hits that the query excludes are omitted without a note, because a provider may ignore its hints.
pub(in crate::provider) async fn hits(
    mut response: wit::Hits,
    query: &SearchQuery,
    omissions: &mut Omissions<'_>,
) -> Hits {
    let limit = query.limit as usize;
    let is_complete = !take_incomplete(&mut response.hits);
    if response.hits.len() > limit {
        omissions.add(format!("hits of a search beyond its limit of {limit}"));
    }
    let mut hits = Vec::new();
    let mut uris = HashSet::new();
    let mut pace = Pace::default();
    for wit::Hit {
        entry: item,
        excerpt,
    } in response.hits.into_iter().take(limit)
    {
        let size = entry_size(&item);
        pace.item(size).await;
        if size > MAX_ITEM_BYTES {
            omissions.add(too_large("a hit of a search", MAX_ITEM_BYTES));
            continue;
        }
        match entry(item, omissions) {
            Ok(entry) if !uris.insert(entry.uri.clone()) => {
                omissions.add("a hit of a search that it returned twice");
            }
            Ok(entry) => hits.push(Hit {
                entry,
                excerpt: excerpt.map(bounded_excerpt),
            }),
            Err(why) => omissions.add(format!("a hit of a search: {why}")),
        }
    }
    hits.retain(|hit| matches_query(hit, query));
    Hits {
        hits,
        freshness: response.freshness.map_or(Freshness::UNKNOWN, freshness),
        is_complete,
    }
}

/// Removes the key which reports that hits are missing. Returns whether a hit had the key.
fn take_incomplete(hits: &mut [wit::Hit]) -> bool {
    let mut is_incomplete = false;
    for details in hits.iter_mut().filter_map(|hit| hit.entry.details.as_mut()) {
        let count = details.metadata.len();
        details.metadata.retain(|(key, _)| key != INCOMPLETE);
        is_incomplete |= details.metadata.len() < count;
    }
    is_incomplete
}

/// Returns the bytes of the hits.
pub(in crate::provider) fn hits_size(hits: &wit::Hits) -> usize {
    hits.hits
        .iter()
        .map(|hit| entry_size(&hit.entry) + hit.excerpt.as_ref().map_or(0, String::len))
        .sum()
}

fn matches_query(hit: &Hit, query: &SearchQuery) -> bool {
    let SearchQuery {
        uri_prefix, kind, ..
    } = query;
    uri_prefix
        .as_ref()
        .is_none_or(|prefix| hit.entry.uri.as_str().starts_with(prefix))
        && kind
            .as_ref()
            .is_none_or(|kind| hit.entry.details.kind.as_ref() == Some(kind))
}

fn bounded_excerpt(mut excerpt: String) -> String {
    if let Some((end, _)) = excerpt.char_indices().nth(MAX_EXCERPT) {
        excerpt.truncate(end);
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::larder::provider::provider_types as types;

    fn hit(uri: &str, excerpt: &str) -> wit::Hit {
        let entry = types::Entry {
            uri: uri.into(),
            name: "a hit".into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            version: None,
            details: None,
        };
        wit::Hit {
            entry,
            excerpt: Some(excerpt.into()),
        }
    }

    async fn uris(hits: Vec<wit::Hit>, query: &SearchQuery) -> (Vec<String>, usize) {
        let mut omissions = Omissions::default();
        let hits = super::hits(
            wit::Hits {
                hits,
                freshness: None,
            },
            query,
            &mut omissions,
        )
        .await;
        let uris = hits
            .hits
            .iter()
            .map(|hit| hit.entry.uri.to_string())
            .collect();
        (uris, omissions.summary().len())
    }

    #[tokio::test]
    async fn a_provider_says_that_hits_are_missing() {
        let mut found = vec![hit("x:1", ""), hit("x:2", "")];
        let query = SearchQuery {
            limit: 1,
            ..SearchQuery::default()
        };
        for is_complete in [true, false] {
            let response = wit::Hits {
                hits: found.clone(),
                freshness: None,
            };
            let hits = super::hits(response, &query, &mut Omissions::default()).await;
            assert_eq!(hits.is_complete, is_complete);
            assert!(
                hits.hits
                    .iter()
                    .all(|hit| hit.entry.details.metadata.is_empty())
            );
            // The hit with this key is beyond the limit.
            found[1].entry.details = Some(types::Details {
                kind: None,
                audience: vec![],
                priority: None,
                last_modified: None,
                icons: vec![],
                metadata: vec![(INCOMPLETE.to_owned(), "true".to_owned())],
            });
        }
    }

    #[tokio::test]
    async fn bounds_and_filters_hits() {
        let query = SearchQuery {
            limit: 3,
            ..SearchQuery::default()
        };
        let found = || {
            ["x:1", "x:1", "not a uri", "x:2"]
                .map(|uri| hit(uri, ""))
                .to_vec()
        };
        assert_eq!(uris(found(), &query).await, (vec!["x:1".to_owned()], 3));
        let wide = SearchQuery {
            limit: 10,
            ..query.clone()
        };
        assert_eq!(
            uris(found(), &wide).await,
            (vec!["x:1".to_owned(), "x:2".to_owned()], 2)
        );
        let prefix = SearchQuery {
            uri_prefix: Some("x:2".into()),
            ..wide.clone()
        };
        assert_eq!(uris(found(), &prefix).await.0, ["x:2"]);
        assert_eq!(
            uris(
                found(),
                &SearchQuery {
                    kind: Some("file".into()),
                    ..wide
                }
            )
            .await
            .0
            .len(),
            0
        );
    }

    #[test]
    fn bounds_excerpts() {
        assert_eq!(
            bounded_excerpt("ü".repeat(MAX_EXCERPT + 1)).chars().count(),
            MAX_EXCERPT
        );
        assert_eq!(bounded_excerpt("short".into()), "short");
    }
}
