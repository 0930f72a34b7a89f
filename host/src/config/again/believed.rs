//! Whom to believe, out of a file of which anything else may be wrong. Who takes a credential out means it, whatever
//! state the rest is in: so no folder is looked at, and what cannot be read adds nothing, but still takes away.

use std::path::Path;

use crate::config::convert::credentials;
use crate::config::substitute::substitute;
use crate::config::{ConfigError, Env, Fault, Place, gather};
use crate::endpoint::auth;

/// What a file says about who may ask.
#[derive(Debug)]
pub struct Believed {
    /// Whom to believe from now on.
    pub auth: auth::Config,
    /// What is wrong with it; then it is what was believed before, as far as that is still written.
    pub faults: Option<ConfigError>,
}

pub(super) fn believed(path: &Path, bytes: &[u8], env: &Env, before: &auth::Config) -> Believed {
    let refused = |text: &str, faults| Believed {
        auth: still_written(text, env, before),
        faults: Some(ConfigError::Faults { file: Some(path.to_owned()), faults }),
    };
    let text = String::from_utf8_lossy(bytes);
    if std::str::from_utf8(bytes).is_err() {
        let what = "is not text (UTF-8)".into();
        return refused(&text, vec![Fault { line: None, place: path.display().to_string(), what }]);
    }
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let place = Place { file: Some(path.to_owned()), here: folder.clone(), folder, guarded: true };
    let (auth, mut faults) = match gather::read(&text, Some(env)) {
        Ok((written, source, mut faults)) => {
            (credentials(written, &place, env, &source, &mut faults), faults)
        }
        Err(faults) => return refused(&text, faults),
    };
    faults.retain(is_about_credentials);
    match faults.is_empty() {
        true => Believed { auth, faults: None },
        false => refused(&text, faults),
    }
}

/// What has no place may be about anything.
fn is_about_credentials(fault: &Fault) -> bool {
    matches!(fault.place.split(['.', '[']).next(), None | Some("" | "auth"))
}

/// Those whose digest, or whose issuer, is found anywhere but in a comment.
fn still_written(text: &str, env: &Env, before: &auth::Config) -> auth::Config {
    let line = |line| {
        let line = uncommented(line);
        substitute(line, env).unwrap_or_else(|_| line.to_owned())
    };
    let text = text.lines().map(line).collect::<Vec<_>>().join("\n");
    let digits = text.to_ascii_lowercase();
    let is_written = |token: &&auth::Token| digits.contains(&token.digest.to_string());
    auth::Config {
        tokens: before.tokens.iter().filter(is_written).cloned().collect(),
        oauth: before.oauth.clone().filter(|oauth| text.contains(oauth.issuer.as_str())),
    }
}

fn uncommented(line: &str) -> &str {
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
    use crate::name::Digest;

    fn token(name: &str) -> String {
        format!("[[auth.tokens]]\nname = '{name}'\ndigest = 'sha256:{}'\n", Digest::of(name.as_bytes()))
    }

    const OAUTH: &str =
        "[auth.oauth]\nissuer = 'https://id.example.com'\naudience = 'https://docs.example.com/mcp'\n";

    /// Who is believed after a file with the tokens of ann and bob and an issuer became this one.
    fn check(text: &str, expected: &str) {
        let env = Env::from([("BOB".to_owned(), Digest::of(b"bob").to_string())]);
        let of = |text: &str, before: &auth::Config| {
            believed(Path::new("/x/larder.toml"), text.as_bytes(), &env, before)
        };
        let before = of(&format!("{}{}{OAUTH}", token("ann"), token("bob")), &auth::Config::default());
        assert!(before.faults.is_none(), "{:?}", before.faults);
        let now = of(text, &before.auth);
        let mut names: Vec<_> =
            now.auth.tokens.iter().filter_map(|token| token.caller.subject.as_deref()).collect();
        names.extend(now.auth.oauth.iter().map(|_| "issuer"));
        names.extend(now.faults.iter().map(|_| "and a fault"));
        assert_eq!(names.join(" "), expected, "{text}");
    }

    #[test]
    fn what_is_taken_out_goes_whatever_else_is_wrong() {
        let (ann, bob, new) = (token("ann"), token("bob"), token("new"));
        check(&ann, "ann");
        check("", "");
        // What is wrong elsewhere is no concern of this.
        check(&format!("plugins = 'nowhere'\ncolour = 1\n{bob}{new}"), "bob new");
        check(&format!("[team.a]\nplugins = 'nowhere'\n{bob}"), "bob");
        check("[server]\nlisten = '0.0.0.0:80'\n", "");
        // What is wrong here adds nothing, and takes away.
        check(&format!("{ann}{new}color = 'red'\n"), "ann and a fault");
        check(&format!("{ann}{OAUTH}refresh = 'often'\n"), "ann issuer and a fault");
        check(&format!("[[team.a\n{bob}{new}"), "bob and a fault");
        check(&format!("[[team.a\n{}{ann}", bob.replace('\n', "\n# ")), "ann and a fault");
        check("= [[\n[[auth.tokens]]\nname = 'b'\ndigest = 'sha256:${BOB}'\n", "bob and a fault");
        let inline = format!("auth.tokens = [{{ name = 'a # b', digest = 'sha256:{}' }}", Digest::of(b"ann"));
        check(&inline, "ann and a fault");
    }

    #[test]
    fn a_file_that_is_no_text_takes_away() {
        let before = believed(Path::new("x"), token("ann").as_bytes(), &Env::new(), &auth::Config::default());
        let now = believed(Path::new("x"), b"\xff", &Env::new(), &before.auth);
        assert!(before.auth.tokens.len() == 1 && now.auth.tokens.is_empty() && now.faults.is_some());
    }
}
