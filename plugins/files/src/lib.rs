//! Provides all granted folders as `file:///…` resources. URIs that lead out of a folder are rejected here; the sandbox
//! additionally rejects every path that leads out of a folder.

mod directory;
mod folder;
mod names;
mod patterns;
mod scope;
mod search;
mod settings;
mod walk;

#[cfg(test)]
mod tests;

use larder_provider::{
    Completion, CompletionRequest, Content, Declaration, Description, DirectoryQuery, EntryPage,
    Error, Freshness, Hits, Provider, Query, Reading, Request, Result, SearchQuery, Template,
    TemplateMatch, TemplatePage, Variable, paginate,
};

use folder::Folder;
use provider_support::{digest, uri};
use settings::Settings;
use walk::Walk;

struct Files {
    folders: Vec<Folder>,
    settings: Settings,
}

larder_provider::export!(Files: completions, directories, versions, search, settings);

impl Provider for Files {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        Ok(Self::with_folders(folder::granted(), Settings::read()?))
    }

    fn describe(&self) -> Description {
        let prefixes: Vec<&str> = self
            .folders
            .iter()
            .map(|folder| folder.prefix.as_str())
            .collect();
        let about = Description::new("Files").version(env!("CARGO_PKG_VERSION"));
        if prefixes.is_empty() {
            return about
                .summary("no folder is granted: add `dirs` to this provider's configuration");
        }
        let listed = prefixes.join(", ");
        let about = about
            .summary(format!("the files below {listed}"))
            .instructions(format!(
                "Files can be read by URI below {listed}; a folder's own URI lists it."
            ));
        prefixes
            .iter()
            .fold(about, |about, prefix| about.claim(*prefix))
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let entries = Walk::new(&self.folders, &self.settings, query);
        Ok(paginate(entries, query).freshness(self.freshness()))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let template = |folder: &Folder| {
            Template::new(folder.template(), folder.name()).description(format!(
                "a file below {}, or a folder, which lists what is in it",
                folder.prefix
            ))
        };
        let templates: Vec<Template> = self.folders.iter().map(template).collect();
        Ok(TemplatePage::from(templates).freshness(self.freshness()))
    }

    fn match_uri(&self, uri: &str) -> Option<TemplateMatch> {
        let Place { folder, names, .. } = self.locate(uri).ok()?;
        let variables = vec![Variable::new("path", names.join("/"))];
        Some(TemplateMatch {
            uri_template: folder.template(),
            variables,
        })
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let place = self.locate(&request.uri)?;
        let stat = place.folder.stat(&place.names, &self.settings)?;
        let (content, version) = if stat.is_file {
            place.check_file()?;
            let version = stat.version();
            request.unless_known(&version)?;
            (
                place.folder.content(&place.names, &stat, &self.settings)?,
                version,
            )
        } else {
            let listing = self.listing(&place)?;
            let version = digest(&listing);
            request.unless_known(&version)?;
            (Content::text(listing).mime("inode/directory"), version)
        };
        Ok(Reading::from(content)
            .version(version)
            .freshness(self.freshness()))
    }

    fn list_directory(&self, query: &DirectoryQuery) -> Result<EntryPage> {
        let uri = query.uri.strip_suffix('/').unwrap_or(&query.uri);
        let place = self.locate(uri)?;
        place.check_file()?;
        if place.folder.stat(&place.names, &self.settings)?.is_file {
            return Err(Error::NotFound);
        }
        let page = directory::page(place.folder, &place.names, query, &self.settings)?;
        Ok(page.freshness(self.freshness()))
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let mut folders = self.folders.iter();
        let folder = folders
            .find(|folder| folder.template() == request.uri_template)
            .ok_or(Error::NotFound)?;
        if request.variable != "path" {
            return Err(Error::NotFound);
        }
        Ok(folder.complete(&request.prefix, &self.settings))
    }

    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        Ok(uris.iter().map(|uri| self.version(uri).ok()).collect())
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        search::hits(self, query)
    }
}

impl Files {
    /// Sorts the folders by URI and removes duplicates.
    fn with_folders(mut folders: Vec<Folder>, settings: Settings) -> Self {
        folders.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        folders.dedup_by(|a, b| a.prefix == b.prefix);
        Self { folders, settings }
    }

    /// The place that a URI names. If granted folders are nested, its folder is the innermost one.
    fn locate<'a>(&'a self, uri: &'a str) -> Result<Place<'a>> {
        let (path, query) = uri
            .split_once('?')
            .map_or((uri, None), |(path, query)| (path, Some(query)));
        let inside = |folder: &&Folder| folder.contains(path);
        let innermost = self
            .folders
            .iter()
            .filter(inside)
            .max_by_key(|folder| folder.prefix.len());
        let folder = innermost.ok_or(Error::NotFound)?;
        let below = path.get(folder.prefix.len()..).unwrap_or_default();
        Ok(Place {
            folder,
            names: uri::names(below)?,
            query,
        })
    }

    fn listing(&self, place: &Place<'_>) -> Result<String> {
        let after = match place.query {
            None => None,
            Some(query) => Some(query.strip_prefix("after=").ok_or(Error::NotFound)?),
        };
        place.folder.listing(&place.names, after, &self.settings)
    }

    /// The metadata of a file contains its version. The version of a folder is computed from its listing, which depends
    /// on more than the time of the folder.
    fn version(&self, uri: &str) -> Result<String> {
        let place = self.locate(uri)?;
        let stat = place.folder.stat(&place.names, &self.settings)?;
        if stat.is_file {
            return place.check_file().map(|()| stat.version());
        }
        self.listing(&place).map(|listing| digest(&listing))
    }

    fn freshness(&self) -> Freshness {
        Freshness::everyone(self.settings.ttl)
    }
}

/// What a URI identifies: a file, or a folder with an optional position in the folder.
struct Place<'a> {
    folder: &'a Folder,
    names: Vec<String>,
    query: Option<&'a str>,
}

impl Place<'_> {
    /// A file has no query.
    fn check_file(&self) -> Result<()> {
        if self.query.is_none() {
            Ok(())
        } else {
            Err(Error::NotFound)
        }
    }
}
