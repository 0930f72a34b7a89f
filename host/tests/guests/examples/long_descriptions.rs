//! Entries and templates with long descriptions. Settings: `count`, the number of items; `bytes`, the size of a
//! description; `small`, how many of the first entries have no description; `greedy`, whether a page has all entries,
//! also if the server requests fewer, in a list that depends on the caller.

use std::time::Duration;

use larder_provider::{
    Entry, EntryPage, Error, Freshness, Provider, Query, Reading, Request, Result, Template,
    TemplatePage, paginate, setting_or,
};

struct LongDescriptions;

impl Provider for LongDescriptions {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let (count, description) = bulk()?;
        let small: u32 = setting_or("small", 0)?;
        let entry = |n: u32| match Entry::new(format!("long-descriptions://{n:04}"), n.to_string())
        {
            entry if n < small => entry,
            entry => entry.description(description.clone()),
        };
        match setting_or("greedy", false)? {
            true => {
                let page = paginate(
                    (0..count).map(entry),
                    &Query {
                        limit: count,
                        ..query.clone()
                    },
                );
                Ok(page.freshness(Freshness::caller(Duration::ZERO)))
            }
            false => Ok(paginate((0..count).map(entry), query)),
        }
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let (count, description) = bulk()?;
        let template = |n: u32| {
            Template::new(format!("long-descriptions://{n:04}/{{x}}"), n.to_string())
                .description(description.clone())
        };
        Ok((0..count).map(template).collect::<Vec<_>>().into())
    }

    fn read(&self, _request: &Request) -> Result<Reading> {
        Err(Error::NotFound)
    }
}

/// The number of items, and the description of each.
fn bulk() -> Result<(u32, String)> {
    Ok((
        setting_or("count", 300)?,
        "x".repeat(setting_or("bytes", 16_000)?),
    ))
}

larder_provider::export!(LongDescriptions);
