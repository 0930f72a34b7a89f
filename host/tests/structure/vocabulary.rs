//! Rejects names and phrases that this project used before and that readers did not understand. Each has a usual term.
//! Also rejects type names that are participles.

use std::path::Path;

/// Old words, as whole words in any letter case, and the terms that replace them.
const WORDS: &[(&str, &str)] = &[
    ("boarding", "singleflight"),
    ("errand", "job"),
    ("errands", "blocking_jobs"),
    ("habits", "shareability"),
    ("herald", "Notifier"),
    ("house", "server, process"),
    ("liar", "endless_list"),
    ("lookout", "change_detector"),
    ("maze", "costly_templates"),
    ("moody", "trap_reads"),
    ("patience", "idle_timeout"),
    ("ration", "QuotaUsage"),
    ("rota", "file_list"),
    ("sieve", "CompiledFilter"),
    ("strand", "RequestStream"),
    ("tattle", "leak"),
];

/// Old names with exactly this text.
const NAMES: &[(&str, &str)] = &[
    ("Boarding", "SingleFlight"),
    ("CircuitOpened", "CircuitTrip"),
    ("Flights", "SingleFlight"),
    ("Keeping", "CriticalTasks"),
    ("Lanes", "TeamQueues"),
    ("LastSeen", "LastSeenLists"),
    ("Leash", "DrainGuard"),
    ("Manner", "CacheMode"),
    ("NoneAllowed", "EmptyMatch"),
    ("NotRecorded", "AuditWriteError"),
    ("NotSplit", "SplitError"),
    ("PartlyRead", "PartialMessage"),
    ("Patient", "TimeoutStream"),
    ("Probed", "ProbeResult"),
    ("Remains", "ReplayBudget"),
    ("Seat", "StreamPermit"),
    ("Shelf", "IdlePool"),
    ("Trail", "AuditContext"),
    ("believed", "auth_reload"),
    ("is_report", "has_large_response"),
];

/// Irregular participles and adverbs with which a type name must not end. Regular participles end in `ed` and `ing`.
const IRREGULAR: &[&str] = &[
    "Built",
    "Chosen",
    "Done",
    "Elsewhere",
    "Forgotten",
    "Found",
    "Given",
    "Held",
    "Kept",
    "Known",
    "Lost",
    "Seen",
    "Sent",
    "Shown",
    "Taken",
    "Withheld",
    "Woken",
    "Written",
];

/// Last words of type names that end as participles do and are nouns.
const NOUNS: &[&str] = &[
    "Binding", "Ceiling", "Encoding", "Feed", "Ranking", "Ring", "Seed", "Setting",
];

/// Participles that are established as type names.
const ESTABLISHED: &[&str] = &[
    // MCP calls a result of this kind `input_required`.
    "InputRequired",
    // The usual name of this error in HTTP APIs.
    "QuotaExceeded",
    // The usual name of the state that all clones of a value share.
    "Shared",
    // The format of signatures that containers use.
    "SimpleSigning",
];

/// Test guests that were named by metaphors, and the names of what they do.
const GUESTS: &[(&str, &str)] = &[
    ("careless", "invalid_entries"),
    ("greedy", "across_slashes"),
    ("hold", "hold_memory"),
    ("keeps", "key_value"),
    ("ledger", "versioned_files"),
    ("pose", "foreign_content"),
    ("shelf", "filter_hints"),
    ("touch", "touch_memory"),
    ("wave", "same_content"),
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
    for (old, term) in GUESTS {
        let guest = format!("host/tests/guests/examples/{old}.rs");
        if root.join(&guest).exists() {
            found.push(format!("{guest}: {old} -> {term}"));
        }
    }
    found
}

/// The types in a file whose names are participles, as `path:line: name`.
pub(crate) fn unclear_types(root: &Path, path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let at = path.strip_prefix(root).unwrap_or(path).display();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(name) = defined_type(line).filter(|name| is_unclear_type(name)) {
            found.push(format!("{at}:{}: {name}", number + 1));
        }
    }
    found
}

/// The name of the type that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    while word.starts_with("pub") || word.ends_with(')') {
        word = words.next()?;
    }
    if !["struct", "enum", "trait", "type", "union"].contains(&word) {
        return None;
    }
    words
        .next()?
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .filter(|name| !name.is_empty())
}

fn is_unclear_type(name: &str) -> bool {
    if ESTABLISHED.contains(&name) {
        return false;
    }
    let last_word = name
        .rfind(char::is_uppercase)
        .map_or(name, |at| &name[at..]);
    let is_regular = last_word.ends_with("ed") || last_word.ends_with("ing");
    (is_regular && !NOUNS.contains(&last_word)) || IRREGULAR.contains(&last_word)
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
    use super::{defined_type, in_line, is_unclear_type};

    #[test]
    fn finds_types_that_are_participles() {
        for (line, expected) in [
            ("pub(in crate::catalog) struct LastSeen {", true),
            ("    struct Woken(AtomicBool);", true),
            ("pub(super) enum Received<'a> {", true),
            ("trait Elsewhere: Send {", true),
            ("struct Shared {", false),
            ("pub struct BoundedRing;", false),
            ("pub(crate) struct SearchHit {", false),
            ("let opened = Opened { state };", false),
        ] {
            let name = defined_type(line);
            assert_eq!(name.is_some_and(is_unclear_type), expected, "{line}");
        }
    }

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
