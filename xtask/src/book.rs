//! Checks of the book in `docs/`: it has every page, no link is broken, its commands run, its configurations are
//! valid, and it names no package of others.

mod links;
mod package_names;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::run::{Output, command, larder, root, target};
use crate::step::Outcome;
use crate::tools;

/// The version that is installed if the machine has none.
const PINNED: &str = "0.5.4";

/// How long one code block may take, for `timeout`.
const BLOCK_LIMIT: &str = "120";

/// Checks that the book has every page, and the links and names of packages in all documents.
pub(crate) fn check(_: &Output) -> Result<Outcome> {
    check_summary()?;
    check_package_names()?;
    let count = links::check()?;
    Ok(Outcome::PassedWithNote(format!("{count} links")))
}

fn check_package_names() -> Result<()> {
    for file in links::documents()? {
        let text = fs::read_to_string(&file)?;
        let foreign = package_names::foreign_packages(&text);
        ensure!(
            foreign.is_empty(),
            "{} installs {foreign:?}, which does not belong to this project: name larder-mcp",
            file.display()
        );
    }
    Ok(())
}

/// Builds the book with mdBook.
pub(crate) fn build(output: &Output) -> Result<Outcome> {
    let program = tools::installed(
        output,
        "mdbook",
        PINNED,
        &["--no-default-features", "--features", "search"],
    )?;
    output.run(command(program).arg("build").arg(root().join("docs")))?;
    let log = output.contents();
    ensure!(
        !log.contains("WARN") && !log.contains("ERROR"),
        "mdbook reported a problem"
    );
    Ok(Outcome::Passed)
}

/// Checks that all pages are in the table of contents.
fn check_summary() -> Result<()> {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md"))?;
    let mut pages = Vec::new();
    for folder in ["src", "adr", "internals"] {
        collect_pages(&docs.join(folder), &mut pages)?;
    }
    for page in pages {
        let page = page.strip_prefix(&docs)?.display().to_string();
        ensure!(
            summary.contains(&format!("]({page})")),
            "docs/SUMMARY.md has no link to {page}"
        );
    }
    Ok(())
}

/// Runs the `sh,run` blocks of each page in an empty folder, and checks the `toml,larder` blocks with `larder
/// check`.
pub(crate) fn run_examples(output: &Output) -> Result<Outcome> {
    let mut pages = Vec::new();
    collect_pages(&root().join("docs"), &mut pages)?;
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(&page)?;
        let blocks: Vec<Block<'_>> = blocks(&text)
            .into_iter()
            .filter(|block| block.kind().is_some())
            .collect();
        if blocks.is_empty() {
            continue;
        }
        let name = page
            .strip_prefix(root())?
            .with_extension("")
            .display()
            .to_string()
            .replace('/', "-");
        let folder = target("book-examples").join(name);
        recreate(&folder)?;
        for block in &blocks {
            let at = || {
                format!(
                    "{}:{}",
                    page.strip_prefix(root()).unwrap_or(&page).display(),
                    block.line
                )
            };
            block.run(&folder, output).with_context(at)?;
        }
        count += blocks.len();
    }
    ensure!(count > 0, "no page has an example that can be run");
    Ok(Outcome::PassedWithNote(format!("{count} examples")))
}

/// The page whose `sh,registry` blocks need a registry.
const REGISTRY_PAGE: &str = "docs/src/publishing.md";
/// The address of the registry on that page.
const REGISTRY: &str = "registry.example.com";

/// Runs all blocks of the page about registries in one folder. The address of the page is replaced by this registry.
pub(crate) fn run_registry_examples(output: &Output, address: &str) -> Result<usize> {
    let page = fs::read_to_string(root().join(REGISTRY_PAGE))?;
    let folder = target("book-examples/publishing");
    recreate(&folder)?;
    let blocks = blocks(&page);
    let blocks = blocks
        .into_iter()
        .filter(|block| block.kind().is_some() || block.info == "sh,registry");
    let mut count = 0;
    for block in blocks {
        let plain = format!("[registries.permitted.\"{REGISTRY}\"]\nplain_http = true");
        let text = block
            .text
            .replace(&format!("[registries.permitted.\"{REGISTRY}\"]"), &plain);
        let info = if block.info == "sh,registry" {
            "sh,run"
        } else {
            block.info
        };
        let block = Block {
            info,
            text: text.replace(REGISTRY, address),
            line: block.line,
        };
        block
            .run(&folder, output)
            .with_context(|| format!("{REGISTRY_PAGE}:{}", block.line))?;
        count += 1;
    }
    ensure!(count > 3, "{REGISTRY_PAGE} has no examples");
    Ok(count)
}

fn collect_pages(folder: &Path, pages: &mut Vec<PathBuf>) -> Result<()> {
    for item in fs::read_dir(folder)? {
        let path = item?.path();
        if path.is_dir() {
            collect_pages(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(())
}

fn recreate(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// A fenced code block.
#[derive(Debug, PartialEq, Eq)]
struct Block<'a> {
    info: &'a str,
    text: String,
    line: usize,
}

enum Kind {
    Commands,
    Configuration,
}

impl Block<'_> {
    fn kind(&self) -> Option<Kind> {
        match self.info {
            "sh,run" => Some(Kind::Commands),
            "toml,larder" => Some(Kind::Configuration),
            _ => None,
        }
    }

    fn run(&self, folder: &Path, output: &Output) -> Result<()> {
        let mut child = match self.kind() {
            Some(Kind::Commands) => {
                let mut child = command("timeout");
                child.args([
                    "-k",
                    "5",
                    BLOCK_LIMIT,
                    "bash",
                    "-euo",
                    "pipefail",
                    "-c",
                    &self.text,
                ]);
                child
            }
            Some(Kind::Configuration) => {
                fs::write(folder.join("larder.toml"), &self.text)?;
                let mut child = command(larder());
                child.args(["check", "--config", "larder.toml"]);
                child
            }
            None => return Ok(()),
        };
        let programs = larder().parent().map(Path::to_owned).unwrap_or_default();
        let path = format!("{}:{}", programs.display(), search_path());
        output.run(
            child
                .current_dir(folder)
                .env("PATH", path)
                .env("PLUGINS", target("plugins")),
        )
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the ban is about the product's configuration"
)]
fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// The fenced code blocks of a page.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(info), None) => {
                open = Some(Block {
                    info: info.trim(),
                    text: String::new(),
                    line: number + 1,
                })
            }
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_blocks_with_their_info_and_line() {
        let page = "# A\n\n```sh,run\nls\necho\n```\ntext\n```\nplain\n```\n";
        let expected = [
            Block {
                info: "sh,run",
                text: "ls\necho\n".into(),
                line: 3,
            },
            Block {
                info: "",
                text: "plain\n".into(),
                line: 8,
            },
        ];
        assert_eq!(blocks(page), expected);
    }
}
