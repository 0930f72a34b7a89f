//! Three thousand entries of three kinds. The guest applies the filter hints of a request. Its cursor is a position in
//! the filtered list, so without the hints the cursor has another meaning. The title of an entry shows that there were
//! hints.

use guests::*;

struct Catalogue;

const KINDS: [&str; 3] = ["book", "disc", "map"];

impl Behaviour for Catalogue {
    fn list(query: ListQuery) -> Result<EntryPage, Error> {
        let hinted = query.uri_prefix.is_some() || query.kind.is_some();
        let matches = |entry: &Entry| {
            let kind = entry
                .details
                .as_ref()
                .and_then(|details| details.kind.as_ref());
            query
                .uri_prefix
                .as_ref()
                .is_none_or(|prefix| entry.uri.starts_with(prefix))
                && query
                    .kind
                    .as_ref()
                    .is_none_or(|wanted| kind == Some(wanted))
        };
        let all: Vec<Entry> = (0..3_000)
            .map(|n| item(n, hinted))
            .filter(matches)
            .collect();
        let start = query.cursor.as_deref().map_or(Ok(0), str::parse::<usize>);
        let start = start.map_err(|_| Error::Invalid("not a cursor of mine".to_owned()))?;
        let end = all.len().min(start + query.limit as usize);
        let entries = all.get(start..end).unwrap_or_default().to_vec();
        Ok(EntryPage {
            entries,
            next_cursor: (end < all.len()).then(|| end.to_string()),
            freshness: None,
        })
    }

    fn templates() -> Vec<&'static str> {
        vec!["filter-hints://book/{n}", "filter-hints://disc/{n}{?track}"]
    }
}

fn item(n: usize, hinted: bool) -> Entry {
    let kind = KINDS[n % KINDS.len()];
    Entry {
        title: hinted.then(|| "filtered by hints".to_owned()),
        mime_type: ["text/plain; charset=utf-8", "image/png"]
            .get(n % KINDS.len())
            .map(ToString::to_string),
        details: Some(Details {
            kind: Some(kind.to_owned()),
            ..details()
        }),
        ..entry(&format!("filter-hints://{kind}/{n:05}"))
    }
}

guests::export!(Catalogue);
