//! Fetches all pages of a list.

use std::collections::HashSet;

use super::error::CommandError;
use larder_client::{ClientError, Page};

/// Returns the items of all pages, at most `limit`.
pub(super) async fn all_items<T>(
    limit: usize,
    mut page: impl AsyncFnMut(Option<&str>) -> Result<Page<T>, ClientError>,
) -> Result<Vec<T>, CommandError> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    loop {
        let next = page(cursor.as_deref()).await?;
        found.extend(next.items);
        if found.len() >= limit {
            found.truncate(limit);
            return Ok(found);
        }
        let Some(next) = next.next_cursor else {
            return Ok(found);
        };
        if !seen.insert(next.clone()) {
            return Err(CommandError::CursorLoop);
        }
        cursor = Some(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fetches two pages. With `cycle`, the second page refers to the first page.
    async fn fetch(limit: usize, cycle: bool) -> Result<Vec<u8>, CommandError> {
        all_items(limit, async |from| {
            let (items, next) = match from {
                None | Some("a") => (vec![1, 2], Some("b")),
                Some(_) => (vec![3, 4], cycle.then_some("a")),
            };
            Ok(Page {
                items,
                next_cursor: next.map(str::to_owned),
                rest: serde_json::Map::new(),
            })
        })
        .await
    }

    #[tokio::test]
    async fn stops_at_the_end_at_the_limit_and_at_a_cycle() {
        assert_eq!(fetch(usize::MAX, false).await.unwrap(), [1, 2, 3, 4]);
        assert_eq!(fetch(3, false).await.unwrap(), [1, 2, 3]);
        assert!(matches!(
            fetch(usize::MAX, true).await,
            Err(CommandError::CursorLoop)
        ));
    }
}
