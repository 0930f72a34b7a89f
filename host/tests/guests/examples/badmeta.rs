//! Returns data that the host must not pass on unchanged: broken JSON, reserved keys, bad URIs, terminal
//! escapes.

use guests::*;

struct BadMeta;

impl Behaviour for BadMeta {
    fn describe() -> Description {
        Description {
            title: Some("\u{1b}[31mred\u{1b}[0m \u{202e}desrever".to_owned()),
            instructions: Some("bell \u{7} and zero\u{200b}width".to_owned()),
            claims: vec!["no scheme".to_owned(), String::new(), ":".to_owned()],
            ..description()
        }
    }

    fn entries() -> Vec<Entry> {
        let good = entry("badmeta://good");
        let escapes = Entry {
            name: "\u{1b}]0;title\u{7}".to_owned(),
            title: Some("two\nlines".to_owned()),
            description: Some("\u{1b}[2J\u{9b}31m".to_owned()),
            mime_type: Some("text/plain\r\nX-Evil: 1".to_owned()),
            ..entry("badmeta://escapes")
        };
        let wild = Details {
            priority: Some(7.0),
            last_modified: Some("yesterday".to_owned()),
            kind: Some("\u{1b}[1m".to_owned()),
            icons: vec![Icon {
                src: "javascript:alert(1)".to_owned(),
                mime_type: None,
                sizes: vec!["huge".to_owned()],
                theme: None,
            }],
            ..details()
        };
        let uris = [
            "",
            "no-scheme",
            "badmeta://a b",
            "badmeta://{x}",
            "badmeta://ä",
            "badmeta://\u{1b}[31m",
            "badmeta://%zz",
        ];
        let metadata = METADATA
            .iter()
            .enumerate()
            .map(|(i, (key, json))| with_metadata(i, key, json));
        [
            good.clone(),
            good,
            escapes,
            Entry {
                details: Some(wild),
                ..entry("badmeta://wild")
            },
        ]
        .into_iter()
        .chain([f64::NAN, f64::INFINITY, -1.0].map(with_priority))
        .chain(uris.map(entry))
        .chain(metadata)
        .collect()
    }

    fn templates() -> Vec<&'static str> {
        vec![
            "badmeta://{",
            "{+anything}",
            "no-scheme/{x}",
            "badmeta://t/{x}",
            "badmeta://t/{x}",
            "badmeta://{x:0}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let metadata = METADATA
            .map(|(key, json)| (key.to_owned(), json.to_owned()))
            .to_vec();
        reading(vec![Content {
            uri: Some("not a uri".to_owned()),
            mime_type: Some("\n".to_owned()),
            body: Body::Text(request.uri),
            metadata,
        }])
    }
}

const METADATA: [(&str, &str); 9] = [
    ("example.com/broken", "{\"a\":"),
    ("example.com/lines", "{\n\"a\"\n:\r\n1}"),
    ("example.com/two", "1 2"),
    (
        "example.com/deep",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    ),
    ("io.modelcontextprotocol/reserved", "true"),
    ("mcp.dev/reserved", "true"),
    ("_meta", "{}"),
    ("", "1"),
    ("example.com/good", "{\"fine\":true}"),
];

fn with_metadata(i: usize, key: &str, json: &str) -> Entry {
    let metadata = vec![(key.to_owned(), json.to_owned())];
    Entry {
        details: Some(Details {
            metadata,
            ..details()
        }),
        ..entry(&format!("badmeta://metadata/{i}"))
    }
}

fn with_priority(priority: f64) -> Entry {
    let details = Details {
        priority: Some(priority),
        ..details()
    };
    Entry {
        details: Some(details),
        ..entry(&format!("badmeta://priority/{priority}"))
    }
}

guests::export!(BadMeta);
