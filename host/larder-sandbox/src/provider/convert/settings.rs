//! Converts the declarations of settings.

use super::check_result_count;
use super::names::{WORD_RULE, is_word, quoted};
use crate::bindings::exports::larder::provider::settings_provider as wit;
use crate::provider::omissions::Omissions;
use larder_model::settings::{Declaration, Kind};
use larder_model::size;
use larder_provider::CallError;

/// Maximum number of declared settings.
const MAX_DECLARATIONS: usize = 256;
/// Maximum size of one declaration in bytes.
const MAX_DECLARATION: usize = 16 << 10;

/// Converts the declared settings. Invalid declarations are omitted.
pub(in crate::provider) fn declarations(
    items: Vec<wit::Declaration>,
    omissions: &mut Omissions<'_>,
) -> Result<Vec<Declaration>, CallError> {
    check_result_count(items.len(), MAX_DECLARATIONS, "settings")?;
    let mut declarations = Vec::<Declaration>::with_capacity(items.len());
    for item in items {
        let name = quoted(&item.name, omissions);
        let is_duplicate = declarations.iter().any(|other| other.name == item.name);
        match declaration(item) {
            Ok(_) if is_duplicate => omissions.add(format!("a second setting {name}")),
            Ok(declaration) => declarations.push(declaration),
            Err(why) => omissions.add(format!("the setting {name}: {why}")),
        }
    }
    Ok(declarations)
}

/// Converts a declaration, or returns why it cannot be used.
fn declaration(item: wit::Declaration) -> Result<Declaration, String> {
    let wit::Declaration {
        name,
        kind,
        description,
        default,
        required,
        secret,
    } = item;
    if !is_word(&name) {
        return Err(format!("its name is not {WORD_RULE}"));
    }
    if description.len() + default.as_ref().map_or(0, String::len) > MAX_DECLARATION {
        return Err(format!(
            "it has more than {}",
            size::show(MAX_DECLARATION as u64)
        ));
    }
    let kind = match kind {
        wit::Kind::Text => Kind::Text,
        wit::Kind::Number => Kind::Number,
        wit::Kind::Boolean => Kind::Boolean,
        wit::Kind::Size => Kind::Size,
        wit::Kind::Duration => Kind::Duration,
    };
    if default
        .as_ref()
        .is_some_and(|default| !kind.accepts(default))
    {
        return Err(format!("its default is not a {}", kind.as_str()));
    }
    Ok(Declaration {
        name,
        kind,
        description,
        default,
        required,
        secret,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omits_invalid_declarations() {
        let item = |name: &str, default: &str| wit::Declaration {
            name: name.into(),
            kind: wit::Kind::Number,
            description: String::new(),
            default: Some(default.into()),
            required: false,
            secret: false,
        };
        let mut omissions = Omissions::default();
        let items = vec![
            item("a", "1"),
            item("a", "2"),
            item("b\n", "1"),
            item("c", "x"),
        ];
        let names: Vec<_> = declarations(items, &mut omissions)
            .unwrap()
            .into_iter()
            .map(|it| it.name)
            .collect();
        assert_eq!(names, ["a"]);
        let expected = [
            "a second setting \"a\"",
            "the setting \"b\\n\": its name is not 1 to 64 letters, digits, `.`, `_` or `-`",
            "the setting \"c\": its default is not a number",
        ];
        assert_eq!(omissions.summary(), expected);
        assert!(declarations(vec![item("a", "1"); 257], &mut omissions).is_err());
    }
}
