//! The parts of a note: headings, sections, links and tags.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use pulldown_cmark::{
    CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, TextMergeWithOffset,
};

/// The maximum length of a tag.
const MAX_TAG: usize = 100;

/// A heading and the text that belongs to the heading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) level: u8,
    pub(crate) title: String,
    /// The identifier of the section in its note, as on GitHub: `What is new?` has the slug `what-is-new`.
    pub(crate) slug: String,
    /// From the heading to the next heading of the same or a higher level.
    pub(crate) range: Range<usize>,
}

/// A link to another note, with its original text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) target: String,
    pub(crate) is_wiki: bool,
    /// Whether its target is shown in the note: `![[name]]` or `![text](path)`.
    pub(crate) is_embed: bool,
}

impl Link {
    /// Whether the link embeds a file that is not a note, such as a picture. The extension decides.
    pub(crate) fn is_attachment(&self) -> bool {
        let path = self.target.split(['#', '?']).next().unwrap_or_default();
        let extension = path
            .rsplit_once('.')
            .map(|(_, extension)| extension)
            .unwrap_or_default();
        let is_word = extension.chars().all(|c| c.is_ascii_alphanumeric()) && extension.len() <= 10;
        self.is_embed && is_word && extension.contains(|c: char| c.is_ascii_alphabetic())
    }
}

/// The parts of a note without its front matter.
#[derive(Debug, Default)]
pub(crate) struct Note {
    pub(crate) sections: Vec<Section>,
    pub(crate) links: Vec<Link>,
    /// The tags in the text, such as `#idea`.
    pub(crate) tags: BTreeSet<String>,
}

impl Note {
    pub(crate) fn parse(markdown: &str) -> Self {
        let (mut note, mut reader) = (Self::default(), Reader::default());
        let options = Options::ENABLE_WIKILINKS
            | Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_TASKLISTS;
        let events =
            TextMergeWithOffset::new(Parser::new_ext(markdown, options).into_offset_iter());
        for (event, range) in events {
            note.take(event, range, &mut reader);
        }
        note.end_sections(markdown.len());
        note
    }

    /// The title: the first heading of the highest level. A line of code is no heading.
    pub(crate) fn title(&self) -> Option<&str> {
        let titles = self.sections.iter().filter(|section| section.level == 1);
        titles
            .map(|section| section.title.as_str())
            .find(|title| !title.is_empty())
    }

    /// The section with a slug, or with a title.
    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        let mut sections = self.sections.iter();
        let by_slug = sections.clone().find(|section| section.slug == name);
        by_slug.or_else(|| sections.find(|section| section.title == name))
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>, reader: &mut Reader) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                reader.heading = Some((level, range.start, String::new()))
            }
            Event::End(TagEnd::Heading(_)) => self.sections.extend(reader.end_heading()),
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => self.links.extend(link(link_type, &dest_url, false)),
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                ..
            }) => self.links.extend(link(link_type, &dest_url, true)),
            Event::Start(Tag::CodeBlock(_)) => reader.in_code = true,
            Event::End(TagEnd::CodeBlock) => reader.in_code = false,
            Event::Text(text) => {
                if !reader.in_code {
                    self.tags.extend(inline_tags(&text));
                }
                reader.add(&text);
            }
            Event::Code(text) => reader.add(&text),
            Event::SoftBreak | Event::HardBreak => reader.add(" "),
            _ => {}
        }
    }

    /// A section ends where the next section of the same or a higher level begins.
    fn end_sections(&mut self, length: usize) {
        let mut open: Vec<(u8, usize)> = Vec::new();
        let starts: Vec<(u8, usize)> = self
            .sections
            .iter()
            .map(|s| (s.level, s.range.start))
            .collect();
        for (at, (level, start)) in starts.into_iter().enumerate() {
            while let Some((_, above)) = open.pop_if(|(above, _)| *above >= level) {
                self.sections[above].range.end = start;
            }
            open.push((level, at));
        }
        for (_, at) in open {
            self.sections[at].range.end = length;
        }
    }
}

/// The state of the parser.
#[derive(Default)]
struct Reader {
    heading: Option<(HeadingLevel, usize, String)>,
    in_code: bool,
    /// The slugs, each with the last number that was added to it.
    numbers: HashMap<String, usize>,
}

impl Reader {
    fn add(&mut self, text: &str) {
        if let Some((_, _, title)) = &mut self.heading {
            title.push_str(text);
        }
    }

    fn end_heading(&mut self) -> Option<Section> {
        let (level, start, title) = self.heading.take()?;
        let title = title.trim().to_owned();
        let slug = self.unique(slug(&title));
        Some(Section {
            level: level as u8,
            title,
            slug,
            range: start..start,
        })
    }

    /// Adds a number to a slug that another section has already.
    fn unique(&mut self, slug: String) -> String {
        let mut number = self.numbers.get(&slug).copied().unwrap_or_default();
        let mut unique = slug.clone();
        while self.numbers.contains_key(&unique) {
            number += 1;
            unique = format!("{slug}-{number}");
        }
        self.numbers.insert(slug, number);
        self.numbers.entry(unique.clone()).or_default();
        unique
    }
}

fn slug(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// A link that can lead to a note: neither a URI with a scheme nor only a fragment.
fn link(link_type: LinkType, target: &CowStr<'_>, is_embed: bool) -> Option<Link> {
    let is_wiki = matches!(link_type, LinkType::WikiLink { .. });
    let is_other = matches!(link_type, LinkType::Autolink | LinkType::Email)
        || target.starts_with("//")
        || target
            .split('/')
            .next()
            .is_some_and(|first| first.contains(':'))
        || target.split(['#', '?']).next().is_none_or(str::is_empty);
    (!is_other).then(|| Link {
        target: target.to_string(),
        is_wiki,
        is_embed,
    })
}

/// The words in a text that begin with `#`, as tags.
fn inline_tags(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | ',' | ';'));
    words.filter_map(|word| tag(word.strip_prefix('#')?))
}

/// A valid tag from the beginning of a text: letters, digits, `-`, `_` and `/`, with at least one letter.
pub(crate) fn tag(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let tag = text[..end].trim_matches('/');
    let is_valid = tag.len() <= MAX_TAG && tag.contains(char::is_alphabetic) && !tag.contains("//");
    is_valid.then(|| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "intro #start\n\n# One\ntext #a/b, #7 #c!\n## Two `x`\n[l](b.md) [w](https://e.org)\n# One\n\
                        ```\n# no #no\n```\n[[Wiki|other]] <https://e.org> [f](#x) [up](../c.md#part)\n";

    #[test]
    fn finds_sections() {
        let note = Note::parse(TEXT);
        let found: Vec<_> = note
            .sections
            .iter()
            .map(|s| {
                (
                    s.level,
                    s.title.as_str(),
                    s.slug.as_str(),
                    &TEXT[s.range.clone()],
                )
            })
            .collect();
        let (one, two) = (TEXT.find("# One").unwrap(), TEXT.rfind("# One").unwrap());
        let inner = TEXT.find("## Two").unwrap();
        assert_eq!(
            found,
            [
                (1, "One", "one", &TEXT[one..two]),
                (2, "Two x", "two-x", &TEXT[inner..two]),
                (1, "One", "one-1", &TEXT[two..]),
            ]
        );
        assert_eq!(note.section("two-x"), note.section("Two x"));
        assert_eq!(note.section("three"), None);
    }

    #[test]
    fn finds_links_and_tags() {
        let note = Note::parse(TEXT);
        let links: Vec<_> = note
            .links
            .iter()
            .map(|link| (link.target.as_str(), link.is_wiki))
            .collect();
        assert_eq!(
            links,
            [("b.md", false), ("Wiki", true), ("../c.md#part", false)]
        );
        assert_eq!(note.tags.iter().collect::<Vec<_>>(), ["a/b", "c", "start"]);
    }

    #[test]
    fn slugs_stay_unique() {
        let note = Note::parse("# a\n# a-1\n# a\n# \u{dc}ber, alles!\n");
        let slugs: Vec<_> = note
            .sections
            .iter()
            .map(|section| section.slug.as_str())
            .collect();
        assert_eq!(slugs, ["a", "a-1", "a-2", "\u{fc}ber-alles"]);
    }
}
