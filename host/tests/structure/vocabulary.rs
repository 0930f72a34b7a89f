//! Rejects names and phrases that this project used before and that readers did not understand. Each has a usual term.

use std::path::Path;

/// Old words, as whole words in any letter case, and the terms that replace them.
const WORDS: &[(&str, &str)] = &[
    ("boarding", "singleflight"),
    ("errand", "job"),
    ("errands", "blocking_jobs"),
    ("habits", "shareability"),
    ("herald", "Notifier"),
    ("house", "server, process"),
    ("lookout", "change_detector"),
    ("patience", "idle_timeout"),
    ("ration", "QuotaUsage"),
    ("sieve", "CompiledFilter"),
    ("strand", "RequestStream"),
];

/// Old names with exactly this text.
const NAMES: &[(&str, &str)] = &[
    ("Boarding", "SingleFlight"),
    ("Flights", "SingleFlight"),
    ("Keeping", "CriticalTasks"),
    ("Lanes", "TeamQueues"),
    ("Leash", "DrainGuard"),
    ("Manner", "CacheMode"),
    ("Patient", "TimeoutStream"),
    ("Probed", "ProbeResult"),
    ("Remains", "ReplayBudget"),
    ("Seat", "StreamPermit"),
    ("Shelf", "IdlePool"),
    ("Trail", "AuditContext"),
    ("believed", "auth_reload"),
];

/// Phrases that a reader has to translate.
const PHRASES: &[(&str, &str)] = &[
    ("held back", "pending approval"),
    ("kept answer", "cached response"),
    ("set aside", "circuit open"),
    ("used guest", "reused guest"),
    ("who asks", "the caller"),
];

/// Where the rules hold, relative to the repository.
const FOLDERS: &[&str] = &[
    "bench/src",
    "docs",
    "examples",
    "host",
    "plugins",
    "sdk",
    "wit",
    "xtask/src",
    "xtask/trials",
];
const FILES: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
];
const EXTENSIONS: &[&str] = &[
    "c", "go", "h", "js", "md", "py", "rs", "toml", "ts", "wit", "yaml",
];
/// Built or copied from elsewhere, or a list of the old words.
const SKIPPED: &[&str] = &[
    "target",
    "node_modules",
    "vendor",
    "fixtures",
    "bindings",
    "vocabulary.rs",
    "glossary.md",
];

/// Every place where an old name stands, as `path:line: word -> term`.
pub(crate) fn old_names(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        walk(root, &root.join(folder), &mut found);
    }
    for file in FILES {
        search(root, &root.join(file), &mut found);
    }
    found
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    let Ok(items) = std::fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<_> = items.map(|item| item.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap_or_default();
        if SKIPPED.contains(&name) || name.starts_with('.') {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            walk(root, &path, found);
        } else if path
            .extension()
            .is_some_and(|end| EXTENSIONS.iter().any(|known| end == *known))
        {
            search(root, &path, found);
        }
    }
}

fn search(root: &Path, path: &Path, found: &mut Vec<String>) {
    let Ok(text) = std::fs::read_to_string(path) else {
        return;
    };
    for (number, line) in text.lines().enumerate() {
        let hits = in_line(line).into_iter();
        let at = path.strip_prefix(root).unwrap().display();
        found.extend(hits.map(|(old, term)| format!("{at}:{}: {old} -> {term}", number + 1)));
    }
}

fn in_line(line: &str) -> Vec<(&'static str, &'static str)> {
    let lower = line.to_lowercase();
    let word_of = |text: &str, word: &str| {
        text.match_indices(word).any(|(at, _)| {
            let is_edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric());
            is_edge(text[..at].chars().next_back())
                && is_edge(text[at + word.len()..].chars().next())
        })
    };
    let words = WORDS
        .iter()
        .chain(PHRASES)
        .filter(|(word, _)| word_of(&lower, word));
    words
        .chain(NAMES.iter().filter(|(name, _)| word_of(line, name)))
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::in_line;

    #[test]
    fn finds_whole_words_in_any_case_and_exact_names() {
        assert_eq!(
            in_line("/// The House of it"),
            [("house", "server, process")]
        );
        assert_eq!(
            in_line("fn keep_house() {}"),
            [("house", "server, process")]
        );
        assert!(in_line("a warehouse, a strange duration").is_empty());
        assert_eq!(in_line("struct Seat;"), [("Seat", "StreamPermit")]);
        assert!(in_line("a seat").is_empty());
        assert_eq!(
            in_line("is held back until"),
            [("held back", "pending approval")]
        );
    }
}
