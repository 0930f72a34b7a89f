//! Lists random entries and templates, and returns random contents, with invalid values in every field. The setting
//! `seed` selects the values, and `count` their number.

#[path = "random/values.rs"]
mod values;

use exports::larder::provider::completion_provider::{self, Completion, CompletionRequest};
use guests::*;
use values::*;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:random;
        world optional {
            export larder:provider/completion-provider@0.1.0;
        }
    ",
    export_macro_name: "export_optional",
    with: { "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types },
});

struct RandomEntries;

impl Behaviour for RandomEntries {
    fn describe() -> Description {
        let mut random = Random::new(1);
        Description {
            title: random.optional(TEXTS),
            version: random.optional(TEXTS),
            summary: random.optional(TEXTS),
            instructions: random.optional(TEXTS),
            claims: (0..20).map(|_| random.one_of(URIS).to_owned()).collect(),
        }
    }

    fn list(_query: ListQuery) -> Result<EntryPage, Error> {
        let mut random = Random::new(2);
        let (seed, count) = (number("seed"), number("count"));
        let entries = (0..count).map(|n| random.entry(seed * count + n)).collect();
        Ok(EntryPage {
            entries,
            next_cursor: None,
            freshness: random.freshness(),
        })
    }

    fn templates() -> Vec<&'static str> {
        let mut random = Random::new(3);
        let mut templates: Vec<_> = (0..20).map(|_| random.one_of(TEMPLATES)).collect();
        templates.push(COMPLETED);
        templates
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let mut random = Random::new(request.uri.bytes().map(u64::from).sum());
        let contents = (0..random.below(3) + 1).map(|_| random.content()).collect();
        Ok(Reading {
            contents,
            version: random.optional(TEXTS),
            freshness: random.freshness(),
        })
    }
}

impl completion_provider::Guest for RandomEntries {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        let mut random = Random::new(request.prefix.bytes().map(u64::from).sum());
        let values = (0..random.below(200))
            .map(|_| random.one_of(TEXTS).to_owned())
            .collect();
        let total = random.is_next(2).then(|| random.number());
        Ok(Completion {
            values,
            total,
            more: random.is_next(2),
        })
    }
}

/// The template whose variable the clients complete.
const COMPLETED: &str = "random://completed/{variable}";

/// A pseudo-random sequence (xorshift).
struct Random(u64);

impl Random {
    fn new(salt: u64) -> Self {
        Self(
            (u64::from(number("seed")) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ salt.wrapping_mul(0xd134_2543_de82_ef95),
        )
    }

    fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.number() >> 16) as usize % limit
    }

    /// True once in this many times, on average.
    fn is_next(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn optional(&mut self, values: &[&str]) -> Option<String> {
        (!self.is_next(3)).then(|| self.one_of(values).to_owned())
    }

    /// Half of the entries have a valid URI, so that clients get unusual values in the other fields.
    fn entry(&mut self, n: u32) -> Entry {
        let uri = match self.is_next(2) {
            true => format!("random://entry/{n}"),
            false => match self.is_next(4) {
                true => self.characters(),
                false => self.one_of(URIS).replace("{n}", &n.to_string()),
            },
        };
        Entry {
            uri,
            name: self.text(),
            title: self.optional(TEXTS),
            description: self.optional(TEXTS),
            mime_type: self.optional(MEDIA_TYPES),
            size: self.is_next(2).then(|| self.number()),
            version: self.optional(TEXTS),
            details: (!self.is_next(4)).then(|| self.details()),
        }
    }

    fn details(&mut self) -> Details {
        let audience = (0..self.below(5))
            .map(|_| self.one_of(&[Role::User, Role::Assistant]))
            .collect();
        Details {
            kind: self.optional(TEXTS),
            audience,
            priority: self.is_next(2).then(|| self.one_of(&PRIORITIES)),
            last_modified: self.optional(TIMES),
            icons: (0..self.below(3)).map(|_| self.icon()).collect(),
            metadata: self.metadata(),
        }
    }

    fn icon(&mut self) -> Icon {
        Icon {
            src: self.one_of(ICONS).to_owned(),
            mime_type: self.optional(MEDIA_TYPES),
            sizes: (0..self.below(4))
                .map(|_| self.one_of(SIZES).to_owned())
                .collect(),
            theme: self
                .is_next(2)
                .then(|| self.one_of(&[Theme::Light, Theme::Dark])),
        }
    }

    fn metadata(&mut self) -> Vec<(String, String)> {
        let pair = |random: &mut Self| {
            let key = if random.is_next(8) {
                random.characters()
            } else {
                random.one_of(KEYS).to_owned()
            };
            let json = if random.is_next(8) {
                random.characters()
            } else {
                random.one_of(JSON).to_owned()
            };
            (key, json)
        };
        (0..self.below(8)).map(|_| pair(self)).collect()
    }

    fn content(&mut self) -> Content {
        let body = match self.is_next(2) {
            true => Body::Text(self.text()),
            false => Body::Blob((0..self.below(50)).map(|_| self.number() as u8).collect()),
        };
        Content {
            uri: None,
            mime_type: self.optional(MEDIA_TYPES),
            body,
            metadata: self.metadata(),
        }
    }

    fn text(&mut self) -> String {
        if self.is_next(4) {
            self.characters()
        } else {
            self.one_of(TEXTS).to_owned()
        }
    }

    /// Random characters.
    fn characters(&mut self) -> String {
        let any = |random: &mut Self| match random.is_next(3) {
            true => char::from_u32(random.below(0x11_0000) as u32).unwrap_or('\u{fffd}'),
            false => char::from(random.below(0x80) as u8),
        };
        (0..self.below(20)).map(|_| any(self)).collect()
    }

    fn freshness(&mut self) -> Option<Freshness> {
        let scope = self.one_of(&[Scope::Everyone, Scope::Caller]);
        self.is_next(2).then(|| Freshness {
            ttl_ms: self.number(),
            scope,
        })
    }
}

fn number(setting: &str) -> u32 {
    host::setting(setting)
        .and_then(|value| value.parse().ok())
        .unwrap_or(0)
}

guests::export!(RandomEntries);
export_optional!(RandomEntries);
