//! Fetches all pages of a list.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::error::CommandError;
use super::{Outcome, out};
use larder_client::{ClientError, Page};

/// The items of all pages.
#[derive(Debug)]
pub(super) struct AllItems<T> {
    pub(super) items: Vec<T>,
    /// The providers whose items may be missing.
    pub(super) incomplete: BTreeSet<String>,
}

impl<T> AllItems<T> {
    /// Says which providers' items are missing, if any. A list that is not complete is not a success.
    pub(super) fn outcome(&self, items: &str) -> Outcome {
        if let Some(note) = self.note(items) {
            out::note(&note);
        }
        Outcome::success_if(self.incomplete.is_empty())
    }

    /// Returns the items under this key, and the providers whose items may be missing, if any.
    pub(super) fn json(&self, key: &str) -> Value
    where
        T: Serialize,
    {
        let mut json = json!({ key: self.items });
        if !self.incomplete.is_empty() {
            json["incomplete"] = json!(self.incomplete);
        }
        json
    }

    /// Returns the line that names the providers whose items may be missing.
    pub(super) fn note(&self, items: &str) -> Option<String> {
        let names: Vec<_> = self.incomplete.iter().map(String::as_str).collect();
        let names = names.join(", ");
        (!names.is_empty()).then(|| format!("larder: {items} may be missing from: {names}"))
    }
}

/// Returns the items of all pages, at most `limit`.
pub(super) async fn all_items<T>(
    limit: usize,
    mut page: impl AsyncFnMut(Option<&str>) -> Result<Page<T>, ClientError>,
) -> Result<AllItems<T>, CommandError> {
    let mut items = Vec::new();
    let mut incomplete = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    loop {
        let next = page(cursor.as_deref()).await?;
        incomplete.extend(incomplete_providers(&next));
        items.extend(next.items);
        if items.len() >= limit {
            items.truncate(limit);
            return Ok(AllItems { items, incomplete });
        }
        let Some(next) = next.next_cursor else {
            return Ok(AllItems { items, incomplete });
        };
        if !seen.insert(next.clone()) {
            return Err(CommandError::CursorLoop);
        }
        cursor = Some(next);
    }
}

/// The providers whose items may be missing in a page, because they failed or did not answer in time.
fn incomplete_providers<T>(page: &Page<T>) -> Vec<String> {
    let names = page
        .rest
        .get("_meta")
        .and_then(|meta| meta.get("dev.larder/incomplete"));
    let names = names.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fetches two pages. With `cycle`, the second page refers to the first page.
    async fn fetch(limit: usize, cycle: bool) -> Result<Vec<u8>, CommandError> {
        let all = all_items(limit, async |from| {
            let (items, next) = match from {
                None | Some("a") => (vec![1, 2], Some("b")),
                Some(_) => (vec![3, 4], cycle.then_some("a")),
            };
            Ok(Page {
                items,
                next_cursor: next.map(str::to_owned),
                rest: serde_json::Map::new(),
            })
        });
        Ok(all.await?.items)
    }

    #[tokio::test]
    async fn names_the_providers_of_all_pages_whose_items_may_be_missing() {
        let all = all_items(usize::MAX, async |from| {
            let (next, names) = match from {
                None => (Some("b"), json!(["wiki"])),
                Some(_) => (None, json!(["notes", "wiki"])),
            };
            let rest = json!({ "_meta": { "dev.larder/incomplete": names } });
            Ok(Page {
                items: vec![1],
                next_cursor: next.map(str::to_owned),
                rest: serde_json::from_value(rest).unwrap(),
            })
        });
        let all = all.await.unwrap();
        let expected = "larder: resources may be missing from: notes, wiki";
        assert_eq!(all.note("resources").as_deref(), Some(expected));
        let expected = json!({ "resources": [1, 1], "incomplete": ["notes", "wiki"] });
        assert_eq!(all.json("resources"), expected);
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
