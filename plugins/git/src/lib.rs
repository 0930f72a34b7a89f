//! Provides local git repositories as `git://…` resources: files and folders of any revision, commits, diffs, logs,
//! branches and tags. Objects are read from the files of the repository, without running `git`.

mod address;
mod changes;
mod git_dir;
mod index;
mod inflate;
mod list;
mod objects;
mod pack;
mod pages;
mod refs;
mod repository;
mod revision;
mod search;
mod settings;
mod tree;

#[cfg(test)]
mod tests;

use std::time::Duration;

use larder_provider::{
    Completion, CompletionRequest, Declaration, Description, EntryPage, Error, Freshness, Hits, Provider,
    Query, Reading, Request, Result, SearchQuery, Template, TemplateMatch, TemplatePage, Variable, paginate,
};
use provider_support::disk::{self, Disk};

use address::{Address, Target};
use repository::Repository;
use settings::Settings;

/// How long the content of an id may be cached, which never changes.
const FIXED_TTL: Duration = Duration::from_secs(24 * 3600);

struct Git {
    repositories: Vec<Repository>,
    settings: Settings,
}

larder_provider::export!(Git: completions, versions, search, settings);

impl Provider for Git {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        Self::open(disk::granted(), Settings::read()?)
    }

    fn describe(&self) -> Description {
        let names: Vec<&str> = self.repositories.iter().map(|repository| repository.name.as_str()).collect();
        let about = Description::new("Git").version(env!("CARGO_PKG_VERSION"));
        if names.is_empty() {
            return about.summary("no repository is granted: add `dirs` to this provider's configuration");
        }
        let about = about
            .summary(format!("the repositories {}", names.join(", ")))
            .instructions(
                "git://REPOSITORY/REVISION/PATH is a file or folder, git://REPOSITORY/REVISION a commit, ?since=REVISION \
                 after a commit a diff, ?log=20 its history. A revision is a branch or tag (with a colon for each \
                 slash), HEAD or an id, also followed by ~1.",
            );
        names.iter().fold(about, |about, name| about.claim(address::repository(name)))
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let entries = list::Merge::new(&self.repositories, query, self.settings.list_files)?;
        Ok(paginate(entries, query).freshness(self.freshness(false)))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        if self.repositories.is_empty() {
            return Ok(TemplatePage::default());
        }
        let template = |uri_template: &str, name: &str, description: &str| {
            Template::new(uri_template, name).description(description)
        };
        let templates = vec![
            template(
                address::FILE,
                "file",
                "a file or folder of a branch, tag or commit; : in a branch means /",
            ),
            template(address::COMMIT, "commit", "a commit: author, message and changed paths")
                .mime("text/plain"),
            template(address::DIFF, "diff", "the changes since another revision, below a path")
                .mime("text/x-diff"),
            template(address::LOG, "log", "this number of commits, the newest first").mime("text/markdown"),
        ];
        Ok(TemplatePage::from(templates).freshness(self.freshness(false)))
    }

    fn match_uri(&self, uri: &str) -> Option<TemplateMatch> {
        let address = Address::parse(uri).ok()?;
        let mut variables = vec![Variable::new("repo", address.repository)];
        let mut add = |name: &str, value: String| variables.push(Variable::new(name, value));
        let uri_template = match address.target {
            // It is in the list, but the catalog has only the beginning of a long list.
            Target::Repository => address::REPOSITORY,
            Target::Commit { revision } => {
                add("rev", address::value(&revision));
                address::COMMIT
            }
            Target::File { revision, path } => {
                add("rev", address::value(&revision));
                add("path", path.join("/"));
                address::FILE
            }
            Target::Diff { revision, since, path } => {
                add("rev", address::value(&revision));
                add("since", address::value(&since));
                add("path", path.join("/"));
                address::DIFF
            }
            Target::Log { revision, count } => {
                add("rev", address::value(&revision));
                add("log", count.to_string());
                address::LOG
            }
        };
        Some(TemplateMatch { uri_template: uri_template.to_owned(), variables })
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let address = Address::parse(&request.uri)?;
        let repository = self.repository(&address.repository)?;
        let found = repository.find(&address.target)?;
        request.unless_known(&found.version)?;
        let content = repository.content(&found)?;
        Ok(Reading::from(content).version(&found.version).freshness(self.freshness(found.is_fixed)))
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let filled = |name: &str| request.filled(name);
        // If there is only one repository, its name need not be filled in.
        let repository = || match (filled("repo"), self.repositories.as_slice()) {
            (None, [only]) => Ok(only),
            (name, _) => self.repository(name.unwrap_or_default()),
        };
        match request.variable.as_str() {
            "repo" => {
                let names = self.repositories.iter().map(|repository| repository.name.clone());
                Ok(Completion::matching(names, &request.prefix))
            }
            "rev" | "since" => repository()?.complete_revision(&request.prefix),
            "path" => {
                let found = repository()?.complete_path(filled("rev").unwrap_or("HEAD"), &request.prefix);
                if found == Err(Error::NotFound) { Ok(Completion::default()) } else { found }
            }
            "log" => Ok(Completion::matching(["20", "100", "500"], &request.prefix)),
            _ => Err(Error::NotFound),
        }
    }

    /// The ids of commits and objects. A branch that moves changes the versions of its commit, and of those files that
    /// differ.
    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        let version = |uri: &String| {
            let address = Address::parse(uri).ok()?;
            Some(self.repository(&address.repository).ok()?.find(&address.target).ok()?.version)
        };
        Ok(uris.iter().map(version).collect())
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        Ok(search::hits(self, query)?.freshness(self.freshness(false)))
    }
}

impl Git {
    fn open(folders: Vec<(String, Disk)>, settings: Settings) -> Result<Self> {
        let open = |(path, disk): (String, Disk)| Repository::open(&path, disk, &settings);
        let mut repositories = folders.into_iter().map(open).collect::<Result<Vec<_>>>()?;
        repositories.sort_by(|a, b| a.name.cmp(&b.name));
        match repositories.windows(2).find(|pair| pair[0].name == pair[1].name) {
            Some(pair) => {
                Err(Error::Failed(format!("two repositories have the name `{}`: set `guest`", pair[0].name)))
            }
            None => Ok(Self { repositories, settings }),
        }
    }

    fn repository(&self, name: &str) -> Result<&Repository> {
        self.repositories.iter().find(|repository| repository.name == name).ok_or(Error::NotFound)
    }

    fn freshness(&self, is_fixed: bool) -> Freshness {
        Freshness::everyone(if is_fixed { FIXED_TTL } else { self.settings.ttl })
    }
}
