//! Parses a changelog. This file does not depend on Larder.

use serde_json::{Value, json};

pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) date: Option<String>,
    pub(crate) text: String,
}

/// Returns the releases in the order of the text. Each release extends from its `## ` line to the next one.
pub(crate) fn releases(text: &str) -> Vec<Release> {
    let mut found: Vec<Release> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            let release =
                titled(title).filter(|new| found.iter().all(|old| old.version != new.version));
            inside = release.is_some();
            found.extend(release);
        } else if line.starts_with('[') && line.contains("]: ") {
            // Link definitions are not part of a release.
            inside = false;
        }
        if let Some(release) = found.last_mut().filter(|_| inside) {
            release.text += line;
            release.text.push('\n');
        }
    }
    for release in &mut found {
        release.text.truncate(release.text.trim_end().len());
        release.text.push('\n');
    }
    found
}

/// Parses `[1.0.0] - 2026-05-12` or `1.0.0`. The version must not need percent-encoding in a URI.
fn titled(title: &str) -> Option<Release> {
    let title = title.trim();
    let (version, rest) = match title.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => title.split_once(' ').unwrap_or((title, "")),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    if version.is_empty() || !version.chars().all(fits) {
        return None;
    }
    let date = rest
        .trim_start_matches([' ', '-'])
        .split(' ')
        .next()
        .filter(|date| is_date(date));
    Some(Release {
        version: version.to_owned(),
        date: date.map(str::to_owned),
        text: String::new(),
    })
}

/// `2026-05-12`
fn is_date(text: &str) -> bool {
    let fits = |(at, c): (usize, char)| {
        if at == 4 || at == 7 {
            c == '-'
        } else {
            c.is_ascii_digit()
        }
    };
    text.len() == 10 && text.chars().enumerate().all(fits)
}

impl Release {
    /// Formats version, date and changes as JSON.
    pub(crate) fn json(&self) -> Value {
        let changes: Vec<Value> = self
            .changes()
            .into_iter()
            .map(|(kind, items)| json!({ "kind": kind, "items": items }))
            .collect();
        json!({ "version": self.version, "date": self.date, "changes": changes })
    }

    /// The title of each `### ` line, and the items of the list below it.
    pub(crate) fn changes(&self) -> Vec<(&str, Vec<String>)> {
        let mut changes: Vec<(&str, Vec<String>)> = Vec::new();
        for line in self.text.lines() {
            if let Some(kind) = line.strip_prefix("### ") {
                changes.push((kind.trim(), Vec::new()));
            } else if let Some((_, items)) = changes.last_mut() {
                match (line.strip_prefix("- "), items.last_mut()) {
                    (Some(item), _) => items.push(item.trim().to_owned()),
                    // An indented line continues the item above.
                    (None, Some(item)) if line.starts_with("  ") => {
                        item.push(' ');
                        item.push_str(line.trim());
                    }
                    _ => {}
                }
            }
        }
        changes
    }

    /// The first line that contains a text, trimmed, without regard to the case of ASCII letters.
    pub(crate) fn line_with(&self, text: &str) -> Option<&str> {
        let text = text.to_ascii_lowercase();
        let line = self
            .text
            .lines()
            .find(|line| line.to_ascii_lowercase().contains(&text));
        line.map(str::trim)
    }

    /// A hash of the text (32-bit FNV-1a, which is short to implement in every language).
    pub(crate) fn digest(&self) -> String {
        let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        format!("{:08x}", self.text.bytes().fold(0x811c_9dc5, step))
    }
}
