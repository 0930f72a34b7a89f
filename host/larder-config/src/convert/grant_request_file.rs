//! `NAME.toml` next to a component: the grants that its author requests. Variables are not substituted in it,
//! because anyone who may write to the folder could then read the server's environment.

use std::path::Path;

use super::{Diagnostic, Env, ParseContext, Source, file, grant_request};
use crate::error::require_no_errors;
use crate::{environment, parser};
use larder_model::policy::GrantRequest;
use larder_runtime::log_limit::shorten;

/// The maximum size of a grant request. Larger files are rejected before parsing.
const MAX_BYTES: usize = 64 << 10;
/// The number of problems that are listed.
const MAX_PROBLEMS: usize = 20;
/// The maximum size of one listed problem in bytes. A problem can contain a key or a path of any length.
const MAX_PROBLEM: usize = 500;

/// Parses the `NAME.toml` of a component in this folder. The error lists the problems in one line.
pub fn parse(text: &str, folder: &Path) -> Result<GrantRequest, String> {
    parse_with(text, folder, &environment())
}

pub(crate) fn parse_with(text: &str, folder: &Path, env: &Env) -> Result<GrantRequest, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it is larger than {} KiB", MAX_BYTES >> 10));
    }
    let context = ParseContext::of_folder(folder);
    let (raw, source, mut diagnostics): (file::GrantRequest, Source<'_>, _) =
        parser::parse(text, None).map_err(|diagnostics| list(&diagnostics))?;
    let request = grant_request(raw, &context, env, &source, &mut diagnostics);
    require_no_errors(diagnostics).map_err(|diagnostics| list(&diagnostics))?;
    Ok(request)
}

/// Returns the first problems. They become a line of the log, and the author decides how many problems there are.
fn list(diagnostics: &[Diagnostic]) -> String {
    let problems = diagnostics.iter().map(describe_problem);
    shorten(problems, MAX_PROBLEMS, "problems").join("; ")
}

fn describe_problem(diagnostic: &Diagnostic) -> String {
    let line = diagnostic.line.map(|line| format!("line {line}: "));
    let line = line.unwrap_or_default();
    let mut text = escape_controls(&format!("{line}{diagnostic}"));
    truncate_problem(&mut text);
    text
}

fn truncate_problem(text: &mut String) {
    if text.len() > MAX_PROBLEM {
        text.truncate(text.floor_char_boundary(MAX_PROBLEM));
        text.push('…');
    }
}

/// Escapes line breaks and other control characters of quoted values.
fn escape_controls(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            escaped.extend(c.escape_default())
        } else {
            escaped.push(c)
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("docs")).unwrap();
        std::os::unix::fs::symlink("docs", real.join("link")).unwrap();
        let env = [("SECRET".to_owned(), "hush".to_owned())].into();
        let shown = match parse_with(text, &real, &env) {
            Ok(request) => {
                let settings = request
                    .settings
                    .iter()
                    .map(|(name, value)| format!("setting {name} = {value}"));
                settings
                    .chain(request.lines())
                    .collect::<Vec<_>>()
                    .join("\n")
            }
            Err(errors) => errors.replace("; ", "\n"),
        };
        expected.assert_eq(&shown.replace(&real.display().to_string(), "FOLDER"));
    }

    #[test]
    fn lines_may_end_as_on_windows() {
        check(
            "dirs = ['docs'] # all\r\n[settings]\r\ndepth = 3\r\n",
            expect![[r#"
                setting depth = 3
                folder FOLDER/docs as /docs, read"#]],
        );
    }

    #[test]
    fn accepts_the_syntax_of_larder_toml() {
        check(
            r#"
            dirs = ["docs", { host = "link", guest = "/again", access = "write" }]
            hosts = ["https://api.example.com", { host = "*.example.org", methods = ["*"] }]
            tcp = ["db.internal:5432", { host = "10.0.0.5", port = 6379, private = true }]
            key_value = ["shared"]
            env = ["SECRET", "UNSET"]
            settings = { token = "${SECRET}", depth = 3 }
            functions.get-weather = { description = "The weather.", read_only = true }
            resources = { "weather://{city}" = "get-weather", "days://{n}" = { function = "days", ttl = "1m" } }
            "#,
            expect![[r#"
                setting depth = 3
                setting token = ${SECRET}
                folder FOLDER/docs as /again, write
                folder FOLDER/docs as /docs, read
                http https://*.example.org *
                http https://api.example.com GET,HEAD
                key-value shared
                resource "days://{n}" from days
                resource "weather://{city}" from get-weather
                tcp 10.0.0.5:6379, private
                tcp db.internal:5432
                variable SECRET
                variable UNSET"#]],
        );
        check("", expect![""]);
    }

    #[test]
    fn refuses_operator_keys_and_reports_all_errors() {
        check(
            "priority = 5\nraw_values = true\nlimits.memory = '1GiB'\napprove = 'always'\ndirs = ['gone', '${SECRET}']\nenv = { A = 'b' }",
            expect![[r#"
                line 1: priority: unknown field `priority`, expected one of `settings`, `env`, `dirs`, `hosts`, `tcp`, `secrets`, `key_value`, `tools`, `functions`, `resources`, `prompts`, `skills`, `apps`
                line 2: raw_values: unknown field `raw_values`, expected one of `settings`, `env`, `dirs`, `hosts`, `tcp`, `secrets`, `key_value`, `tools`, `functions`, `resources`, `prompts`, `skills`, `apps`
                line 3: limits: unknown field `limits`, expected one of `settings`, `env`, `dirs`, `hosts`, `tcp`, `secrets`, `key_value`, `tools`, `functions`, `resources`, `prompts`, `skills`, `apps`
                line 4: approve: unknown field `approve`, expected one of `settings`, `env`, `dirs`, `hosts`, `tcp`, `secrets`, `key_value`, `tools`, `functions`, `resources`, `prompts`, `skills`, `apps`
                line 5: dirs[0]: there is no folder FOLDER/gone: create it
                line 5: dirs[1]: there is no folder FOLDER/${SECRET}: create it
                line 5: dirs[1]: `/` is the guest path of two folders: set a different `guest` for one of them
                line 6: env: invalid type: map, expected a list in square brackets"#]],
        );
        check("dirs = [", expect!["line 1: unclosed array, expected `]`"]);
        let errors = parse_with(
            "dirs = ['a', { host = '/', guest = \"b\\nc\" }]",
            Path::new("/"),
            &Env::new(),
        );
        assert!(
            errors
                .as_ref()
                .unwrap_err()
                .contains("`b\\nc` is not a valid guest path"),
            "{errors:?}"
        );
        let tables = |parts: usize| {
            let key = vec!["x"; parts].join(".");
            format!(
                "settings = {{{}x = 1{}}}",
                format!("{key} = {{").repeat(78),
                "}".repeat(78)
            )
        };
        for deep in [
            tables(79),
            format!("settings.x = {}", "[".repeat(60_000)),
            "x.".repeat(30_000),
        ] {
            check(
                &deep,
                expect!["its tables and lists are nested more than 80 levels deep"],
            );
        }
        let key = vec!["x"; 78].join(".");
        let fits = format!(
            "[settings.{key}]\n{} = {{ x = 1 }}",
            vec!["x"; 79].join(".")
        );
        let request = parse_with(&fits, Path::new("/"), &Env::new()).unwrap();
        let (_, value) = request.settings.iter().next().unwrap();
        assert!(
            value.matches('{').count() > 150,
            "the deepest setting: {value}"
        );
        let many: String = (0..1_000).map(|n| format!("key{n} = 1\n")).collect();
        let errors = parse_with(&many, Path::new("/"), &Env::new()).unwrap_err();
        assert!(
            errors.ends_with(" more problems") && errors.len() < 10_000,
            "{errors}"
        );
        let long = format!("{} = 1", "x".repeat(60_000));
        assert!(
            parse_with(&long, Path::new("/"), &Env::new())
                .unwrap_err()
                .len()
                < 1_000
        );
        check(
            &"#".repeat(MAX_BYTES + 1),
            expect!["it is larger than 64 KiB"],
        );
    }
}
