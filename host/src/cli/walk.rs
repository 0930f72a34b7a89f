//! A whole list, page after page.

use std::collections::HashSet;

use super::failure::Failure;
use crate::client::{ClientError, Page};

/// At most this many of a list, each page from the cursor of the one before it.
pub(super) async fn walk<T>(
    limit: usize,
    mut page: impl AsyncFnMut(Option<&str>) -> Result<Page<T>, ClientError>,
) -> Result<Vec<T>, Failure> {
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
        let Some(next) = next.next_cursor else { return Ok(found) };
        if !seen.insert(next.clone()) {
            return Err(Failure::Circle);
        }
        cursor = Some(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same pages for whoever asks: two of them, or two that lead to each other.
    async fn walked(limit: usize, circle: bool) -> Result<Vec<u8>, Failure> {
        walk(limit, async |from| {
            let (items, next) = match from {
                None | Some("a") => (vec![1, 2], Some("b")),
                Some(_) => (vec![3, 4], circle.then_some("a")),
            };
            Ok(Page { items, next_cursor: next.map(str::to_owned), rest: serde_json::Map::new() })
        })
        .await
    }

    #[tokio::test]
    async fn a_list_is_walked_to_its_end_or_to_the_limit() {
        assert_eq!(walked(usize::MAX, false).await.unwrap(), [1, 2, 3, 4]);
        assert_eq!(walked(3, false).await.unwrap(), [1, 2, 3]);
        assert!(matches!(walked(usize::MAX, true).await, Err(Failure::Circle)));
    }
}
