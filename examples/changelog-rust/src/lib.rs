//! Provides the releases of a changelog (keepachangelog.com) as resources. The same provider exists in seven languages.

mod announcement;
mod changelog;
mod comparison;
mod draft;
#[cfg(test)]
mod tests;

use changelog::{Release, releases};
use larder_provider::{
    Argument, Completion, CompletionRequest, Content, Declaration, Description, Details, Entry,
    EntryPage, Error, Hit, Hits, Prompt, Prompts, Provider, Query, Reading, Request, Result,
    SearchQuery, Setting, Template, TemplatePage, Tool, Tools, info, paginate,
};

/// The guest path of the granted folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
const FOLDER: &str = "/changelog";
/// Used if no folder is granted.
const SAMPLE: &str = include_str!("sample.md");
const RELEASES: &str = "changelog://releases/";
const RELEASE: &str = "changelog://releases/{version}";
const AS_JSON: &str = "changelog://releases/{version}/json";

/// A setting of the operator.
const FILE: Setting<String> = Setting::text(
    "file",
    "Name of the file in the folder that is granted as `/changelog`.",
)
.default("CHANGELOG.md");

struct Changelog;

larder_provider::export!(Changelog: completions, versions, tools, prompts, search, settings);

impl Provider for Changelog {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    // Describes the provider for people and for the model.
    fn describe(&self) -> Description {
        Description::new("Changelog")
            .version("0.1.0")
            .summary("the releases of a changelog")
            .instructions("Read a release before you say what it changed.")
    }

    // Lists the releases, sorted by URI. With a version, the host detects changes without a read.
    fn list(&self, query: &Query) -> Result<EntryPage> {
        let mut releases = releases(&load()?);
        releases.sort_by(|a, b| a.version.cmp(&b.version));
        Ok(paginate(releases.iter().map(entry), query))
    }

    // Lists the templates. The host matches URIs with them and passes on the variables.
    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let text = Template::new(RELEASE, "release")
            .title("A release")
            .mime("text/markdown");
        let json = Template::new(AS_JSON, "release-json")
            .title("A release as JSON")
            .mime("application/json");
        Ok(vec![text, json].into())
    }

    // Reads a release. After a "not found" error, the host tries other providers.
    fn read(&self, request: &Request) -> Result<Reading> {
        let version = request.var("version")?;
        let releases = releases(&load()?);
        let release = releases
            .iter()
            .find(|release| release.version == version)
            .ok_or(Error::NotFound)?;
        request.unless_known(&release.digest())?;
        let content = match request.template() {
            Some(AS_JSON) => Content::text(release.json().to_string()).mime("application/json"),
            _ => Content::text(&release.text).mime("text/markdown"),
        };
        Ok(Reading::from(content).version(release.digest()))
    }

    // Suggests values for the variables of the templates.
    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        if request.variable != "version" {
            return Err(Error::NotFound);
        }
        let versions = releases(&load()?)
            .into_iter()
            .map(|release| release.version);
        Ok(Completion::matching(versions, &request.prefix))
    }

    // Returns the current versions of resources with subscribers. Optional, but cheaper than reading them.
    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        let releases = releases(&load()?);
        let digest = |uri: &String| {
            let version = uri.strip_prefix(RELEASES)?;
            let version = version.strip_suffix("/json").unwrap_or(version);
            releases
                .iter()
                .find(|release| release.version == version)
                .map(Release::digest)
        };
        Ok(uris.iter().map(digest).collect())
    }

    // Declares the settings, so that the host can check its configuration.
    fn settings() -> Vec<Declaration> {
        vec![FILE.declaration()]
    }

    // Searches in the releases. The host merges the results of all providers.
    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        let releases = releases(&load()?);
        let found = releases.iter().filter_map(|release| {
            let line = release.line_with(&query.text)?;
            Some(Hit::new(entry(release)).excerpt(line))
        });
        Ok(query.take(found))
    }

    // Offers functions to the model. The types of arguments and results become JSON Schemas.
    fn tools(&self) -> Result<Tools<Self>> {
        let compare = Tool::new("compare_releases", Self::compare)
            .title("Compare releases")
            .description("Lists what changed after one release, up to and including another.");
        let draft = Tool::new("draft_release", Self::draft)
            .title("Draft a release")
            .description(
                "Turns the unreleased changes into a release, after asking for its version.",
            );
        // Both only read this changelog.
        let hints = |tool: Tool<Self>| tool.read_only(true).idempotent(true).open_world(false);
        Ok(Tools::new().tool(hints(compare)).tool(hints(draft)))
    }

    // Offers prompts to the user.
    fn prompts(&self) -> Result<Prompts<Self>> {
        let version = Argument::new("version")
            .description("The version to announce.")
            .required();
        let tone = Argument::new("tone").description("Such as friendly or formal.");
        let announce = Prompt::new("announce_release", Self::announce)
            .title("Announce a release")
            .description("Writes an announcement of a release.")
            .argument(version.complete(Self::complete_version))
            .argument(tone.values(["friendly", "formal"]));
        Ok(Prompts::new().prompt(announce))
    }
}

fn entry(release: &Release) -> Entry {
    let mut details = Details::kind("release");
    details.last_modified = release
        .date
        .as_ref()
        .map(|date| format!("{date}T00:00:00Z"));
    Entry::new(format!("{RELEASES}{}", release.version), &release.version)
        .title(format!("Release {}", release.version))
        .mime("text/markdown")
        .size(release.text.len() as u64)
        .version(release.digest())
        .details(details)
}

/// Loads the file in the granted folder, or the sample if no folder is granted. Other problems are returned as errors.
fn load() -> Result<String> {
    let path = format!("{FOLDER}/{}", FILE.get()?);
    if !std::fs::exists(FOLDER).unwrap_or(false) {
        info!("{FOLDER} is not granted: showing the sample");
        return Ok(SAMPLE.to_owned());
    }
    let bytes = std::fs::read(&path)
        .map_err(|error| Error::failed(format!("cannot read {path}: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Error::failed(format!("{path} is not UTF-8")))
}
