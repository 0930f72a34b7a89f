//! The content of each URI: entries, notes, sections, and the pages about links and tags.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use larder_provider::serde_json::json;
use larder_provider::{Content, Details, Entry, Error, Result};
use provider_support::disk::Stat;
use provider_support::rfc3339;

use crate::address::{self, Address};
use crate::front_matter::{self, FrontMatter};
use crate::links::Resolver;
use crate::note::Note;
use crate::vault::{Path, Vault};

/// The part of a note in which its title and its front matter are looked for.
const HEAD: usize = front_matter::MAX_BYTES + HEADING;
/// The part after the front matter in which the first heading is searched for. This part is parsed for each entry of a
/// list.
const HEADING: usize = 4 << 10;
/// The maximum number of sections in the metadata of a note.
const MAX_SECTIONS: usize = 200;

/// The entry of a note, from the beginning of its file.
pub(crate) fn entry(vault: &Vault, path: &[String]) -> Result<Entry> {
    let stat = vault.stat(path)?;
    let head = vault.head(path, HEAD)?;
    let (yaml, body) = front_matter::split(&head);
    let front = FrontMatter::parse(yaml);
    let name = path.last().map(String::as_str).unwrap_or_default();
    let mut entry = Entry::new(address::page(path), name)
        .mime("text/markdown")
        .size(stat.size);
    entry.title = front
        .text(&["title"])
        .map(str::to_owned)
        .or_else(|| heading(body));
    entry.description = front.text(&["description", "summary"]).map(str::to_owned);
    let mut details = Details::kind(front.text(&["kind", "type"]).unwrap_or("note"));
    details.priority = front.priority();
    details.last_modified = rfc3339(stat.modified);
    details.metadata = metadata(&front);
    Ok(entry.version(stat.version()).details(details))
}

/// The first heading at the beginning of a note.
fn heading(body: &str) -> Option<String> {
    let beginning = &body[..body.floor_char_boundary(HEADING)];
    Note::parse(beginning).title().map(str::to_owned)
}

/// The entry of the list of tags.
pub(crate) fn tags_entry() -> Entry {
    let entry = Entry::new(address::TAGS, "tags")
        .title("Tags")
        .mime("text/markdown");
    entry
        .description("all tags of the notes")
        .details(Details::kind("tags"))
}

/// The fields of the front matter as JSON, and the problem if there is one.
fn metadata(front: &FrontMatter) -> Vec<(String, String)> {
    let mut metadata = Vec::new();
    if !front.is_empty() {
        metadata.push(("frontMatter".to_owned(), front.json()));
    }
    if let Some(problem) = &front.problem {
        metadata.push(("frontMatterProblem".to_owned(), json!(problem).to_string()));
    }
    metadata
}

/// The text of a note or of one of its sections.
pub(crate) fn page(
    vault: &Vault,
    path: &[String],
    stat: &Stat,
    section: Option<&str>,
) -> Result<Content> {
    let text = vault.text(path, stat)?;
    let (yaml, body) = front_matter::split(&text);
    let note = Note::parse(body);
    let Some(section) = section else {
        let mut content = Content::text(text.as_str()).mime("text/markdown");
        content.metadata = metadata(&FrontMatter::parse(yaml));
        let sections = note.sections.iter().take(MAX_SECTIONS);
        let sections: Vec<_> = sections
            .map(|s| json!({ "title": s.title, "section": s.slug, "level": s.level }))
            .collect();
        return Ok(content.metadata("sections", json!(sections).to_string()));
    };
    let section = note.section(section).ok_or(Error::NotFound)?;
    Ok(Content::text(&body[section.range.clone()]).mime("text/markdown"))
}

/// The slugs of the sections of a note.
pub(crate) fn sections(vault: &Vault, path: &[String]) -> Result<Vec<String>> {
    let text = vault.text(path, &vault.stat(path)?)?;
    Ok(Note::parse(front_matter::split(&text).1)
        .sections
        .into_iter()
        .map(|section| section.slug)
        .collect())
}

/// The page of an address that is made from several notes.
pub(crate) fn summary(vault: &Vault, address: &Address) -> Result<String> {
    match address {
        Address::Links(path) => links(vault, path),
        Address::Backlinks(path) => backlinks(vault, path),
        Address::Tags => {
            let counts = all_tags(vault)?;
            let line = |(tag, count): &(String, usize)| {
                format!("- [{tag}]({}) ({count})\n", address::tag(tag))
            };
            Ok(format!(
                "# Tags\n\n{}",
                counts.iter().map(line).collect::<String>()
            ))
        }
        Address::Tag(tag) => tagged(vault, tag),
        Address::Page { .. } => Err(Error::NotFound),
    }
}

fn links(vault: &Vault, path: &[String]) -> Result<String> {
    let text = vault.text(path, &vault.stat(path)?)?;
    let paths = vault.paths();
    let resolver = Resolver::new(&paths);
    let note = Note::parse(front_matter::split(&text).1);
    let links = note
        .links
        .iter()
        .map(|link| (link, resolver.resolve(path, link)));
    // An embedded picture is no note that is missing.
    let notes = links.filter(|(link, found)| found.is_ok() || !link.is_attachment());
    let resolved: BTreeSet<_> = notes.map(|(_, found)| found).collect();
    let mut page = format!("# Links in {}\n\n", path.join("/"));
    for link in resolved {
        match link {
            Ok(target) => page.push_str(&item(target)),
            Err(missing) => _ = writeln!(page, "- {missing} (there is no such note)"),
        }
    }
    Ok(page)
}

fn backlinks(vault: &Vault, path: &Path) -> Result<String> {
    vault.stat(path)?;
    let paths = vault.paths();
    let resolver = Resolver::new(&paths);
    let mut page = format!("# Links to {}\n\n", path.join("/"));
    vault.visit(&paths, |at, text| {
        let from = &paths[at];
        let links = Note::parse(front_matter::split(text).1).links;
        if from != path
            && links
                .iter()
                .any(|link| resolver.resolve(from, link) == Ok(path))
        {
            page.push_str(&item(from));
        }
    })?;
    Ok(page)
}

/// The notes with a tag, or with a tag below it: `a` includes `a/b`.
fn tagged(vault: &Vault, tag: &str) -> Result<String> {
    let (paths, mut page) = (vault.paths(), format!("# Notes with the tag {tag}\n\n"));
    let mut found = false;
    vault.visit(&paths, |at, text| {
        let is_below = |other: &String| {
            other
                .strip_prefix(tag)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if tags(text).iter().any(is_below) {
            found = true;
            page.push_str(&item(&paths[at]));
        }
    })?;
    if found {
        Ok(page)
    } else {
        Err(Error::NotFound)
    }
}

/// All tags, each with the number of its notes.
pub(crate) fn all_tags(vault: &Vault) -> Result<Vec<(String, usize)>> {
    let mut all = BTreeMap::new();
    vault.visit(&vault.paths(), |_, text| {
        tags(text)
            .into_iter()
            .for_each(|tag| *all.entry(tag).or_default() += 1);
    })?;
    Ok(all.into_iter().collect())
}

/// The tags of a note, in its front matter and in its text.
fn tags(text: &str) -> BTreeSet<String> {
    let (yaml, body) = front_matter::split(text);
    let mut tags = Note::parse(body).tags;
    tags.extend(FrontMatter::parse(yaml).tags());
    tags
}

fn item(path: &[String]) -> String {
    format!("- [{}]({})\n", path.join("/"), address::page(path))
}
