//! Completion for bash. Bash divides words at colons and equals signs, and thus divides every URI. Therefore the script
//! passes the whole line, and this module divides the words. Candidates omit the text before the last colon or equals
//! sign.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::engine;
use clap_complete::env::EnvCompleter;

use super::served::set_words;

const SCRIPT: &str = r#"_larder() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
    done < <(VARIABLE=bash larder -- "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _larder larder
"#;

/// Characters of words that need no escape.
const PLAIN: &str = "-_./:=@%+,~^";

/// The completer for bash.
#[derive(Debug)]
pub(super) struct Bash;

/// A line, divided into words.
#[derive(Debug, Default, PartialEq, Eq)]
struct Line {
    words: Vec<String>,
    /// The current word begins with a quote, so bash does not divide it and it needs no escapes.
    is_quoted: bool,
}

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        variable: &str,
        _name: &str,
        _program: &str,
        _completer: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        out.write_all(SCRIPT.replace("VARIABLE", variable).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        arguments: Vec<OsString>,
        current_dir: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let [breaks, line] = &arguments[..] else {
            return Ok(());
        };
        let breaks = breaks.to_string_lossy();
        let line = Line::of(&line.to_string_lossy());
        let words: Vec<_> = line.words.iter().map(OsString::from).collect();
        set_words(&words);
        let last = words.len().saturating_sub(1);
        let candidates = engine::complete(command, words, last, current_dir)?;
        for candidate in candidates {
            writeln!(
                out,
                "{}",
                line.insertion(&candidate.get_value().to_string_lossy(), &breaks)
            )?;
        }
        Ok(())
    }
}

impl Line {
    /// Divides a line like bash, but without variables and other substitutions.
    fn of(line: &str) -> Self {
        let mut divided = Self::default();
        let mut quote = None;
        let mut is_in_word = false;
        let mut rest = line.chars();
        while let Some(char) = rest.next() {
            let is_space = char.is_whitespace() && quote.is_none();
            if !is_space && !is_in_word {
                divided.words.push(String::new());
                divided.is_quoted = matches!(char, '\'' | '"');
            }
            is_in_word = !is_space;
            let Some(word) = divided.words.last_mut().filter(|_| is_in_word) else {
                continue;
            };
            match (char, quote) {
                (quoting, Some(open)) if quoting == open => quote = None,
                ('\'' | '"', None) => quote = Some(char),
                ('\\', None | Some('"')) => word.extend(rest.next()),
                _ => word.push(char),
            }
        }
        if !is_in_word {
            divided.words.push(String::new());
            divided.is_quoted = false;
        }
        divided
    }

    /// The text that bash inserts for a candidate.
    fn insertion(&self, candidate: &str, breaks: &str) -> String {
        if self.is_quoted {
            return candidate.to_owned();
        }
        let current = self.words.last().map_or("", String::as_str);
        let divides = |char: char| matches!(char, ':' | '=') && breaks.contains(char);
        let kept = current.rfind(divides).map_or(0, |at| at + 1);
        let rest = candidate
            .get(kept..)
            .filter(|_| candidate.starts_with(&current[..kept]));
        escape(rest.unwrap_or(candidate))
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        if is_special(char) {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

fn is_special(char: char) -> bool {
    char.is_ascii() && !char.is_ascii_alphanumeric() && !PLAIN.contains(char)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_a_line_into_words() {
        for (line, words) in [
            ("larder read ", &["larder", "read", ""][..]),
            ("larder read file:///a", &["larder", "read", "file:///a"]),
            ("larder  list --kind=fi", &["larder", "list", "--kind=fi"]),
            ("larder read 'x:a b", &["larder", "read", "x:a b"]),
            ("larder read \"x:\\\"a\" ", &["larder", "read", "x:\"a", ""]),
            ("larder read x:a\\ b\\&", &["larder", "read", "x:a b&"]),
            ("", &[""]),
        ] {
            assert_eq!(Line::of(line).words, words, "{line}");
        }
    }

    #[test]
    fn inserts_the_part_after_the_last_break() {
        let insertion =
            |line: &str, candidate: &str| Line::of(line).insertion(candidate, " \t\n\"'><=;|&(:");
        assert_eq!(insertion("larder read fi", "file:///a"), "file:///a");
        assert_eq!(insertion("larder read file:", "file:///a"), "///a");
        assert_eq!(
            insertion("larder read file:///", "file:///a?b&c"),
            "///a\\?b\\&c"
        );
        assert_eq!(
            insertion("larder read 'file:///", "file:///a?b"),
            "file:///a?b"
        );
        assert_eq!(insertion("larder list --kind=fi", "--kind=file"), "file");
        assert_eq!(
            Line::of("larder read file:///").insertion("file:///a", "\n"),
            "file:///a"
        );
    }
}
