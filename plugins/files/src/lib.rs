//! Provides all granted folders as `file:///…` resources. URIs that lead out of a folder are rejected here;
//! the sandbox additionally rejects every path that does.

mod disk;
mod folder;
mod mime;
mod settings;
mod uri;
mod walk;

#[cfg(test)]
mod tests;

use larder_provider::{
    Completion, CompletionRequest, Declaration, Description, EntryPage, Error, Freshness, Provider, Query,
    Reading, Request, Result, Template, TemplateMatch, TemplatePage, Variable, paginate,
};

use folder::Folder;
use settings::Settings;
use walk::{Range, Walk};

struct Files {
    folders: Vec<Folder>,
    settings: Settings,
}

larder_provider::export!(Files: completions, versions, settings);

impl Provider for Files {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        Ok(Self::with_folders(folder::granted(), Settings::read()?))
    }

    fn describe(&self) -> Description {
        let prefixes: Vec<&str> = self.folders.iter().map(|folder| folder.prefix.as_str()).collect();
        let about = Description::new("Files").version(env!("CARGO_PKG_VERSION"));
        if prefixes.is_empty() {
            return about.summary("no folder is granted: add `dirs` to this provider's configuration");
        }
        let listed = prefixes.join(", ");
        let about = about
            .summary(format!("the files below {listed}"))
            .instructions(format!("Files can be read by URI below {listed}; a folder's own URI lists it."));
        prefixes.iter().fold(about, |about, prefix| about.claim(*prefix))
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let range = Range { after: query.cursor.clone(), prefix: query.uri_prefix.clone() };
        let entries = Walk::new(&self.folders, &self.settings, range);
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
        let (folder, names) = self.locate(uri).ok()?;
        let variables = vec![Variable::new("path", names.join("/"))];
        Some(TemplateMatch { uri_template: folder.template(), variables })
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let (folder, names) = self.locate(&request.uri)?;
        let stat = folder.stat(&names, &self.settings)?;
        let version = stat.version();
        request.unless_known(&version)?;
        let content = folder.content(&names, &stat, &self.settings)?;
        Ok(Reading::from(content).version(version).freshness(self.freshness()))
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let mut folders = self.folders.iter();
        let folder =
            folders.find(|folder| folder.template() == request.uri_template).ok_or(Error::NotFound)?;
        if request.variable != "path" {
            return Err(Error::NotFound);
        }
        Ok(folder.complete(&request.prefix, &self.settings))
    }

    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        let version = |uri: &String| {
            let (folder, names) = self.locate(uri).ok()?;
            Some(folder.stat(&names, &self.settings).ok()?.version())
        };
        Ok(uris.iter().map(version).collect())
    }
}

impl Files {
    /// Sorts the folders by URI and removes duplicates.
    fn with_folders(mut folders: Vec<Folder>, settings: Settings) -> Self {
        folders.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        folders.dedup_by(|a, b| a.prefix == b.prefix);
        Self { folders, settings }
    }

    /// The folder of a URI and the path in it. If granted folders are nested, this is the innermost one.
    fn locate(&self, uri: &str) -> Result<(&Folder, Vec<String>)> {
        let inside = |folder: &&Folder| folder.contains(uri);
        let innermost = self.folders.iter().filter(inside).max_by_key(|folder| folder.prefix.len());
        let folder = innermost.ok_or(Error::NotFound)?;
        let below = uri.get(folder.prefix.len()..).unwrap_or_default();
        Ok((folder, uri::names(below)?))
    }

    fn freshness(&self) -> Freshness {
        Freshness::everyone(self.settings.ttl)
    }
}
