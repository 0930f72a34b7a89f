//! Prints what a loaded component offers.

use crate::app::Provider;
use crate::cli::error::CommandError;
use crate::cli::{out, sanitize};
use larder_model::name::ProviderName;

/// The maximum number of lines per list.
const MAX_ITEMS: usize = 10;

/// Prints what is offered, and how long the steps took. Returns whether nothing was omitted or changed.
pub(super) fn print(
    name: &ProviderName,
    took: &str,
    provider: &Provider,
) -> Result<bool, CommandError> {
    out::text(&format!(
        "{name}: {}\n{}",
        provider.counts(),
        list(provider)
    ))?;
    out::note(&format!("larder: {took}"));
    if let Some(note) = ungranted_note(name, &provider.ungranted) {
        out::note(&note);
    }
    for why in &provider.omitted {
        out::note(&format!("larder: omitted or changed: {why}"));
    }
    Ok(provider.omitted.is_empty())
}

/// Returns a line about interfaces that the component exports, and that are not offered because nothing grants them.
fn ungranted_note(name: &ProviderName, ungranted: &[&str]) -> Option<String> {
    let keys: Vec<_> = ungranted
        .iter()
        .map(|key| format!("`{key} = true`"))
        .collect();
    (!keys.is_empty()).then(|| {
        let interfaces = ungranted.join(" and ");
        let keys = keys.join(" and ");
        format!("larder: {interfaces} are exported, but not granted: to offer them, write {keys} into {name}.toml")
    })
}

fn list(provider: &Provider) -> String {
    let mut text = String::new();
    let claims: Vec<_> = provider
        .claims
        .iter()
        .map(|claim| format!("all URIs with prefix {claim}"))
        .collect();
    for uris in [&provider.resources, &provider.templates, &claims] {
        uris.iter()
            .take(MAX_ITEMS)
            .for_each(|uri| text += &format!("  {}\n", sanitize::line(uri)));
        if uris.len() > MAX_ITEMS {
            text += &format!("  … and {} more\n", uris.len() - MAX_ITEMS);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_long_lists() {
        let resources = (0..12)
            .map(|number| format!("n:{number}\n\u{202e}"))
            .collect();
        let provider = Provider {
            resources,
            templates: vec!["n:{x}".into()],
            ..Provider::default()
        };
        let list = list(&provider);
        assert_eq!(list.lines().count(), MAX_ITEMS + 2);
        assert!(list.starts_with("  n:0 \\u202e\n"), "{list}");
        assert!(list.ends_with("  … and 2 more\n  n:{x}\n"), "{list}");
    }

    #[test]
    fn says_what_is_not_granted() {
        let name = ProviderName::parse("notes").unwrap();
        assert_eq!(ungranted_note(&name, &[]), None);
        let expected = "larder: tools and prompts are exported, but not granted: to offer them, write `tools = true` and \
                        `prompts = true` into notes.toml";
        let note = ungranted_note(&name, &["tools", "prompts"]);
        assert_eq!(note.as_deref(), Some(expected));
    }
}
