//! Reloads credentials from a file whose other sections may be invalid. Removing a credential must take effect
//! independently of the other sections. Therefore no folder is accessed, and an invalid file adds no credentials, but
//! credentials that it does not contain any more are still removed.

use std::path::Path;

use crate::convert::credentials;
use crate::substitute::substitute;
use crate::{ConfigError, Diagnostic, Env, ParseContext, parser};
use larder_mcp::auth;

/// The credentials of a reloaded file.
#[derive(Debug)]
pub struct AuthReload {
    /// The credentials that are valid from now on.
    pub auth: auth::Config,
    /// The errors in the file. If there are errors, `auth` contains the previous credentials that are still in the
    /// file.
    pub error: Option<ConfigError>,
}

pub(super) fn parse(path: &Path, bytes: &[u8], env: &Env, before: &auth::Config) -> AuthReload {
    let refused = |text: &str, diagnostics| AuthReload {
        auth: still_present(text, env, before),
        error: Some(ConfigError::in_file(path, diagnostics)),
    };
    let text = String::from_utf8_lossy(bytes);
    if std::str::from_utf8(bytes).is_err() {
        let key = path.display().to_string();
        let diagnostic = Diagnostic::without_line(key, "is not UTF-8");
        return refused(&text, vec![diagnostic]);
    }
    let context = context(path);
    let (auth, mut diagnostics) = match parser::parse(&text, Some(env)) {
        Ok((raw, source, mut diagnostics)) => (
            credentials(raw, &context, env, &source, &mut diagnostics),
            diagnostics,
        ),
        Err(diagnostics) => return refused(&text, diagnostics),
    };
    diagnostics.retain(is_about_credentials);
    if diagnostics.is_empty() {
        AuthReload { auth, error: None }
    } else {
        refused(&text, diagnostics)
    }
}

fn context(path: &Path) -> ParseContext {
    let folder = path.parent().unwrap_or(Path::new(""));
    ParseContext {
        file: Some(path.to_owned()),
        auth_active: true,
        ..ParseContext::of_folder(folder)
    }
}

/// A diagnostic without a key may concern the credentials too.
fn is_about_credentials(diagnostic: &Diagnostic) -> bool {
    matches!(
        diagnostic.key.split(['.', '[']).next(),
        None | Some("" | "auth")
    )
}

/// Returns the credentials whose digest or issuer still occurs in the text, outside comments.
fn still_present(text: &str, env: &Env, before: &auth::Config) -> auth::Config {
    let lines = text.lines().map(|line| substituted_line(line, env));
    let text = lines.collect::<Vec<_>>().join("\n");
    let digits = text.to_ascii_lowercase();
    let is_present = |token: &&auth::Token| digits.contains(&token.digest.to_string());
    auth::Config {
        tokens: before.tokens.iter().filter(is_present).cloned().collect(),
        oauth: before
            .oauth
            .clone()
            .filter(|oauth| text.contains(oauth.issuer.as_str())),
    }
}

/// Returns the line with the values of variables, and without its comment.
fn substituted_line(line: &str, env: &Env) -> String {
    let line = without_comment(line);
    substitute(line, env).unwrap_or_else(|_| line.to_owned())
}

fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::name::Digest;

    fn token(name: &str) -> String {
        format!(
            "[[auth.tokens]]\nname = '{name}'\ndigest = 'sha256:{}'\n",
            Digest::of(name.as_bytes())
        )
    }

    const OAUTH: &str = "[auth.oauth]\nissuer = 'https://id.example.com'\naudience = 'https://docs.example.com/mcp'\n";

    /// Checks which credentials remain when `text` replaces a file with the tokens of ann and bob and an
    /// issuer.
    fn check(text: &str, expected: &str) {
        let env = Env::from([("BOB".to_owned(), Digest::of(b"bob").to_string())]);
        let of = |text: &str, before: &auth::Config| {
            parse(Path::new("/x/larder.toml"), text.as_bytes(), &env, before)
        };
        let before = of(
            &format!("{}{}{OAUTH}", token("ann"), token("bob")),
            &auth::Config::default(),
        );
        assert!(before.error.is_none(), "{:?}", before.error);
        let now = of(text, &before.auth);
        let mut names: Vec<_> = now
            .auth
            .tokens
            .iter()
            .filter_map(|token| token.caller.subject.as_deref())
            .collect();
        names.extend(now.auth.oauth.iter().map(|_| "issuer"));
        names.extend(now.error.iter().map(|_| "and an error"));
        assert_eq!(names.join(" "), expected, "{text}");
    }

    #[test]
    fn removed_credentials_are_revoked_even_if_the_file_is_invalid() {
        let ann = token("ann");
        let bob = token("bob");
        let new = token("new");
        check(&ann, "ann");
        check("", "");
        // Errors in other sections are ignored.
        check(
            &format!("plugins = 'nowhere'\ncolour = 1\n{bob}{new}"),
            "bob new",
        );
        check(&format!("[team.a]\nplugins = 'nowhere'\n{bob}"), "bob");
        check("[server]\nlisten = '0.0.0.0:80'\n", "");
        // If credentials are invalid, no credentials are added, but removed credentials are still revoked.
        check(&format!("{ann}{new}color = 'red'\n"), "ann and an error");
        check(
            &format!("{ann}{OAUTH}refresh = 'often'\n"),
            "ann issuer and an error",
        );
        check(&format!("[[team.a\n{bob}{new}"), "bob and an error");
        check(
            &format!("[[team.a\n{}{ann}", bob.replace('\n', "\n# ")),
            "ann and an error",
        );
        check(
            "= [[\n[[auth.tokens]]\nname = 'b'\ndigest = 'sha256:${BOB}'\n",
            "bob and an error",
        );
        let inline = format!(
            "auth.tokens = [{{ name = 'a # b', digest = 'sha256:{}' }}",
            Digest::of(b"ann")
        );
        check(&inline, "ann and an error");
    }

    #[test]
    fn a_file_that_is_not_utf8_revokes_all_credentials() {
        let before = parse(
            Path::new("x"),
            token("ann").as_bytes(),
            &Env::new(),
            &auth::Config::default(),
        );
        let now = parse(Path::new("x"), b"\xff", &Env::new(), &before.auth);
        assert!(before.auth.tokens.len() == 1 && now.auth.tokens.is_empty() && now.error.is_some());
    }
}
