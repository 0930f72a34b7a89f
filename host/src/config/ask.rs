//! `NAME.toml` beside a component: what its author asks for. No variable of the host is put into it, since
//! that would let whoever may write into the folder read the host's environment.

use std::path::Path;

use super::convert;
use super::file;
use super::gather::{self, Source};
use super::{Env, Fault, Place};
use crate::policy::Ask;

/// More than anyone writes; what is larger is not read to its end by a parser.
const LARGEST: usize = 64 << 10;

/// Reads what stands beside a component in this folder. The error names every fault, in one line.
pub fn parse(text: &str, folder: &Path) -> Result<Ask, String> {
    parse_with(text, folder, &super::environment())
}

fn parse_with(text: &str, folder: &Path, env: &Env) -> Result<Ask, String> {
    if text.len() > LARGEST {
        return Err(format!("it has more than {} KiB", LARGEST >> 10));
    }
    let place = Place { file: None, folder: folder.to_owned(), here: folder.to_owned(), guarded: false };
    let (written, source, mut faults): (file::Ask, Source<'_>, _) =
        gather::read(text, None).map_err(|faults| list(&faults))?;
    let ask = convert::ask(written, &place, env, &source, &mut faults);
    if faults.is_empty() {
        return Ok(ask);
    }
    faults.sort_by_key(|fault| fault.line);
    Err(list(&faults))
}

fn list(faults: &[Fault]) -> String {
    let line = |fault: &Fault| match fault.line {
        Some(line) => format!("line {line}: {fault}"),
        None => fault.to_string(),
    };
    faults.iter().map(line).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("docs")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("docs", real.join("link")).unwrap();
        let env = [("SECRET".to_owned(), "hush".to_owned())].into();
        let shown = match parse_with(text, &real, &env) {
            Ok(ask) => {
                let settings = ask.settings.iter().map(|(name, value)| format!("setting {name} = {value}"));
                settings.chain(ask.lines()).collect::<Vec<_>>().join("\n")
            }
            Err(faults) => faults.replace("; ", "\n"),
        };
        expected.assert_eq(&shown.replace(&real.display().to_string(), "FOLDER"));
    }

    #[test]
    fn it_asks_in_the_forms_of_the_operators_own_file() {
        check(
            r#"
            dirs = ["docs", { host = "link", guest = "/again", access = "write" }]
            hosts = ["https://api.example.com", { host = "*.example.org", methods = ["*"] }]
            env = ["SECRET", "UNSET"]
            settings = { token = "${SECRET}", depth = 3 }
            "#,
            expect![[r#"
                setting depth = 3
                setting token = ${SECRET}
                folder FOLDER/docs as /again, write
                folder FOLDER/docs as /docs, read
                http https://*.example.org *
                http https://api.example.com GET,HEAD
                variable SECRET
                variable UNSET"#]],
        );
        check("", expect![""]);
    }

    #[test]
    fn what_only_the_operator_decides_is_refused_and_every_fault_is_named() {
        check(
            "priority = 5\nraw_values = true\nlimits.memory = '1GiB'\napprove = 'always'\ndirs = ['gone', '${SECRET}']\nenv = { A = 'b' }",
            expect![[r#"
                line 1: priority: unknown field `priority`, expected one of `settings`, `env`, `dirs`, `hosts`, `secrets`
                line 2: raw_values: unknown field `raw_values`, expected one of `settings`, `env`, `dirs`, `hosts`, `secrets`
                line 3: limits: unknown field `limits`, expected one of `settings`, `env`, `dirs`, `hosts`, `secrets`
                line 4: approve: unknown field `approve`, expected one of `settings`, `env`, `dirs`, `hosts`, `secrets`
                line 5: dirs[0]: there is no folder FOLDER/gone: create it
                line 5: dirs[1]: there is no folder FOLDER/${SECRET}: create it
                line 5: dirs[1]: `/` two folders under one path: give each a `guest` of its own
                line 6: env: invalid type: map, expected a sequence"#]],
        );
        check("dirs = [", expect!["line 1: unclosed array, expected `]`"]);
        check(&"#".repeat(LARGEST + 1), expect!["it has more than 64 KiB"]);
    }
}
