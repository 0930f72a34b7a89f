//! A list that never ends: the next page is always the same.

use guests::*;

struct EndlessList;

impl Behaviour for EndlessList {
    fn list(_query: ListQuery) -> Result<EntryPage, Error> {
        Ok(EntryPage {
            entries: vec![entry("endless-list://again")],
            next_cursor: Some("again".to_owned()),
            freshness: None,
        })
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        text(request.uri)
    }
}

guests::export!(EndlessList);
