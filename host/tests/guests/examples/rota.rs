//! Lists what a file `names` in a granted folder names, a line each, and pages as the host wants them. With the setting `personal`
//! the list belongs to the caller. Reading `rota://say` says that it differs; while there is a file `shut` it cannot be
//! listed. Leaves a line in another folder each time it is asked for its first page.

use std::fs;
use std::io::Write as _;

use guests::*;

struct Rota;

impl Behaviour for Rota {
    fn list(query: ListQuery) -> Result<EntryPage, Error> {
        let start: usize = query.cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        if start == 0 {
            let asked = fs::File::options().append(true).create(true).open("/log/asked");
            asked.and_then(|mut asked| writeln!(asked, "asked")).map_err(failed)?;
        }
        if fs::exists("/rota/shut").unwrap_or_default() {
            return Err(Error::Unavailable("it is shut".to_owned()));
        }
        let names = fs::read_to_string("/rota/names").map_err(failed)?;
        let all: Vec<Entry> = names.lines().map(|name| entry(&format!("rota://{name}"))).collect();
        let end = all.len().min(start + query.limit as usize);
        let personal = host::setting("personal").is_some();
        Ok(EntryPage {
            entries: all.get(start..end).unwrap_or_default().to_vec(),
            next_cursor: (end < all.len()).then(|| end.to_string()),
            freshness: personal.then_some(Freshness { ttl_ms: 0, scope: Scope::Caller }),
        })
    }

    fn templates() -> Vec<&'static str> {
        vec!["rota://{name}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        if request.uri == "rota://say" {
            host::resources_changed();
        }
        text(request.uri)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::Failed(error.to_string())
}

guests::export!(Rota);
