//! Answers each call with another random number, so that cached responses can be recognized. In
//! `fresh://SCOPE/TTL/DELAY/NAME`, SCOPE is `everyone`, `caller` or `error`, TTL is the time to live, and
//! DELAY is the time before the answer, both in milliseconds. It claims the same URIs under `fresh-claim:`.

use std::time::Duration;

use guests::*;
use wasip2::random::random::get_random_u64;

struct Fresh;

impl Behaviour for Fresh {
    fn describe() -> Description {
        Description {
            claims: vec!["fresh-claim:".to_owned()],
            ..description()
        }
    }

    /// One entry, with another name in each list. The setting `list-ttl` is the time to live of the list.
    fn list(_query: ListQuery) -> Result<EntryPage, Error> {
        let ttl = host::setting("list-ttl").and_then(|ttl| ttl.parse().ok());
        let listed = Entry {
            name: get_random_u64().to_string(),
            ..entry("fresh://everyone/0/0/listed")
        };
        let freshness = ttl.map(|ttl_ms| Freshness {
            ttl_ms,
            scope: Scope::Everyone,
        });
        Ok(EntryPage {
            entries: vec![listed],
            next_cursor: None,
            freshness,
        })
    }

    fn templates() -> Vec<&'static str> {
        vec!["fresh://{scope}/{ttl}/{delay}/{+name}"]
    }

    fn match_uri(uri: String) -> Option<TemplateMatch> {
        let mut parts = uri
            .strip_prefix("fresh-claim:")?
            .splitn(4, '/')
            .map(ToOwned::to_owned);
        let names = ["scope", "ttl", "delay", "name"];
        let variables = names.map(|name| Some(variable(name, parts.next()?)));
        let variables = variables.into_iter().collect::<Option<_>>()?;
        Some(TemplateMatch {
            uri_template: Self::templates()[0].to_owned(),
            variables,
        })
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let number = |name| value(&request, name).parse().unwrap_or(0);
        if number("delay") > 0 {
            std::thread::sleep(Duration::from_millis(number("delay")));
        }
        let scope = match value(&request, "scope") {
            "everyone" => Scope::Everyone,
            "caller" => Scope::Caller,
            _ => return Err(Error::Failed(format!("call {}", get_random_u64()))),
        };
        let name = value(&request, "name");
        if let Some(uri) = name.strip_prefix("touch/") {
            host::resource_updated(uri);
        }
        let caller = host::get_caller()
            .and_then(|caller| caller.subject)
            .unwrap_or_default();
        // Padded to a fixed width, because the audit log records the length.
        let answer = format!("{:020} for {caller}", get_random_u64());
        let mut contents = vec![content(Body::Text(answer), "text/plain")];
        if name == "parts" {
            let part = content(Body::Text("a part".to_owned()), "text/plain");
            contents.push(Content {
                uri: Some("fresh://everyone/0/0/part".to_owned()),
                ..part
            });
        }
        Ok(Reading {
            contents,
            version: Some(get_random_u64().to_string()),
            freshness: Some(Freshness {
                ttl_ms: number("ttl"),
                scope,
            }),
        })
    }
}

guests::export!(Fresh);
