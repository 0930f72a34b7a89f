//! The pages of `docs/internals` name only what exists: paths, keys of the configuration, and types, functions and
//! constants of the source. A default or the value of a constant in a table is the one of the configuration reference
//! or of the source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::sources;

/// The page that lists the steps of `cargo xtask test`.
const STEPS_PAGE: &str = "maintaining.md";

/// What the pages can name.
struct Names {
    root: PathBuf,
    /// The files and folders in the root of the repository, without the folder of what is built.
    top: BTreeSet<String>,
    source: SourceNames,
    configuration: ConfigurationKeys,
}

/// The words of the source.
#[derive(Default)]
struct SourceNames {
    words: BTreeSet<String>,
    functions: BTreeSet<String>,
    /// Constants and their values. Several constants can have the same name.
    constants: BTreeSet<(String, String)>,
}

/// The keys of the configuration reference, with the names of their sections.
#[derive(Default)]
struct ConfigurationKeys {
    sections: BTreeSet<String>,
    all: BTreeSet<String>,
    defaults: BTreeMap<String, String>,
}

/// What was compared, and what is wrong.
#[derive(Default)]
struct Findings {
    names: usize,
    values: usize,
    problems: Vec<String>,
}

/// What the pages name that does not exist, and the values that are wrong.
pub(crate) fn problems(root: &Path) -> Vec<String> {
    let names = Names::of(root);
    let steps = std::fs::read_to_string(root.join("xtask/src/steps.rs")).unwrap();
    let mut findings = Findings::default();
    for (page, text) in pages(root) {
        for line in text.lines() {
            if line.matches('`').count() % 2 == 1 {
                let problem = format!("{page}: code must begin and end on one line: {line}");
                findings.problems.push(problem);
            }
            for span in code_spans(line) {
                names.check_span(&page, span, &mut findings);
            }
            names.check_row(&page, line, &mut findings);
        }
        if page == STEPS_PAGE {
            check_steps(&text, &steps, &mut findings);
        }
    }
    assert!(
        findings.names > 200 && findings.values > 40,
        "the names were not found: {} names, {} values",
        findings.names,
        findings.values
    );
    findings.problems
}

/// The pages by name, without their pictures.
fn pages(root: &Path) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for item in std::fs::read_dir(root.join("docs/internals")).unwrap() {
        let path = item.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".md") {
            let text = std::fs::read_to_string(&path).unwrap();
            pages.insert(name, outside_of_fences(&text));
        }
    }
    pages
}

fn outside_of_fences(text: &str) -> String {
    text.split("\n```")
        .step_by(2)
        .collect::<Vec<_>>()
        .join("\n")
}

fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Each step in the table under `## Tests` is the beginning of the name of a step.
fn check_steps(page: &str, steps: &str, findings: &mut Findings) {
    let (_, tests) = page.split_once("\n## Tests\n").unwrap();
    for row in tests.lines().filter(|line| line.starts_with("| `")) {
        let first_cell = row.split(" | ").next().unwrap();
        for step in code_spans(first_cell) {
            findings.names += 1;
            if !steps.contains(&format!(" \"{step}")) {
                let problem = format!("{STEPS_PAGE}: there is no step `{step}`");
                findings.problems.push(problem);
            }
        }
    }
}

impl Names {
    fn of(root: &Path) -> Self {
        let items = std::fs::read_dir(root).unwrap();
        let top = items
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "target");
        let reference = std::fs::read_to_string(root.join("examples/larder.toml")).unwrap();
        Self {
            root: root.to_owned(),
            top: top.collect(),
            source: SourceNames::of(root),
            configuration: ConfigurationKeys::of(&reference),
        }
    }

    fn check_span(&self, page: &str, span: &str, findings: &mut Findings) {
        let problem = if self.is_path(span) {
            (!self.root.join(span).exists()).then_some("does not exist")
        } else if self.configuration.is_key(span) {
            (!self.configuration.all.contains(span)).then_some("is not in examples/larder.toml")
        } else if let Some(name) = source_name(span) {
            (!self.source.has(name)).then_some("is not in the source")
        } else {
            return;
        };
        findings.names += 1;
        if let Some(problem) = problem {
            findings
                .problems
                .push(format!("{page}: `{span}` {problem}"));
        }
    }

    /// Checks a row of a table with a key or a constant, and its value.
    fn check_row(&self, page: &str, line: &str, findings: &mut Findings) {
        let mut cells = line.split(" | ");
        let (Some(first), Some(second)) = (cells.next(), cells.next()) else {
            return;
        };
        let (Some(name), Some(value)) = (only_span(first, "| `"), only_span(second, "`")) else {
            return;
        };
        let is_right = if self.configuration.is_key(name) {
            self.configuration.defaults.get(name).map(String::as_str) == Some(value)
        } else {
            let constant = (name.to_owned(), value.to_owned());
            self.source.constants.contains(&constant)
        };
        findings.values += 1;
        if !is_right {
            let problem = format!("{page}: `{name}` does not have the value `{value}`");
            findings.problems.push(problem);
        }
    }

    /// Whether a text is a path in the repository, which exists or not.
    fn is_path(&self, span: &str) -> bool {
        let first = span.split('/').next().unwrap();
        !span.contains(' ')
            && self.top.contains(first)
            && (span.contains('/') || span.contains('.'))
    }
}

/// The code in a cell that contains nothing else.
fn only_span<'a>(cell: &'a str, begin: &str) -> Option<&'a str> {
    let span = cell.strip_prefix(begin)?.strip_suffix('`')?;
    (!span.contains('`')).then_some(span)
}

/// The name of a type, function, constant or metric in a code span. Other words are not checked.
fn source_name(span: &str) -> Option<&str> {
    let name = span.split('{').next().unwrap();
    let name = name.trim_end_matches("()").trim_end_matches('!');
    let is_name = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let is_specific =
        name.contains("::") || name.contains('_') || name.starts_with(|c: char| c.is_uppercase());
    (is_specific && name.split("::").all(is_name)).then_some(name)
}

impl SourceNames {
    fn of(root: &Path) -> Self {
        let mut names = Self::default();
        let folders = super::crates()
            .into_values()
            .map(|folder| folder.join("src"))
            .chain([root.join("xtask/src"), root.join("host/tests/integration")]);
        for path in folders.flat_map(|folder| sources(&folder)) {
            names.add(&std::fs::read_to_string(path).unwrap());
        }
        names
    }

    fn add(&mut self, text: &str) {
        let mut previous = "";
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if previous == "fn" {
                self.functions.insert(word.to_owned());
            }
            if !word.is_empty() {
                self.words.insert(word.to_owned());
            }
            previous = word;
        }
        for line in text.lines() {
            if let Some(constant) = constant(line) {
                self.constants.insert(constant);
            }
        }
    }

    /// Whether the source has all parts of a name. The last part of `Type::function` must be a function.
    fn has(&self, name: &str) -> bool {
        let last = name.rsplit("::").next().unwrap();
        let is_function = name.contains("::") && last.starts_with(|c: char| c.is_lowercase());
        if is_function && !self.functions.contains(last) {
            return false;
        }
        // The name of a counter gets this end when it is exported.
        let name = name.strip_suffix("_total").unwrap_or(name);
        name.split("::").all(|part| self.words.contains(part))
    }
}

/// The constant that a line defines, and its value.
fn constant(line: &str) -> Option<(String, String)> {
    let (_, definition) = line.split_once("const ")?;
    let (name, rest) = definition.split_once(": ")?;
    let (_, value) = rest.split_once(" = ")?;
    Some((name.to_owned(), value.strip_suffix(';')?.to_owned()))
}

impl ConfigurationKeys {
    /// Reads the reference as lines, because it shows many keys in comments.
    fn of(reference: &str) -> Self {
        let mut keys = Self::default();
        let mut section = "";
        let mut is_section_commented = false;
        for line in reference.lines() {
            let code = line.trim_start_matches(['#', ' ']);
            let is_commented = code.len() < line.len();
            if code.starts_with('[') && code.ends_with(']') {
                section = code.trim_matches(['[', ']']);
                is_section_commented = is_commented;
                keys.sections
                    .insert(section.split('.').next().unwrap().to_owned());
                continue;
            }
            let Some((key, value)) = code.split_once(" = ") else {
                continue;
            };
            if !key.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                continue;
            }
            let name = format!("{}.{key}", shown_section(section));
            // A key in a comment, in a section that is not one, does not have its default.
            if !is_commented || is_section_commented {
                let value = value.trim_matches('"').to_owned();
                keys.defaults.entry(name.clone()).or_insert(value);
            }
            keys.all.insert(name);
        }
        keys.sections.insert("quota".to_owned());
        keys
    }

    fn is_key(&self, span: &str) -> bool {
        let is_part = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        };
        let first = span.split('.').next().unwrap();
        span.contains('.') && span.split('.').all(is_part) && self.sections.contains(first)
    }
}

/// The name of a section in documents. The quota is a part of each team.
fn shown_section(section: &str) -> &str {
    if section == "team.wiki.quota" {
        "quota"
    } else {
        section
    }
}
