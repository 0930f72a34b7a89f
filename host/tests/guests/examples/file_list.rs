//! Lists the names in the file `names` of a granted folder, one for each line, in pages of the requested
//! size. With the setting `personal`, the list is private to the caller. A read of `file-list://say` signals that
//! the list has changed. If there is a file `shut`, listing fails. Each request for the first page adds a
//! line to a log in another folder.

use std::fs;
use std::io::Write as _;

use guests::*;

struct FileList;

impl Behaviour for FileList {
    fn list(query: ListQuery) -> Result<EntryPage, Error> {
        let start: usize = query
            .cursor
            .and_then(|cursor| cursor.parse().ok())
            .unwrap_or(0);
        if start == 0 {
            let log = fs::File::options()
                .append(true)
                .create(true)
                .open("/log/asked");
            log.and_then(|mut log| writeln!(log, "asked"))
                .map_err(failed)?;
        }
        if fs::exists("/file_list/shut").unwrap_or_default() {
            return Err(Error::Unavailable("it is shut".to_owned()));
        }
        let names = fs::read_to_string("/file_list/names").map_err(failed)?;
        let all: Vec<Entry> = names
            .lines()
            .map(|name| entry(&format!("file-list://{name}")))
            .collect();
        let end = all.len().min(start + query.limit as usize);
        let personal = host::setting("personal").is_some();
        Ok(EntryPage {
            entries: all.get(start..end).unwrap_or_default().to_vec(),
            next_cursor: (end < all.len()).then(|| end.to_string()),
            freshness: personal.then_some(Freshness {
                ttl_ms: 0,
                scope: Scope::Caller,
            }),
        })
    }

    fn templates() -> Vec<&'static str> {
        vec!["file-list://{name}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        if request.uri == "file-list://say" {
            host::resources_changed();
        }
        text(request.uri)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::Failed(error.to_string())
}

guests::export!(FileList);
