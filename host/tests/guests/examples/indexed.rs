//! Lists the files of the folder `/docs` as `indexed://NAME`, and appends the URI of each read without a caller to the
//! file `/log/reads`. With the setting `versions`, the entries have versions. With the setting `private`, it also lists
//! `indexed://denied`, which only callers may read, and `indexed://own`, whose content belongs to its caller. A read of
//! `indexed://announce/NAME` reports an update of `indexed://NAME`.

use std::fs;
use std::io::Write as _;

use guests::*;

struct Indexed;

const PRIVATE: [&str; 2] = ["indexed://denied", "indexed://own"];

impl Behaviour for Indexed {
    /// Returns pages of the requested size.
    fn list(query: ListQuery) -> Result<EntryPage, Error> {
        let mut entries = Self::entries();
        let cursor = query.cursor.and_then(|cursor| cursor.parse().ok());
        let start = entries.len().min(cursor.unwrap_or(0));
        let mut entries = entries.split_off(start);
        let limit = query.limit as usize;
        let next_cursor = (entries.len() > limit).then(|| (start + limit).to_string());
        entries.truncate(limit);
        Ok(EntryPage {
            entries,
            next_cursor,
            freshness: None,
        })
    }

    fn entries() -> Vec<Entry> {
        let files = fs::read_dir("/docs").into_iter().flatten().flatten();
        let mut names: Vec<_> = files
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let has_versions = host::setting("versions").is_some();
        let file = |name: String| Entry {
            mime_type: Some("text/markdown".to_owned()),
            version: has_versions
                .then(|| fs::read_to_string(format!("/docs/{name}")).unwrap_or_default()),
            ..entry(&format!("indexed://{name}"))
        };
        let private = PRIVATE
            .into_iter()
            .filter(|_| host::setting("private").is_some());
        names
            .into_iter()
            .map(file)
            .chain(private.map(entry))
            .collect()
    }

    fn templates() -> Vec<&'static str> {
        vec!["indexed://announce/{name}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let uri = request.uri.as_str();
        if let Some(name) = uri.strip_prefix("indexed://announce/") {
            host::resource_updated(&format!("indexed://{name}"));
            return text("announced");
        }
        let has_caller = host::get_caller().is_some();
        if !has_caller {
            log(uri)?;
        }
        match uri {
            "indexed://denied" if !has_caller => Err(Error::Denied("callers only".to_owned())),
            "indexed://denied" => text("confidential"),
            "indexed://own" => Ok(Reading {
                freshness: Some(Freshness {
                    ttl_ms: 1_000,
                    scope: Scope::Caller,
                }),
                ..text("confidential")?
            }),
            _ => file(uri),
        }
    }
}

fn file(uri: &str) -> Result<Reading, Error> {
    let name = uri.strip_prefix("indexed://").ok_or(Error::NotFound)?;
    let content = fs::read_to_string(format!("/docs/{name}")).map_err(|_| Error::NotFound)?;
    reading(vec![content_of(content)])
}

fn content_of(content: String) -> Content {
    guests::content(Body::Text(content), "text/markdown")
}

fn log(uri: &str) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Failed(error.to_string());
    let mut log = fs::File::options()
        .append(true)
        .create(true)
        .open("/log/reads")
        .map_err(failed)?;
    writeln!(log, "{uri}").map_err(failed)
}

guests::export!(Indexed);
