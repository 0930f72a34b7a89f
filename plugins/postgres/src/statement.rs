//! A saved query, whose parameters are written `:name`. The protocol of PostgreSQL numbers them.

/// A statement with the parameters `$1`, `$2` and so on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    /// The names of the parameters, in the order of their numbers.
    pub(crate) names: Vec<String>,
}

impl Statement {
    /// Numbers the parameters. Strings, quoted names, comments and casts (`::`) are not changed.
    pub(crate) fn parse(sql: &str) -> Result<Self, String> {
        let mut statement = Self {
            sql: String::with_capacity(sql.len()),
            names: Vec::new(),
        };
        let mut rest = sql;
        while let Some(first) = rest.chars().next() {
            let length = match quoted_length(rest, &statement.sql) {
                Some(length) => length,
                None if rest.starts_with("::") || rest.starts_with(":=") => 2,
                None => match parameter(rest) {
                    Some(name) => {
                        statement.add(name)?;
                        rest = &rest[1 + name.len()..];
                        continue;
                    }
                    None => first.len_utf8(),
                },
            };
            statement.sql.push_str(&rest[..length]);
            rest = &rest[length..];
        }
        Ok(statement)
    }

    fn add(&mut self, name: &str) -> Result<(), String> {
        if name == "format" {
            return Err(
                "a parameter must not be called `format`, which is the format of the response"
                    .to_owned(),
            );
        }
        let known = self.names.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.sql.push_str(&format!("${}", number + 1));
        Ok(())
    }
}

/// The name of a parameter at the beginning of a text.
fn parameter(rest: &str) -> Option<&str> {
    let name = rest.strip_prefix(':')?;
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(name.len());
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name.then_some(&name[..end])
}

/// The length of a string, a quoted name or a comment at the beginning of a text. If it has no end, returns the length
/// of the whole text, which the server then refuses.
fn quoted_length(rest: &str, before: &str) -> Option<usize> {
    let until = |start: usize, end: &str| {
        rest[start..]
            .find(end)
            .map_or(rest.len(), |at| start + at + end.len())
    };
    match rest.as_bytes() {
        [b'-', b'-', ..] => Some(until(2, "\n")),
        [b'/', b'*', ..] => Some(comment_length(rest)),
        [b'\'', ..] if has_escapes(before) => Some(escaped_length(rest)),
        [b'\'', ..] => Some(until(1, "'")),
        [b'"', ..] => Some(until(1, "\"")),
        [b'$', ..] if !before.ends_with(is_part_of_name) => {
            let tag = rest[1..]
                .find(|c| !is_part_of_name(c))
                .filter(|at| rest[1 + at..].starts_with('$'))?;
            let is_tag = !rest[1..].starts_with(|c: char| c.is_ascii_digit());
            let delimiter = &rest[..tag + 2];
            is_tag.then(|| until(delimiter.len(), delimiter))
        }
        _ => None,
    }
}

/// The length of a comment, which may contain comments.
fn comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    let bytes = rest.as_bytes();
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Whether a string after this text has escapes with backslashes: `E'…'`.
fn has_escapes(before: &str) -> bool {
    before
        .strip_suffix(['e', 'E'])
        .is_some_and(|before| !before.ends_with(is_part_of_name))
}

fn escaped_length(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'\'' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
