//! Returns items that the host has to correct: a URI and a template twice, an empty name, and invalid media types.

use guests::*;

struct Careless;

impl Behaviour for Careless {
    fn entries() -> Vec<Entry> {
        let no_name = Entry {
            name: " ".to_owned(),
            ..entry("careless://no-name")
        };
        let no_type = Entry {
            mime_type: Some("markdown".to_owned()),
            ..entry("careless://type")
        };
        vec![
            entry("careless://again"),
            no_name,
            no_type,
            entry("careless://again"),
        ]
    }

    fn templates() -> Vec<&'static str> {
        vec!["careless://{x}/y", "careless://{x}/y"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        reading(vec![content(Body::Text(request.uri), "text")])
    }
}

guests::export!(Careless);
