//! Returns very many or very long parts of answers, which cost the host work: `excess://KIND/COUNT`. The setting `in`
//! selects what it does when it is loaded.

use guests::*;

struct Excess;

impl Behaviour for Excess {
    fn describe() -> Description {
        if !misbehaves_in("describe") {
            return Description {
                claims: vec!["excess://".to_owned()],
                ..description()
            };
        }
        let long = || Some("x".repeat(1 << 20));
        let claims = (0..30_000).map(|n| format!("excess{n}:")).collect();
        Description {
            title: long(),
            version: long(),
            summary: long(),
            instructions: long(),
            claims,
        }
    }

    fn entries() -> Vec<Entry> {
        let metadata = (0..1_000)
            .map(|n| (format!("key{n}"), "1".to_owned()))
            .collect();
        let icon = Icon {
            src: "https://example.com/".to_owned(),
            mime_type: None,
            sizes: vec!["any".to_owned(); 100],
            theme: None,
        };
        let audience = vec![Role::User; 1_000];
        let details = Details {
            audience,
            icons: vec![icon; 20],
            metadata,
            ..details()
        };
        vec![
            Entry {
                name: "n".repeat(2_000),
                title: Some("t".repeat(2_000)),
                description: Some("d".repeat(20_000)),
                version: Some("v".repeat(2_000)),
                ..entry("excess://entry/texts")
            },
            Entry {
                details: Some(details),
                ..entry("excess://entry/lists")
            },
        ]
    }

    fn templates() -> Vec<&'static str> {
        vec![
            "excess://{kind}/{count}",
            "excess://contents/{count}/{part}",
        ]
    }

    fn match_uri(uri: String) -> Option<TemplateMatch> {
        let count = uri.strip_prefix("excess://match/a/b/c/")?.parse().ok()?;
        Some(TemplateMatch {
            uri_template: uri,
            variables: vec![variable("v", ""); count],
        })
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let count: u32 = value(&request, "count")
            .parse()
            .map_err(|_| Error::NotFound)?;
        let part = |uri| Content {
            uri,
            ..content(Body::Text(String::new()), "text/plain")
        };
        let contents = match value(&request, "kind") {
            "metadata" => {
                let metadata = (0..count)
                    .map(|n| (n.to_string(), "1".to_owned()))
                    .collect();
                vec![Content {
                    metadata,
                    ..part(None)
                }]
            }
            "contents" => (0..count)
                .map(|n| part(Some(format!("{}/{n}", request.uri))))
                .collect(),
            "others" => (0..count)
                .map(|n| part(Some(format!("excess://contents/{count}/{n}"))))
                .collect(),
            "heavy" => {
                let json = format!("[{}1]", "1,".repeat(15_000));
                let metadata = vec![("key".to_owned(), json)];
                (0..count)
                    .map(|_| Content {
                        metadata: metadata.clone(),
                        ..part(None)
                    })
                    .collect()
            }
            _ => return Err(Error::NotFound),
        };
        let version = Some("v".repeat(2_000));
        Ok(Reading {
            contents,
            version,
            freshness: None,
        })
    }
}

guests::export!(Excess);
