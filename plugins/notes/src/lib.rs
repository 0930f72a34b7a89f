//! Provides a folder of Markdown notes as `notes:///…` resources, with their sections, links and tags.

mod address;
mod front_matter;
mod links;
mod note;
mod pages;
mod settings;
mod vault;

#[cfg(test)]
mod tests;

use larder_provider::{
    Completion, CompletionRequest, Content, Declaration, Description, EntryPage, Error, Freshness,
    Hit, Hits, Provider, Query, Reading, Request, Result, SearchQuery, Template, TemplateMatch,
    TemplatePage, Variable, paginate,
};
use provider_support::digest;
use provider_support::ranking::Ranking;

use address::Address;
use settings::Settings;
use vault::Vault;

struct Notes {
    /// `None` if no folder is granted. Then the list is empty.
    vault: Option<Vault>,
}

const NO_FOLDER: &str = "no folder is granted: add `dirs` to this provider's configuration";

larder_provider::export!(Notes: completions, versions, search, settings);

impl Provider for Notes {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        Ok(Self {
            vault: Vault::granted(Settings::read()?)?,
        })
    }

    fn describe(&self) -> Description {
        let about = Description::new("Notes").version(env!("CARGO_PKG_VERSION"));
        if self.vault.is_none() {
            return about.summary(NO_FOLDER);
        }
        about
            .summary("a folder of Markdown notes")
            .instructions(
                "A note can be read as a whole (notes:///path) or by section (notes:///path?section=slug). \
                 notes://backlinks/path lists the notes that link to a note, notes://tags all tags.",
            )
            .claim(address::CLAIM)
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let Some(vault) = &self.vault else {
            return Ok(EntryPage::default());
        };
        let paths = vault.paths();
        // The notes before the cursor are not read again.
        let is_after = |uri: &String| query.cursor.as_ref().is_none_or(|cursor| uri > cursor);
        let is_wanted = |uri: &String| {
            query
                .uri_prefix
                .as_ref()
                .is_none_or(|prefix| uri.starts_with(prefix))
        };
        let rest = paths.iter().filter(|path| {
            let uri = address::page(path);
            is_after(&uri) && is_wanted(&uri)
        });
        let entries = rest.filter_map(|path| pages::entry(vault, path).ok());
        Ok(paginate(entries.chain([pages::tags_entry()]), query).freshness(self.freshness()))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        if self.vault.is_none() {
            return Ok(TemplatePage::default());
        }
        let template = |uri_template: &str, name: &str, description: &str| {
            Template::new(uri_template, name)
                .mime("text/markdown")
                .description(description)
        };
        let templates = vec![
            template(
                address::PAGE,
                "note",
                "a note by its path without .md, or the section with this slug or title",
            ),
            template(address::LINKS, "links", "the notes that a note links to"),
            template(
                address::BACKLINKS,
                "backlinks",
                "the notes that link to a note",
            ),
            template(address::TAG, "tag", "the notes with a tag"),
        ];
        Ok(TemplatePage::from(templates).freshness(self.freshness()))
    }

    fn match_uri(&self, uri: &str) -> Option<TemplateMatch> {
        let page = |path: Vec<String>| Variable::new("page", path.join("/"));
        let (uri_template, variables) = match Address::parse(uri).ok()? {
            Address::Page { path, section } => {
                let section = section.map(|section| Variable::new("section", section));
                (
                    address::PAGE,
                    [page(path)].into_iter().chain(section).collect(),
                )
            }
            Address::Links(path) => (address::LINKS, vec![page(path)]),
            Address::Backlinks(path) => (address::BACKLINKS, vec![page(path)]),
            Address::Tag(tag) => (address::TAG, vec![Variable::new("tag", tag)]),
            // The page is in the list, but the catalog has only the beginning of a long list.
            Address::Tags => (address::TAGS, Vec::new()),
        };
        Some(TemplateMatch {
            uri_template: uri_template.to_owned(),
            variables,
        })
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let address = Address::parse(&request.uri)?;
        let Address::Page { path, section } = &address else {
            let text = pages::summary(self.vault()?, &address)?;
            return self.reading(
                request,
                digest(&text),
                Content::text(text).mime("text/markdown"),
            );
        };
        let stat = self.vault()?.stat(path)?;
        if section.is_none() {
            request.unless_known(&stat.version())?;
        }
        let content = pages::page(self.vault()?, path, &stat, section.as_deref())?;
        let version = if section.is_some() {
            digest(&text_of(&content))
        } else {
            stat.version()
        };
        self.reading(request, version, content)
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let typed = request.prefix.as_str();
        match request.variable.as_str() {
            "page" => Ok(Completion::matching(
                complete_path(self.vault()?, typed),
                typed,
            )),
            "section" => {
                let page = request
                    .filled("page")
                    .unwrap_or_default()
                    .split('/')
                    .map(str::to_owned);
                let sections = pages::sections(self.vault()?, &page.collect::<Vec<_>>());
                Ok(Completion::matching(sections.unwrap_or_default(), typed))
            }
            "tag" => {
                let tags = pages::all_tags(self.vault()?)?
                    .into_iter()
                    .map(|(tag, _)| tag);
                Ok(Completion::matching(tags, typed))
            }
            _ => Err(Error::NotFound),
        }
    }

    /// The metadata of a file contains the version of its note. The other versions are computed from content, so that
    /// watchers of a section, a tag or of backlinks are notified only of changes that concern them.
    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        Ok(uris.iter().map(|uri| self.version(uri).ok()).collect())
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        let Some(vault) = &self.vault else {
            return Ok(Hits::default());
        };
        let (mut ranking, paths) = (Ranking::new(&query.text), vault.paths());
        let visited = vault.visit_until(&paths, Some(query.end()), |at, text| {
            ranking.add(at, &paths[at].join("/"), text);
        })?;
        // Only the names of the other notes are known.
        for (at, path) in paths.iter().enumerate().skip(visited) {
            ranking.add(at, &path.join("/"), "");
        }
        let best = ranking.best().into_iter().filter_map(|at| {
            let path = &paths[at];
            let text = vault
                .stat(path)
                .and_then(|stat| vault.text(path, &stat))
                .ok()?;
            let mut hit = Hit::new(pages::entry(vault, path).ok()?);
            hit.excerpt = ranking.excerpt(&text);
            Some(hit)
        });
        let hits = query.take(best).freshness(self.freshness());
        match visited < paths.len() {
            true => hits.incomplete("the time was over before all notes were read"),
            false => Ok(hits),
        }
    }
}

impl Notes {
    fn vault(&self) -> Result<&Vault> {
        self.vault
            .as_ref()
            .ok_or_else(|| Error::Denied(NO_FOLDER.to_owned()))
    }

    fn reading(&self, request: &Request, version: String, content: Content) -> Result<Reading> {
        request.unless_known(&version)?;
        Ok(Reading::from(content)
            .version(version)
            .freshness(self.freshness()))
    }

    fn version(&self, uri: &str) -> Result<String> {
        let address = Address::parse(uri)?;
        match &address {
            Address::Page {
                path,
                section: None,
            } => Ok(self.vault()?.stat(path)?.version()),
            Address::Page { path, section } => {
                let stat = self.vault()?.stat(path)?;
                Ok(digest(&text_of(&pages::page(
                    self.vault()?,
                    path,
                    &stat,
                    section.as_deref(),
                )?)))
            }
            _ => Ok(digest(&pages::summary(self.vault()?, &address)?)),
        }
    }

    fn freshness(&self) -> Freshness {
        Freshness::everyone(
            self.vault
                .as_ref()
                .map(|vault| vault.settings.ttl)
                .unwrap_or_default(),
        )
    }
}

/// Completes a path with the names in its last folder.
fn complete_path(vault: &Vault, typed: &str) -> Vec<String> {
    let folder = typed.rsplit_once('/').map(|(folder, _)| folder);
    let names = folder
        .into_iter()
        .flat_map(|folder| folder.split('/'))
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let parent = folder
        .map(|folder| format!("{folder}/"))
        .unwrap_or_default();
    vault
        .names(&names)
        .into_iter()
        .map(|name| format!("{parent}{name}"))
        .collect()
}

fn text_of(content: &Content) -> &str {
    match &content.body {
        larder_provider::Body::Text(text) => text,
        larder_provider::Body::Blob(_) => "",
    }
}
