//! Substitutes `${NAME}` and `${NAME:-default}` in the strings of the file. `$$` is a dollar sign.

use super::Env;

/// Replaces variables by their values. Substituted values are not substituted again.
pub(super) fn substitute(text: &str, env: &Env) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let (inner, after) = after
                .split_once('}')
                .ok_or("`${` without `}`: add it, or write `$$` for a dollar sign")?;
            out.push_str(look_up(inner, env)?);
            rest = after;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn look_up<'a>(inner: &'a str, env: &'a Env) -> Result<&'a str, String> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    if !is_variable_name(name) {
        return Err(format!(
            "`${{{inner}}}` does not name a variable; write `$$` for a dollar sign"
        ));
    }
    match (env.get(name), default) {
        // As in a shell, `:-` also applies to empty variables.
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default),
        (None, None) => Err(format!(
            "the environment variable {name} is not set; set it, or write `${{{name}:-default}}`"
        )),
    }
}

fn is_variable_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let env = [("A", "one"), ("EMPTY", ""), ("DOLLAR", "${A}")];
        let env = env
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        expected
            .assert_eq(&substitute(text, &env).unwrap_or_else(|error| format!("error: {error}")));
    }

    #[test]
    fn substitutes_variables_once() {
        check("plain", expect!["plain"]);
        check(
            "<${A}|${A:-x}|${EMPTY}|${EMPTY:-x}|${NO:-}>",
            expect!["<one|one||x|>"],
        );
        check("$5 $${A} ${DOLLAR}$", expect!["$5 ${A} ${A}$"]);
    }

    #[test]
    fn rejects_unset_and_malformed_variables() {
        check(
            "${NO}",
            expect![
                "error: the environment variable NO is not set; set it, or write `${NO:-default}`"
            ],
        );
        check(
            "${A",
            expect!["error: `${` without `}`: add it, or write `$$` for a dollar sign"],
        );
        check(
            "${A B}",
            expect!["error: `${A B}` does not name a variable; write `$$` for a dollar sign"],
        );
    }
}
