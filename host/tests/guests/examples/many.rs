//! Lists a hundred thousand entries, or the number in the setting `count`, in pages of the requested size. With the
//! setting `delay_ms`, callers wait this long for each page except the first.

use std::time::Duration;

use guests::*;

struct Many;

impl Behaviour for Many {
    fn list(query: ListQuery) -> Result<EntryPage, Error> {
        let start = match query.cursor.as_deref().map(str::parse) {
            None => 0,
            Some(Ok(start)) => start,
            Some(Err(_)) => return Err(Error::Invalid("not a cursor of mine".to_owned())),
        };
        if let (Some(delay), true, Some(_)) =
            (host::setting("delay_ms"), start > 0, host::get_caller())
        {
            std::thread::sleep(Duration::from_millis(delay.parse().unwrap()));
        }
        let end = count().min(start + u64::from(query.limit.max(1)));
        Ok(EntryPage {
            entries: (start..end)
                .map(|n| entry(&format!("many://{n}")))
                .collect(),
            next_cursor: (end < count()).then(|| end.to_string()),
            freshness: None,
        })
    }

    fn templates() -> Vec<&'static str> {
        vec!["many://{n}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        match request.uri.strip_prefix("many://").map(str::parse::<u64>) {
            Some(Ok(n)) if n < count() => text(format!("number {n}")),
            _ => Err(Error::NotFound),
        }
    }
}

fn count() -> u64 {
    host::setting("count")
        .and_then(|count| count.parse().ok())
        .unwrap_or(100_000)
}

guests::export!(Many);
