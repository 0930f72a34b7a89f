//! Searches. Its URIs have the scheme in the setting `scheme`. A search returns the URIs in the setting `hits`, in that
//! order, or as many as the setting `count` says. With the setting `delay_ms`, a search takes this long. A search for
//! `fail` traps.

use std::time::Duration;

use exports::larder::provider::search_provider::{Guest, Hit, Hits, SearchQuery};
use guests::*;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:searchable;
        world optional { export larder:provider/search-provider@0.1.0; }
    ",
    export_macro_name: "export_optional",
    with: { "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types },
});

struct Searchable;

impl Behaviour for Searchable {
    fn entries() -> Vec<Entry> {
        let note = |name: &str| Entry {
            name: format!("listed {name}"),
            ..entry(&format!("{}:{name}", scheme()))
        };
        ["one", "two"].map(note).to_vec()
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        text(format!("the text of {}", request.uri))
    }

    fn templates() -> Vec<&'static str> {
        match scheme().as_str() {
            "aa" => vec!["aa:{name}"],
            "bb" => vec!["bb:{name}"],
            _ => vec!["searchable:{name}"],
        }
    }
}

fn scheme() -> String {
    host::setting("scheme").unwrap_or_else(|| "searchable".to_owned())
}

impl Guest for Searchable {
    fn search(query: SearchQuery) -> Result<Hits, Error> {
        if let Some(delay) = host::setting("delay_ms") {
            std::thread::sleep(Duration::from_millis(delay.parse().unwrap()));
        }
        let excerpt = Some(format!("\u{1b}[2Jabout\u{202e}\n{}", query.text));
        let hit = |uri: &str| Hit {
            entry: entry(uri),
            excerpt: excerpt.clone(),
        };
        let hits: Vec<Hit> = match query.text.as_str() {
            "fail" => panic!("this search traps"),
            _ => match host::setting("count") {
                Some(count) => (0..count.parse::<u32>().unwrap())
                    .map(|n| hit(&format!("{}:{n}", scheme())))
                    .collect(),
                None => host::setting("hits")
                    .unwrap_or_default()
                    .split_whitespace()
                    .map(hit)
                    .collect(),
            },
        };
        Ok(Hits {
            hits,
            freshness: None,
        })
    }
}

guests::export!(Searchable);
export_optional!(Searchable);
