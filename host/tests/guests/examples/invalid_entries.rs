//! Returns items that the host has to correct: a URI and a template twice, an empty name, and invalid media types.

use guests::*;

struct InvalidEntries;

impl Behaviour for InvalidEntries {
    fn entries() -> Vec<Entry> {
        let no_name = Entry {
            name: " ".to_owned(),
            ..entry("invalid-entries://no-name")
        };
        let no_type = Entry {
            mime_type: Some("markdown".to_owned()),
            ..entry("invalid-entries://type")
        };
        vec![
            entry("invalid-entries://again"),
            no_name,
            no_type,
            entry("invalid-entries://again"),
        ]
    }

    fn templates() -> Vec<&'static str> {
        vec!["invalid-entries://{x}/y", "invalid-entries://{x}/y"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        reading(vec![content(Body::Text(request.uri), "text")])
    }
}

guests::export!(InvalidEntries);
