//! Lists and serves only resources of the caller. For calls by the host itself, the list is empty. With the setting
//! `delay_ms`, callers wait this long for the list.

use std::time::Duration;

use guests::*;

struct Personal;

impl Behaviour for Personal {
    fn list(query: ListQuery) -> Result<EntryPage, Error> {
        if let (Some(delay), Some(_)) = (host::setting("delay_ms"), host::get_caller()) {
            std::thread::sleep(Duration::from_millis(delay.parse().unwrap()));
        }
        let uris =
            subject().map(|subject| ["b", "a"].map(|name| format!("personal://{subject}/{name}")));
        let mut uris = uris.map(Vec::from).unwrap_or_default();
        let start = usize::from(query.cursor.is_some());
        let rest = uris.split_off(start.min(uris.len()));
        let limit = (query.limit.max(1) as usize).min(rest.len());
        Ok(EntryPage {
            entries: rest[..limit].iter().map(|uri| entry(uri)).collect(),
            next_cursor: (limit < rest.len()).then(|| "second".to_owned()),
            freshness: Some(Freshness {
                ttl_ms: 60_000,
                scope: Scope::Caller,
            }),
        })
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let own = format!("personal://{}/", subject().unwrap_or_default());
        match request.uri.strip_prefix(&own) {
            Some(name) => text(format!("{name} of {own}")),
            None => Err(Error::NotFound),
        }
    }
}

fn subject() -> Option<String> {
    host::get_caller()?.subject
}

guests::export!(Personal);
