//! Lists entries and templates that are expensive to match. The setting `ways` is the number of templates
//! that match a URI in more ways than can be tried; without it, there is one simple template. The setting
//! `long` is the number of entries with long descriptions.

use guests::*;

struct CostlyTemplates;

impl Behaviour for CostlyTemplates {
    fn entries() -> Vec<Entry> {
        let text = || Some("long ".repeat(3_000));
        let long = |n| Entry {
            description: text(),
            ..entry(&format!("costly-templates://long/{n}"))
        };
        (0..number("long")).map(long).collect()
    }

    fn templates() -> Vec<&'static str> {
        let variables: String = (0..20).map(|n| format!("{{+v{n}}}")).collect();
        match number("ways") {
            0 => vec!["costly-templates://{+path}"],
            ways => (0..ways)
                .map(|n| &*format!("costly-templates://{variables}!{n}").leak())
                .collect(),
        }
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        text(format!("{} bytes", value(&request, "path").len()))
    }
}

fn number(setting: &str) -> usize {
    host::setting(setting)
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

guests::export!(CostlyTemplates);
