//! Checks the links between documents: the file and the heading that a link names must exist.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::run::{root, stdout_of};

/// Checks the links of all Markdown files of the repository. Returns the number of links.
pub(crate) fn check() -> Result<usize> {
    let mut count = 0;
    let mut broken = Vec::new();
    for file in documents()? {
        let text = fs::read_to_string(&file)?;
        for link in links(&text) {
            count += 1;
            if let Some(reason) = problem(&file, &text, link)? {
                let file = file.strip_prefix(root()).unwrap_or(&file);
                broken.push(format!("{}: {link}: {reason}", file.display()));
            }
        }
    }
    ensure!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
    Ok(count)
}

/// All Markdown files of the repository.
pub(super) fn documents() -> Result<Vec<PathBuf>> {
    let list = stdout_of(crate::run::command("git").args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "*.md",
    ]))?;
    let files = list.lines().map(|file| root().join(file));
    Ok(files.filter(|file| file.exists()).collect())
}

/// The targets of links within the repository.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        let targets = outside_of_code(line).flat_map(|part| part.split("](").skip(1));
        found.extend(
            targets
                .filter_map(|rest| rest.split_once(')'))
                .map(|(target, _)| target),
        );
    }
    found.retain(|target| !target.contains("://") && !target.starts_with("mailto:"));
    found
}

/// The parts of a line that are not between backticks.
fn outside_of_code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').step_by(2)
}

/// Why a link is broken.
fn problem(file: &Path, text: &str, link: &str) -> Result<Option<String>> {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = file.parent().unwrap_or(file).join(path);
    if !path.is_empty() && !target.exists() {
        return Ok(Some("there is no such file".to_owned()));
    }
    let is_document = path.is_empty() || path.ends_with(".md");
    if heading.is_empty() || !is_document {
        return Ok(None);
    }
    let has_heading = match path {
        "" => has_heading(text, heading),
        _ => has_heading(&fs::read_to_string(&target)?, heading),
    };
    Ok((!has_heading).then(|| format!("there is no heading for #{heading}")))
}

/// Whether a document has a heading with this anchor.
fn has_heading(text: &str, anchor: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor_of(line.trim_start_matches('#').trim()))
        .any(|heading| heading == anchor)
}

/// The anchor that GitHub and mdBook give a heading.
fn anchor_of(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_links_within_the_repository() {
        let text = "[a](b.md#c) `[x](y)` [web](https://example.com)\n```\n[no](no.md)\n```\n![i](i.png) [d](#e)\n";
        assert_eq!(links(text), ["b.md#c", "i.png", "#e"]);
    }

    #[test]
    fn reports_missing_files_and_headings() {
        let check =
            |link| problem(&root().join("README.md"), "# One `two` (three)\n", link).unwrap();
        assert_eq!(check("ARCHITECTURE.md"), None);
        assert_eq!(check("#one-two-three"), None);
        assert_eq!(
            check("#other").as_deref(),
            Some("there is no heading for #other")
        );
        assert_eq!(check("none.md").as_deref(), Some("there is no such file"));
    }
}
