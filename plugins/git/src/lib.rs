//! Provides local git repositories as `git://…` resources: files and folders of any revision, commits, diffs, logs,
//! branches and tags. Objects are read from the files of the repository, without running `git`.

mod address;
mod cache;
mod changes;
mod git_dir;
mod index;
mod inflate;
mod list;
mod log;
mod names;
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
    Completion, CompletionRequest, Declaration, Description, EntryPage, Error, Freshness, Hits,
    Provider, Query, Reading, Request, Result, SearchQuery, Template, TemplateMatch, TemplatePage,
    Variable, paginate, warn,
};
use provider_support::disk::{self, Disk};

use address::{Address, Target};
use repository::Repository;
use settings::Settings;

/// How long the content of an id may be cached, which never changes.
const FIXED_TTL: Duration = Duration::from_secs(24 * 3600);

struct Git {
    repositories: Vec<Repository>,
    /// Why other granted folders are not served.
    errors: Vec<String>,
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
        let names: Vec<&str> = self
            .repositories
            .iter()
            .map(|repository| repository.name.as_str())
            .collect();
        let about = Description::new("Git").version(env!("CARGO_PKG_VERSION"));
        if names.is_empty() {
            return about
                .summary("no repository is granted: add `dirs` to this provider's configuration");
        }
        let mut summary = format!("the repositories {}", names.join(", "));
        if !self.errors.is_empty() {
            let errors = self.errors.join("; ");
            warn!("a repository is not served: {errors}");
            summary.push_str(&format!("; not served: {errors}"));
        }
        let about = about
            .summary(summary)
            .instructions(
                "git://REPOSITORY/REVISION/PATH is a file or folder, git://REPOSITORY/REVISION a commit, ?since=REVISION \
                 after a commit a diff, ?log=20 its history. A revision is a branch or tag (with a colon for each \
                 slash), HEAD or an id, also followed by ~1.",
            );
        names
            .iter()
            .fold(about, |about, name| about.claim(address::repository(name)))
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let entries = list::Merge::new(&self.repositories, query, self.settings.list_files);
        Ok(paginate(entries, query).freshness(self.freshness(false)))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let templates: Vec<Template> = self.repositories.iter().flat_map(templates).collect();
        Ok(TemplatePage::from(templates).freshness(self.freshness(false)))
    }

    fn match_uri(&self, uri: &str) -> Option<TemplateMatch> {
        let address = Address::parse(uri).ok()?;
        let mut variables = Vec::new();
        let mut add = |name: &str, value: String| variables.push(Variable::new(name, value));
        let below = match address.target {
            // The repository is in the list, but the catalog has only the beginning of a long list.
            Target::Repository => "",
            Target::Commit { revision } => {
                add("rev", address::value(&revision));
                address::COMMIT
            }
            Target::File { revision, path } => {
                add("rev", address::value(&revision));
                add("path", path.join("/"));
                address::FILE
            }
            Target::Diff {
                revision,
                since,
                path,
            } => {
                add("rev", address::value(&revision));
                add("since", address::value(&since));
                add("path", path.join("/"));
                address::DIFF
            }
            Target::Log { revision, range } => {
                add("rev", address::value(&revision));
                add("log", range.count.to_string());
                add("skip", range.skip.to_string());
                address::LOG
            }
        };
        Some(TemplateMatch {
            uri_template: address::repository(&address.repository) + below,
            variables,
        })
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let address = Address::parse(&request.uri)?;
        let repository = self.repository(&address.repository)?;
        let found = repository.find(&address.target)?;
        request.unless_known(&found.version)?;
        let content = repository.content(&found)?;
        Ok(Reading::from(content)
            .version(&found.version)
            .freshness(self.freshness(found.is_fixed)))
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let address = request
            .uri_template
            .strip_prefix(address::SCHEME)
            .ok_or(Error::NotFound)?;
        let repository = self.repository(address.split('/').next().unwrap_or_default())?;
        match request.variable.as_str() {
            "rev" | "since" => repository.complete_revision(&request.prefix),
            "path" => {
                let revision = request.filled("rev").unwrap_or("HEAD");
                let found = repository.complete_path(revision, &request.prefix);
                if found == Err(Error::NotFound) {
                    Ok(Completion::default())
                } else {
                    found
                }
            }
            "log" => Ok(Completion::matching(["20", "100", "500"], &request.prefix)),
            _ => Err(Error::NotFound),
        }
    }

    /// The ids of commits and objects. If a branch moves, the versions of its commit and of the files that differ
    /// change.
    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        let version = |uri: &String| {
            let address = Address::parse(uri).ok()?;
            Some(
                self.repository(&address.repository)
                    .ok()?
                    .find(&address.target)
                    .ok()?
                    .version,
            )
        };
        Ok(uris.iter().map(version).collect())
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        search::hits(self, query)
    }
}

impl Git {
    /// Opens the granted repositories. One that cannot be served takes away only itself.
    fn open(folders: Vec<(String, Disk)>, settings: Settings) -> Result<Self> {
        let mut repositories = Vec::<Repository>::new();
        let mut errors = Vec::new();
        for (path, disk) in folders {
            match Repository::open(&path, disk, &settings) {
                Ok(repository)
                    if repositories
                        .iter()
                        .any(|other| other.name == repository.name) =>
                {
                    let name = repository.name;
                    errors.push(format!(
                        "two repositories have the name `{name}`: set `guest`"
                    ));
                }
                Ok(repository) => repositories.push(repository),
                Err(error) => errors.push(error.to_string()),
            }
        }
        if repositories.is_empty() && !errors.is_empty() {
            return Err(Error::Failed(errors.join("; ")));
        }
        repositories.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            repositories,
            errors,
            settings,
        })
    }

    fn repository(&self, name: &str) -> Result<&Repository> {
        self.repositories
            .iter()
            .find(|repository| repository.name == name)
            .ok_or(Error::NotFound)
    }

    fn freshness(&self, is_fixed: bool) -> Freshness {
        Freshness::everyone(if is_fixed {
            FIXED_TTL
        } else {
            self.settings.ttl
        })
    }
}

/// The templates of a repository. Each has its own, so that several copies of this provider can be served together.
fn templates(repository: &Repository) -> Vec<Template> {
    let template = |below: &str, what: &str, description: &str| {
        let (uri, name) = (
            address::repository(&repository.name) + below,
            format!("{} {what}", repository.name),
        );
        Template::new(uri, name).description(description)
    };
    let file = "a file or folder of a branch, tag or commit; : in a branch means /";
    let log = "a number of commits, the newest first, after a number that is skipped";
    vec![
        template(address::FILE, "file", file),
        template(
            address::COMMIT,
            "commit",
            "a commit: author, message and changed paths",
        )
        .mime("text/plain"),
        template(
            address::DIFF,
            "diff",
            "the changes since another revision, below a path",
        )
        .mime("text/x-diff"),
        template(address::LOG, "log", log).mime("text/markdown"),
    ]
}
